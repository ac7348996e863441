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

    Rewrites what is certain, and adds a comment `# migrate: ...` with instructions to the rest. Without --write it
    prints a patch and changes nothing. Calls of other packages do not change. For a notebook (.ipynb) it only prints,
    by cell, what to do.
    """
    flags.carry_out("training_migration.verbs.code:code", options)
