"""`training-operator migrate survey`: which jobs of a fleet move as they are, which need work, which cannot move."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import cloup

from training_api.documents import Document, Unreadable, files, read, read_text
from training_api.yaml_text import json_value
from training_migration.cluster import read_cluster
from training_migration.commands import flags
from training_migration.convert.conversion import Options
from training_migration.convert.round_trip import round_trip
from training_migration.exits import Exit, Failure, final, of_findings, worst
from training_migration.findings import Severity
from training_migration.report.diff import as_html as diff_as_html
from training_migration.report.fleet import as_html
from training_migration.report.jobs import job_entry, report
from training_migration.report.since import progress
from training_migration.report.survey import as_markdown, as_text
from training_migration.survey import Row, rows
from training_migration.targets import Target

PAGE = cloup.OptionGroup("Owners and progress")
CLUSTER = cloup.OptionGroup("Jobs of a cluster (read-only)")


@cloup.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@flags.target
@flags.kubernetes
@CLUSTER.option("--from-cluster", is_flag=True, help="Look at the jobs of a cluster, too.")
@CLUSTER.option(
    "-n", "--namespace", "namespaces", multiple=True, help="One of its namespaces; repeatable. Default: all of them."
)
@CLUSTER.option("-A", "--all-namespaces", is_flag=True, help="All of its namespaces, as without --namespace.")
@CLUSTER.option("--kubeconfig", default="", help="Default: KUBECONFIG, the pod's service account, ~/.kube/config.")
@CLUSTER.option("--context", "cluster_context", default="", help="Of the kubeconfig. Default: its current one.")
@CLUSTER.option("--config-maps", is_flag=True, help="Look into its ConfigMaps as well: jobs may stand there as text.")
@PAGE.option(
    "--owner-label",
    "owner_labels",
    multiple=True,
    default=("owner", "team", "app.kubernetes.io/part-of", "kueue.x-k8s.io/queue-name"),
    show_default=True,
    help="A label of jobs that says whose they are; repeatable, the first that a job has counts.",
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
@click.pass_context
def survey(
    context: click.Context,
    *,
    paths: tuple[str, ...],
    target: Target,
    kubernetes: str,
    from_cluster: bool,
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    kubeconfig: str,
    cluster_context: str,
    config_maps: bool,
    owner_labels: tuple[str, ...],
    since: Path | None,
    diffs: bool,
    style: str,
    output: Path | None,
    fail_on: Severity | None,
    strict: bool,
) -> None:
    """Analyze all v1 jobs in PATH (files, folders, - for standard input) or in a cluster, and rank them by verdict.

    Each job is validated and converted; no object is written. Invalid documents are rows with their error, objects that
    contain v1 jobs are rows as well, and all others are counted.
    """
    if not paths and not from_cluster:
        raise click.UsageError("Give a PATH or --from-cluster.", context)
    if namespaces and all_namespaces:
        raise click.UsageError("--namespace and --all-namespaces exclude each other.", context)
    if (namespaces or all_namespaces or kubeconfig or cluster_context or config_maps) and not from_cluster:
        raise click.UsageError("Options of the cluster need --from-cluster.", context)
    ignored: Counter[str] = Counter()
    options = Options(target, kubernetes)
    found = list(rows(_in_files(paths), options, ignored))
    if from_cluster:
        chosen = namespaces or None
        there = read_cluster(kubeconfig, cluster_context, chosen, ignored, config_maps=config_maps)
        found += rows(there, options, ignored)
    content = report(target.value, kubernetes, [job_entry(row, owner_labels) for row in found], ignored)
    if since is not None:
        content["since"] = progress(_earlier(since), content["jobs"], str(since))
    pieces = _diffs(found) if diffs and style == "html" else {}
    flags.write(_shown(content, style, pieces, terminal=output is None and sys.stdout.isatty()), output)
    examined = (_code(row, fail_on, strict=strict) for row in found if not row.error)
    broken = (Exit.ENVIRONMENT if row.unlisted else Exit.USAGE for row in found if row.error)
    context.exit(final(examined, broken, fail_on))


def _in_files(paths: Sequence[str]) -> Iterator[Document]:
    """All documents, with a bar on the terminal that shows how far this has come."""
    chosen = list(files(paths))
    for path in _with_progress(chosen):
        yield from read([path], sys.stdin)


def _with_progress(paths: Sequence[str]) -> Iterable[str]:
    if len(paths) < 2 or not sys.stderr.isatty():
        yield from paths
        return
    with click.progressbar(paths, label="Files", file=sys.stderr, show_pos=True) as bar:
        yield from bar


def _code(row: Row, fail_on: Severity | None, *, strict: bool) -> Exit:
    code = of_findings(row.findings, fail_on, strict=strict)
    return worst([code, Exit.REFUSED]) if row.refused or row.left else code


def _earlier(path: Path) -> dict[str, Any]:
    """The survey of a file; raises Failure for one that is none."""
    try:
        content = json_value(read_text(path))
        progress(content, content["jobs"], "")
    except (Unreadable, ValueError, LookupError, TypeError):
        raise Failure(f"{path}: is no survey: `survey --format json` writes one.", Exit.USAGE) from None
    return dict(content)


def _diffs(found: Sequence[Row]) -> dict[int, str]:
    """The pods of both sides compared, by the number of the job; none for those that have no pods on one side."""
    pieces = {}
    for at, row in enumerate(found):
        if row.conversion is not None and not row.conversion.refused:
            difference = round_trip(row.conversion).difference
            if difference is not None:
                pieces[at] = diff_as_html(difference)
    return pieces


def _shown(content: dict[str, Any], style: str, diffs: dict[int, str], *, terminal: bool) -> str:
    match style:
        case "json":
            return json.dumps(content, indent=2, ensure_ascii=False)
        case "markdown":
            return as_markdown(content)
        case "html":
            return as_html(content, diffs)
    return as_text(content, terminal=terminal)
