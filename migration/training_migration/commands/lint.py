"""`training-operator migrate lint`: finds obstacles of a move to Trainer v2, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup

from training_migration.choices import LINT_FORMATS
from training_migration.commands import flags

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
INPUT = cloup.OptionGroup("Scripts and images of the jobs, and files around them")
OUTPUT = cloup.OptionGroup("Output")


@cloup.command("lint")
@flags.inputs
@flags.target
@INPUT.option("--script", "scripts", multiple=True, type=FILE, help="A script that the jobs run; repeatable.")
@INPUT.option("--context", "contexts", multiple=True, type=FOLDER, help="A folder with their image's Dockerfile.")
@INPUT.option("--image-config", type=FILE, help="Their image's configuration, as clients of registries print it.")
@INPUT.option("--scan", "scans", multiple=True, type=FOLDER, help="A folder with dashboards, CI files, pipelines.")
@INPUT.option(
    "--after-convert/--as-it-is",
    default=True,
    show_default=True,
    help="Separate findings in v1 jobs that `convert` fixes from those that are left to you, or report all alike.",
)
@OUTPUT.option("--baseline", "known", type=FILE, help="Findings that are left out, by --write-baseline.")
@OUTPUT.option("--write-baseline", type=click.Path(dir_okay=False, path_type=Path), help="Write all findings there.")
@flags.formats(*LINT_FORMATS)
@flags.output
@flags.fail_on
def lint_command(**options: Any) -> None:
    """Check v1 jobs, TrainJobs, runtimes and scripts for what prevents or changes the training on Trainer v2.

    PATH is a file or folder of YAML or JSON, a Python or shell script, a notebook, a Dockerfile, or - for standard
    input. Invalid input is reported, and the rest is checked.
    """
    flags.carry_out("training_migration.verbs.lint:lint", options)
