"""`training-operator migrate survey`: which jobs of a fleet move as they are, which need work, which cannot move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup

from training_migration.commands import flags

PAGE = cloup.OptionGroup("Owners and progress")
CLUSTER = cloup.OptionGroup("Jobs of a cluster (read-only)")


@cloup.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@flags.target
@flags.kubernetes
@CLUSTER.option("--from-cluster", is_flag=True, help="Include the jobs of a cluster.")
@CLUSTER.option(
    "-n", "--namespace", "namespaces", multiple=True, help="One of its namespaces; repeatable. Default: all of them."
)
@CLUSTER.option("-A", "--all-namespaces", is_flag=True, help="All of its namespaces, as without --namespace.")
@CLUSTER.option("--kubeconfig", default="", help="Default: KUBECONFIG, the pod's service account, ~/.kube/config.")
@CLUSTER.option("--context", "cluster_context", default="", help="Of the kubeconfig. Default: its current one.")
@CLUSTER.option("--config-maps", is_flag=True, help="Include its ConfigMaps: they may contain jobs as text.")
@PAGE.option(
    "--owner-label",
    "owner_labels",
    multiple=True,
    default=("owner", "team", "app.kubernetes.io/part-of", "kueue.x-k8s.io/queue-name"),
    show_default=True,
    help="A label with the owner of a job; repeatable, the first that a job has is used.",
)
@PAGE.option(
    "--since",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="An earlier survey, as JSON, to compare with.",
)
@PAGE.option(
    "--diffs/--no-diffs",
    default=True,
    show_default=True,
    help="Compare the pods of each job in the HTML page; takes some 20 ms of CPU per job.",
)
@flags.formats("text", "json", "markdown", "html")
@flags.output
@flags.fail_on
@flags.strict
def survey(**options: Any) -> None:
    """Analyze all v1 jobs in PATH (files, folders, - for standard input) or in a cluster, and rank them by verdict.

    Each job is validated and converted; no object is written. Invalid documents are rows with their error, objects that
    contain v1 jobs are rows as well, and all others are counted.
    """
    flags.carry_out("training_migration.verbs.survey:survey", options)
