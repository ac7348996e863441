"""`training-operator migrate report`: the results of the other verbs in one document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click
import cloup

from training_api import documents
from training_api.documents import STANDARD_INPUT, read_stream, read_text
from training_migration.commands import flags
from training_migration.exits import Exit, Failure
from training_migration.report.chapter import Chapter
from training_migration.report.merged import as_html, as_junit, as_markdown
from training_migration.report.results import Unreadable, chapters

WRITERS: Final = {"markdown": as_markdown, "html": as_html, "junit": as_junit}
_BY_SUFFIX: Final = {".html": "html", ".htm": "html", ".xml": "junit", ".md": "markdown"}


@cloup.command()
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@click.option(
    "--format",
    "style",
    type=click.Choice(list(WRITERS)),
    help="What to write. Default: what the name of the output says, else markdown.",
)
@flags.output
def report(*, results: tuple[str, ...], style: str | None, output: Path | None) -> None:
    """Merge RESULT..., JSON output of other commands (- for standard input), into one document.

    Results of `survey`, `lint`, `diff`, `probe`, `verify` and `compare` can be merged, in the order in which they are
    given. The page is one file that needs nothing else. The exit status says only whether the results could be read.
    """
    chosen = style or _BY_SUFFIX.get(output.suffix if output else "", "markdown")
    found = [chapter for each in results for chapter in _chapters(each)]
    flags.write(WRITERS[chosen](found), output)


def _chapters(path: str) -> list[Chapter]:
    try:
        if path == STANDARD_INPUT:
            return chapters(read_stream(sys.stdin), "standard input")
        return chapters(read_text(Path(path)), path)
    except documents.Unreadable as unreadable:
        raise Failure(f"{path}: {unreadable}", Exit.USAGE) from None
    except Unreadable as unreadable:
        raise Failure(str(unreadable), Exit.USAGE) from None
