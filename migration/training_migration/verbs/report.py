"""`training-operator migrate report`: the results of the other verbs in one document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from training_api import documents
from training_api.documents import STANDARD_INPUT, read_stream, read_text
from training_migration.choices import REPORT_FORMATS
from training_migration.exits import Exit, Failure
from training_migration.report.chapter import Chapter
from training_migration.report.results import Unreadable, chapters
from training_migration.verbs.output import write
from training_operator.lazy_commands import load

_BY_SUFFIX: Final = {".html": "html", ".htm": "html", ".xml": "junit", ".md": "markdown"}


def report(*, results: tuple[str, ...], style: str | None, output: Path | None) -> Exit:
    """Merge RESULT..., JSON output of other commands (- for standard input), into one document."""
    chosen = style or _BY_SUFFIX.get(output.suffix if output else "", "markdown")
    found = [chapter for each in results for chapter in _chapters(each)]
    write(load(REPORT_FORMATS[chosen])(found), output)
    return Exit.DONE


def _chapters(path: str) -> list[Chapter]:
    try:
        if path == STANDARD_INPUT:
            return chapters(read_stream(sys.stdin), "standard input")
        return chapters(read_text(Path(path)), path)
    except documents.Unreadable as unreadable:
        raise Failure(f"{path}: {unreadable}", Exit.USAGE) from None
    except Unreadable as unreadable:
        raise Failure(str(unreadable), Exit.USAGE) from None
