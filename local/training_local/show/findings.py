"""The findings of `validate`, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence

import click

from training_api.documents import Document, read
from training_api.printable import legible
from training_local.run.checks import Finding, Severity, check

EXIT_ERRORS = 1
EXIT_UNREADABLE = 2


def report(paths: Sequence[str], max_replicas: int, style: str | None) -> int:
    """Check the objects of files and print what was found; returns the exit status."""
    documents = list(read(paths, sys.stdin))
    findings = list(check(documents, max_replicas))
    if style == "text" or (style is None and sys.stdout.isatty()):
        for finding in findings:
            click.echo(legible(str(finding)))
        click.echo(_summary(documents, findings), err=True)
    else:
        summary = {"objects": sum(each.object is not None for each in documents)}
        click.echo(json.dumps({**summary, "findings": [each.as_json() for each in findings]}, indent=2))
    if any(each.object is None and not each.line for each in documents):
        return EXIT_UNREADABLE
    return EXIT_ERRORS if any(each.severity is Severity.ERROR for each in findings) else 0


def _summary(documents: Sequence[Document], findings: Sequence[Finding]) -> str:
    found = Counter(each.severity for each in findings)
    objects = sum(each.object is not None for each in documents)
    counts = ((objects, "object"), (found[Severity.ERROR], "error"), (found[Severity.WARNING], "warning"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts) + "."
