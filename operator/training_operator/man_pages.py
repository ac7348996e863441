"""Manual pages, section 1, of all commands, from what `--help` shows of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from training_operator import __version__
from training_operator.cli import command


@click.command
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to write all pages to.")
def man(words: Sequence[str], output: Path | None) -> None:
    """Write the manual page of a command: `training-operator man local run | man -l -`."""
    pages = dict(_pages(click.Context(command, info_name="training-operator")))
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for name, page in pages.items():
            (output / f"{name}.1").write_text(page)
    elif (name := "-".join(("training-operator", *words))) in pages:
        click.echo(pages[name], nl=False)
    else:
        raise click.UsageError(f"There is no command `training-operator {' '.join(words)}`.")


def _pages(context: click.Context) -> Iterator[tuple[str, str]]:
    """The page of a command and those of the commands below it, each with its name."""
    below = [_below(context, name) for name in _names(context)]
    yield _name(context), "\n".join(_lines(context, below)) + "\n"
    for each in below:
        yield from _pages(each)


def _names(context: click.Context) -> list[str]:
    return context.command.list_commands(context) if isinstance(context.command, click.Group) else []


def _below(context: click.Context, name: str) -> click.Context:
    assert isinstance(context.command, click.Group)
    found = context.command.get_command(context, name)
    assert found is not None, name
    return click.Context(found, parent=context, info_name=name)


def _name(context: click.Context) -> str:
    return context.command_path.replace(" ", "-")


def _lines(context: click.Context, below: Sequence[click.Context]) -> Iterator[str]:
    """The page in roff."""
    shown, name = context.command, _name(context)
    yield f'.TH "{name.upper()}" 1 "" "training-operator {__version__}"'
    yield from (".SH NAME", f"{_text(name)} \\- {_text(shown.get_short_help_str(200).rstrip('.'))}")
    usage = " ".join(shown.collect_usage_pieces(context))
    yield from (".SH SYNOPSIS", f"\\fB{_text(context.command_path)}\\fR {_text(usage)}")
    yield from (".SH DESCRIPTION", *_paragraphs(shown.help or ""))
    options = [row for each in shown.get_params(context) if (row := each.get_help_record(context)) and row[1]]
    for title, rows in (("OPTIONS", options), ("COMMANDS", [_row(each) for each in below])):
        if rows:
            yield f".SH {title}"
        for what, text in rows:
            yield from (".TP", f"\\fB{_text(what)}\\fR", _text(text))
    if context.parent is not None:
        yield from (".SH SEE ALSO", f".BR {_text(_name(context.parent))} (1)")


def _row(context: click.Context) -> tuple[str, str]:
    return f"{_name(context)}(1)", context.command.get_short_help_str(200)


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; one that begins with click's mark keeps its lines."""
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", *(_text(line) for line in paragraph.splitlines()[1:]), ".fi")
        else:
            yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """Text that roff takes as it stands: a dot that begins a line would be a request."""
    escaped = " ".join(text.split("\n")).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
