"""`training-operator validate`: everything that can be said about jobs without running them, on any system."""

from __future__ import annotations

import click

from training_api.constants import MAX_REPLICAS, MOST_REPLICAS


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
@click.option(
    "--max-replicas",
    type=click.IntRange(1, MOST_REPLICAS),
    default=MAX_REPLICAS,
    show_default=True,
    help="Maximum replicas of one type, as for the operator's flag of this name.",
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
    from training_local.show.findings import report  # noqa: PLC0415 - --help needs none of it

    context.exit(report(paths, max_replicas, style))
