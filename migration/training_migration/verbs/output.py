"""Where the result of a verb goes."""

from __future__ import annotations

from pathlib import Path

import click

from training_migration.exits import Exit, Failure


def write(text: str, output: Path | None) -> None:
    """Write a verb's result to a file or to standard output, ending in a new line; raises Failure if it cannot be."""
    ended = text if text.endswith("\n") else f"{text}\n"
    if output is None:
        click.echo(ended, nl=False)
        return
    try:
        output.write_text(ended, encoding="utf-8")
    except OSError as error:
        raise Failure(f"{output}: cannot be written: {error.strerror}.", Exit.USAGE) from None
