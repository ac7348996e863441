"""`training-operator migrate code`: Python code that uses v1's SDK, rewritten for that of Trainer v2."""

from __future__ import annotations

from typing import Any

import click
import cloup

from training_migration.commands import flags


@cloup.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--write", "in_place", is_flag=True, help="Change the files. Default: show what would change.")
def code(**options: Any) -> None:
    """Rewrite the Python code of PATH... (files, and folders with all .py below) for the SDK of Trainer v2.

    What is certain is rewritten; what is not gets a comment `# migrate: ...` that says what to do. Without --write the
    change is shown as a patch and nothing is touched. Calls of other packages stay as they are. Of a notebook (.ipynb)
    only what there is to do is said, by cell.
    """
    flags.carry_out("training_migration.verbs.code:code", options)
