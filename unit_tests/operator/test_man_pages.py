from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from training_operator import __version__
from training_operator.cli import command
from training_operator.man_pages import _lines


def page(*words: str) -> str:
    return CliRunner().invoke(command, ["man", *words], catch_exceptions=False).output


def test_a_page_has_the_options_of_its_command() -> None:
    text = page("local", "run")
    assert text.startswith(f'.TH "TRAINING-OPERATOR-LOCAL-RUN" 1 "" "training-operator {__version__}"\n.SH NAME\n')
    assert "\\fB\\-\\-python PATH\\fR\n" in text
    assert text.endswith(".SH SEE ALSO\n.BR training\\-operator\\-local (1)\n")


def test_every_command_has_a_page(tmp_path: Path) -> None:
    page("--output", str(tmp_path))
    names = {path.name for path in tmp_path.iterdir()}
    first = {f"training-operator-{name}.1" for name in command.list_commands(click.Context(command))}
    assert first | {"training-operator.1", "training-operator-migrate-convert.1"} <= names


def test_what_there_is_not_has_none() -> None:
    assert "There is no command `training-operator locl`." in page("locl")


@pytest.mark.parametrize(
    ("text", "line"), [(".venv/bin", "\\&.venv/bin"), ("a\\b", "a\\eb"), ("\b\n$ one\n$ two", "$ two")]
)
def test_what_roff_would_take_for_a_request_is_text(text: str, line: str) -> None:
    shown = click.Command("it", help=text)
    assert line in list(_lines(click.Context(shown, info_name="it"), ()))
