"""The options that the verbs share, and how a verb ends."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
import cloup
import pytest
from click.testing import CliRunner, Result

from training_migration.cli import EXAMPLES, VERBS, Verbs, migrate
from training_migration.commands import flags
from training_migration.exits import BY_VERB, MEANINGS, Exit, Failure, final, of_findings, worst
from training_migration.findings import Severity
from training_migration.rules import RULES, found
from training_migration.targets import Target
from training_migration.verbs.output import write

IMPOSSIBLE = next(rule.id for rule in RULES.values() if not rule.counterpart)
PLAIN_ERROR = next(rule.id for rule in RULES.values() if rule.counterpart and rule.severity is Severity.ERROR)


def group(verb: Any) -> click.Group:
    verbs = Verbs("migrate")
    verbs.add_command(cloup.command("try")(verb))
    return verbs


def tried(*arguments: str) -> tuple[dict[str, Any], Result]:
    """What a verb with all shared options is called with."""
    taken: dict[str, Any] = {}

    @flags.inputs
    @flags.target
    @flags.kubernetes
    @flags.output
    @flags.formats("text", "json")
    @flags.fail_on
    @flags.strict
    def verb(**values: Any) -> None:
        taken.update(values)

    return taken, CliRunner().invoke(group(verb), ["try", *arguments])


def test_what_is_not_given_has_defaults_and_the_target_is_said() -> None:
    taken, result = tried("a.yaml")
    assert result.exit_code == 0, result.output
    assert result.stderr == "For Trainer 2.3, the newest release that is known (--target chooses another).\n"
    assert tried("a.yaml", "--target", "2.3")[1].stderr == ""
    assert taken == {
        "paths": ("a.yaml",),
        "target": Target.V2_3,
        "kubernetes": "",
        "output": None,
        "style": "text",
        "fail_on": Severity.ERROR,
        "strict": False,
    }


def test_what_is_given_arrives_as_the_rest_of_the_package_wants_it() -> None:
    arguments = "-o x --format json --fail-on never --strict --kubernetes v1.33.2 --target next"
    taken, _ = tried("a", "-", *arguments.split())
    assert taken == {
        "paths": ("a", "-"),
        "target": Target.NEXT,
        "kubernetes": "1.33",
        "output": Path("x"),
        "style": "json",
        "fail_on": None,
        "strict": True,
    }


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--target 2.3", "Missing argument 'PATH...'"),
        ("a --target 3", "'3' is not one of '2.0', '2.1', '2.2', '2.3', 'next'"),
        ("a --target 2.3 --kubernetes new", "'new' is no version of Kubernetes; an example is 1.31."),
        ("a --target 2.3 --fail-on all", "'all' is not one of"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_2(arguments: str, sentence: str) -> None:
    _, result = tried(*arguments.split())
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_each_verb_has_an_example_and_its_exit_statuses(verb: str) -> None:
    printed = CliRunner().invoke(migrate, [verb, "--help"]).stdout
    assert f"  training-operator migrate {verb} {EXAMPLES[verb]}\n" in printed
    shown = printed.partition("Exit status:\n")[2].splitlines()
    assert [int(line.split()[0]) for line in shown] == [code.value for code in BY_VERB[verb]]
    assert shown[0] == f"  0   {MEANINGS[Exit.DONE]}"


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_of_the_help_are_command_lines(verb: str) -> None:
    command = migrate.get_command(click.Context(migrate), verb)
    assert command is not None
    existing = {"train.py": "README.md"}
    words = [existing.get(word, word) for word in shlex.split(EXAMPLES[verb])]
    command.make_context(verb, words)


def test_what_fails_on_nothing_is_a_report_unless_there_is_nothing_to_report_on() -> None:
    every = [Exit.FOUND, Exit.REJECTED]
    assert final(every, [Exit.USAGE], None) is Exit.DONE
    assert final([*every, Exit.NO_COUNTERPART], [], None) is Exit.NO_COUNTERPART
    assert final([], [Exit.USAGE], None) is Exit.USAGE
    assert final(every, [Exit.USAGE], Severity.ERROR) is Exit.USAGE


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (Failure("The cluster does not answer.", Exit.ENVIRONMENT), 5, "Error: The cluster does not answer.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
)
def test_a_verb_that_cannot_go_on_says_why_and_ends_with_its_code(
    error: BaseException, code: int, sentence: str
) -> None:
    def verb() -> None:
        raise error

    result = CliRunner().invoke(group(verb), ["try"])
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", sentence)


def test_a_result_goes_to_the_file_or_says_why_not(tmp_path: Path) -> None:
    write("text", tmp_path / "x")
    assert (tmp_path / "x").read_text() == "text\n"
    with pytest.raises(Failure, match="cannot be written: Is a directory") as raised:
        write("text", tmp_path)
    assert raised.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], Exit.DONE),
        ([Exit.DONE, Exit.FOUND, Exit.INCONCLUSIVE], Exit.INCONCLUSIVE),
        ([Exit.INCONCLUSIVE, Exit.NO_COUNTERPART], Exit.NO_COUNTERPART),
        ([Exit.NO_COUNTERPART, Exit.REJECTED], Exit.REJECTED),
        ([Exit.REJECTED, Exit.DIFFERENT], Exit.DIFFERENT),
        ([Exit.DIFFERENT, Exit.ENVIRONMENT], Exit.ENVIRONMENT),
        ([Exit.ENVIRONMENT, Exit.USAGE], Exit.USAGE),
    ],
)
def test_the_code_of_several_jobs_is_the_worst(codes: list[Exit], expected: Exit) -> None:
    assert worst(codes) is expected
    assert worst(reversed(codes)) is expected


@pytest.mark.parametrize(
    ("fail_on", "strict", "fixed", "expected"),
    [
        (None, False, False, Exit.DONE),
        (Severity.ERROR, False, False, Exit.FOUND),
        (Severity.ERROR, False, True, Exit.DONE),
        (Severity.ERROR, True, False, Exit.NO_COUNTERPART),
        (None, True, True, Exit.DONE),
    ],
)
def test_strict_and_fail_on_look_at_what_is_not_mended(
    fail_on: Severity | None, strict: bool, fixed: bool, expected: Exit
) -> None:
    assert of_findings([found(IMPOSSIBLE, "gone", fixed=fixed)], fail_on, strict=strict) is expected


@pytest.mark.parametrize(
    ("level", "fail_on", "expected"),
    [
        (Severity.INFO, Severity.WARNING, Exit.DONE),
        (Severity.WARNING, Severity.WARNING, Exit.FOUND),
        (Severity.ERROR, Severity.INFO, Exit.FOUND),
        (Severity.WARNING, Severity.ERROR, Exit.DONE),
    ],
)
def test_a_finding_counts_from_the_chosen_severity_on(level: Severity, fail_on: Severity, expected: Exit) -> None:
    assert of_findings([found(PLAIN_ERROR, "there", severity=level)], fail_on) is expected
