"""`training-operator migrate convert`: v1's jobs as YAML for Trainer v2, each with the remaining differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import click
import cloup

from training_migration.choices import Asymmetric, CompatEnv, NoteStyle, Ttl
from training_migration.commands import flags

_Choice = TypeVar("_Choice", CompatEnv, Ttl, Asymmetric, NoteStyle)


def _choice(name: str, kind: type[_Choice], default: _Choice, help_text: str) -> Any:
    return cloup.option(
        name,
        type=click.Choice([each.value for each in kind]),
        default=default.value,
        callback=lambda context, parameter, value: kind(value),
        help=help_text,
    )


@cloup.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@flags.target
@flags.kubernetes
@cloup.option_group(
    "Conversion",
    _choice("--compat-env", CompatEnv, CompatEnv.AUTO, "When v1's variables (RANK, MASTER_ADDR, ...) are written out."),
    _choice("--ttl", Ttl, Ttl.DROP, "What becomes of ttlSecondsAfterFinished."),
    cloup.option(
        "--sidecars", type=click.Choice(["plain", "native"]), default="plain", help="What further containers become."
    ),
    _choice(
        "--asymmetric",
        Asymmetric,
        Asymmetric.MERGE_MAX,
        "How to convert a master whose template differs from the workers'.",
    ),
    cloup.option("--stock", is_flag=True, help="Use a runtime that v2 ships where nothing is lost by it."),
    cloup.option(
        "--runtime",
        "runtime_files",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False),
        help="A file with the platform's own runtimes, to be used where nothing is lost by it; repeatable.",
    ),
    cloup.option(
        "--share-runtimes/--no-share-runtimes",
        "share",
        default=None,
        help="Whether jobs share runtimes, the TrainJobs carrying what differs. Default: those of folders, of a"
        " cluster, and of several jobs on standard input do.",
    ),
    cloup.option(
        "--gang-scheduler-name",
        "gang_scheduler",
        default="",
        metavar="NAME",
        show_default=False,
        help="The value of this flag of v1's operator. Default: guessed from the job.",
    ),
    cloup.option("--name", default="", show_default=False, help="Name of the TrainJob. Default: the job's."),
    cloup.option(
        "--namespace", "-n", default="", show_default=False, help="Namespace of what is written. Default: the job's."
    ),
)
@cloup.option_group(
    "Jobs of a cluster (read-only)",
    cloup.option("--from-cluster", is_flag=True, help="Convert the jobs of a cluster, too."),
    cloup.option(
        "--from-namespace",
        "namespaces",
        multiple=True,
        metavar="NAME",
        help="One of its namespaces; repeatable. Default: all of them.",
    ),
    flags.KUBECONFIG,
    flags.CONTEXT,
)
@cloup.option_group(
    "Output",
    cloup.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, allow_dash=True),
        default="-",
        metavar="DIR|-",
        help="Standard output, or a folder: of folders of PATH... it gets the same files, else one for each job.",
    ),
    cloup.option(
        "--diffs/--no-diffs",
        default=True,
        show_default=True,
        help="Compare the pods of each TrainJob with those of v1; most of the CPU time for large fleets.",
    ),
    _choice("--notes", NoteStyle, NoteStyle.INLINE, "Where to say what is different."),
)
@flags.fail_on
@flags.strict
def convert(**options: Any) -> None:
    """Convert the v1 jobs in PATH (files, folders, - for standard input) or in a cluster to TrainJobs with runtimes.

    Katib Experiments, AppWrappers and kustomizations are converted in place; other objects are ignored. A TrainJob that
    v2 would reject is not written. One line on standard error per job has the verdict, and how the pods of v2 compare
    with those of v1 (details: `migrate diff`).
    """
    flags.carry_out("training_migration.verbs.convert:convert", options)
