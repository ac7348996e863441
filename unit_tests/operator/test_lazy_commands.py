"""Commands are imported when they are used: what help loads, and the error where a command cannot be loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

import click
import pytest
from click.testing import CliRunner, Result

from training_api.registry import KINDS
from training_local.cli import VERBS, local
from training_local.commands.flags import FRAMEWORKS
from training_local.run.examples import DEMOS
from training_migration.choices import LINT_FORMATS, REPORT_FORMATS
from training_migration.cli import VERBS as VERBS_OF_MIGRATE
from training_migration.cli import migrate
from training_operator.cli import command
from training_operator.lazy_commands import Lazy, LazyGroup, carry_out, load, unavailable
from training_operator.run_command import SCHEMES

LOADED = """
import json, os, sys
from training_operator.cli import command
for line in sys.stdin:
    if not os.fork():
        arguments = json.loads(line)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            command.main(arguments, "training-operator")
        except SystemExit:
            print(json.dumps([arguments, *sys.modules]), file=sys.stderr)
    else:
        os.wait()
        continue
    break
"""
"""Every command begins as a copy of a process that has loaded the list of commands, as each of them does."""
OF_LOCAL = {"cli", "lazy_commands", "commands", "flags", "completion", "cluster", "sandbox_mode", "quantity", "errors"}
OF_LOCAL |= {"node", "egress", "mode"}
OF_MIGRATE = {"cli", "lazy_commands", "commands", "flags", "run_flags", "choices", "exits", "findings", "targets"}
OURS = ("training_api", "training_controllers", "training_local", "training_migration", "training_operator")


HELP: Mapping[tuple[str, ...], set[str]] = {
    ("--help",): {"cli", "lazy_commands", "commands", "validate", "constants", "exits", "findings"},
    ("local", "--help"): {"cli", "lazy_commands"},
    ("migrate", "--help"): {"cli", "lazy_commands", "exits", "findings"},
    ("validate", "--help"): {"cli", "lazy_commands", "commands", "validate", "constants"},
    ("locl",): {"cli", "lazy_commands"},
    **{("local", verb, "--help"): OF_LOCAL | {verb} for verb in VERBS},
    **{("migrate", verb, "--help"): OF_MIGRATE | {verb} for verb in VERBS_OF_MIGRATE},
    **{(verb, "--help"): {"cli", "lazy_commands", "constants", "manifest_commands"} for verb in ("crds", "rbac")},
}
"""Which of our modules each command line loads at most."""
FLAGS = ("run", "--help")


@pytest.fixture(scope="module")
def loaded() -> Mapping[tuple[str, ...], set[str]]:
    """The modules that each command line loads."""
    lines = "".join(f"{json.dumps(arguments)}\n" for arguments in (*HELP, FLAGS))
    program = [sys.executable, "-c", LOADED]
    done = subprocess.run(program, input=lines, capture_output=True, text=True, check=True)
    output = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[[")]
    return {tuple(arguments): set(modules) for arguments, *modules in output}


@pytest.mark.parametrize("arguments", HELP, ids=" ".join)
def test_help_and_mistakes_load_next_to_nothing(
    arguments: tuple[str, ...], loaded: Mapping[tuple[str, ...], set[str]]
) -> None:
    packages = {name.partition(".")[0].lstrip("_") for name in loaded[arguments]} - set(sys.stdlib_module_names)
    assert packages & {"aiohttp", "cel_expr_python", "cryptography", "msgspec", "pydantic", "rich", "yaml"} == set()
    ours = {name for name in loaded[arguments] if name.startswith(tuple(f"{each}." for each in OURS))}
    assert {name.rpartition(".")[2] for name in ours} <= HELP[arguments]


@pytest.mark.parametrize("group", [command, local, migrate])
def test_every_command_of_a_list_can_be_loaded(group: LazyGroup) -> None:
    context = click.Context(group)
    for name in group.lazy:
        found = group.get_command(context, name)
        assert found is not None
        assert found.callback is not None and found.callback.__name__ != "complain"


@pytest.mark.parametrize("group", [command, local, migrate])
def test_what_a_list_says_fits_what_the_command_does(group: LazyGroup) -> None:
    context = click.Context(group)
    for name, lazy in group.lazy.items():
        found = group.get_command(context, name)
        assert found is not None and found.help is not None
        assert lazy.help.split()[0] == found.help.split()[0]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["locl"], "Did you mean 'local'?"),
        (["validat", "x"], "Did you mean 'validate'?"),
        (["local", "rnu"], "Did you mean 'run'?"),
        (["migrate", "konvert"], "Did you mean 'convert'?"),
    ],
)
def test_a_command_that_there_is_not_gets_the_one_that_was_meant(words: list[str], meant: str) -> None:
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2
    assert meant in result.stderr.splitlines()[-1]


def test_what_is_like_no_command_gets_none() -> None:
    assert CliRunner().invoke(command, ["zzz"]).stderr.endswith("Error: No such command 'zzz'.\n")


def complaint(error: ImportError) -> str:
    result: Result = CliRunner().invoke(unavailable("it", error), ["--any", "thing"])
    assert result.exit_code == 1
    return result.stderr


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModuleNotFoundError("No module named 're2'", name="re2"), "pip install '.[local]' in a clone"),
        (ModuleNotFoundError("No module named 'rich.x'", name="rich.x"), "pip install '.[local]' in a clone of the "),
        (ModuleNotFoundError("No module named 'yaml'", name="yaml"), "pip install pyyaml installs it."),
        (
            ModuleNotFoundError("No module named 'fcntl'", name="fcntl"),
            "lacks the module: use Linux, or WSL2",
        ),
        (
            ModuleNotFoundError("No module named 'mine'", name="mine"),
            "`it` cannot be loaded: No module named 'mine'.\n",
        ),
        (ImportError("libssl.so.3: cannot open"), "Error: `it` cannot be loaded: libssl.so.3: cannot open.\n"),
    ],
)
def test_what_cannot_be_imported_is_named_and_no_extra_is_made_up(error: ImportError, message: str) -> None:
    assert message in complaint(error)


def test_a_command_that_cannot_be_imported_is_in_the_list_all_the_same() -> None:
    group = LazyGroup("all", lazy={"broken": Lazy("no_such_package.cli:it", "Do it.")})
    assert "broken  Do it." in CliRunner().invoke(group, ["--help"]).stdout
    assert (
        "`broken` cannot be loaded: No module named 'no_such_package'" in CliRunner().invoke(group, ["broken"]).stderr
    )


def test_what_cannot_be_loaded_when_a_command_runs_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "training_local.verbs.runs", None)
    with pytest.raises(click.ClickException, match=r"`runs` cannot be loaded: import of training_local\S+ halted"):
        carry_out("training_local.verbs.runs:runs", as_json=True)


def test_an_interrupt_while_a_command_is_loaded_has_the_status_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("training_operator.lazy_commands.import_module", interrupted)
    ended = CliRunner().invoke(command, ["local", "runs"])
    assert (ended.exit_code, ended.output) == (130, "")


def test_the_choices_that_a_help_names_are_those_there_are() -> None:
    assert tuple(DEMOS) == FRAMEWORKS
    assert tuple(info.singular for info in KINDS.values()) == SCHEMES
    assert all(load(each) for each in (*LINT_FORMATS.values(), *REPORT_FORMATS.values()))


def test_the_help_of_flags_loads_no_kinds_and_no_client(loaded: Mapping[tuple[str, ...], set[str]]) -> None:
    heavy = {"training_api.models", "training_controllers.frameworks.registry", "aiohttp", "cryptography", "yaml"}
    assert loaded[FLAGS] & heavy == set()
    assert "training_operator.run_command" in loaded[FLAGS]
