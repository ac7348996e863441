"""`training-operator validate`: everything that can be said about jobs without running them, on any system."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence

import click
import cloup

from training_api.constants import MAX_REPLICAS, MOST_REPLICAS
from training_api.documents import Document, read
from training_api.printable import legible
from training_local.run.checks import Finding, Severity, check

EXIT_ERRORS = 1
EXIT_UNREADABLE = 2


@cloup.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--max-replicas",
    type=click.IntRange(1, MOST_REPLICAS),
    default=MAX_REPLICAS,
    show_default=True,
    help="Most replicas of one type; as the operator's flag of this name.",
)
@click.option(
    "-o", "--output", "style", type=click.Choice(("text", "json")), help="Default: text on a terminal, else json."
)
@click.pass_context
def validate(context: click.Context, /, *, paths: tuple[str, ...], max_replicas: int, style: str | None) -> None:
    """Check jobs without running them: fields, rules, names, numbers, and the pods that would be made.

    FILE is YAML or JSON, a folder of such files, or - for standard input. The exit status is 1 if there is an error in
    an object, and 2 if a file cannot be read; warnings do not change it.
    """
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
        context.exit(EXIT_UNREADABLE)
    context.exit(EXIT_ERRORS if any(each.severity is Severity.ERROR for each in findings) else 0)


def _summary(documents: Sequence[Document], findings: Sequence[Finding]) -> str:
    found = Counter(each.severity for each in findings)
    objects = sum(each.object is not None for each in documents)
    counts = ((objects, "object"), (found[Severity.ERROR], "error"), (found[Severity.WARNING], "warning"))
    return ", ".join(f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts) + "."
