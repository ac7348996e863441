"""`training-operator migrate survey`: which jobs of a fleet move as they are, which need work, which cannot move."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from training_api.documents import Document, Unreadable, files, read, read_text
from training_api.yaml_text import json_value
from training_migration import parallel
from training_migration.cluster import read_cluster
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
from training_migration.verbs.output import write


def survey(
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
) -> Exit:
    """Analyze all v1 jobs in PATH (files, folders, - for standard input) or in a cluster, and rank them by verdict."""
    if not paths and not from_cluster:
        raise click.UsageError("Give a PATH or --from-cluster.", click.get_current_context())
    if namespaces and all_namespaces:
        raise click.UsageError("--namespace and --all-namespaces are mutually exclusive.", click.get_current_context())
    if (namespaces or all_namespaces or kubeconfig or cluster_context or config_maps) and not from_cluster:
        raise click.UsageError("Options of the cluster need --from-cluster.", click.get_current_context())
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
    write(_shown(content, style, pieces, terminal=output is None and sys.stdout.isatty()), output)
    examined = (_code(row, fail_on, strict=strict) for row in found if not row.error)
    broken = (Exit.ENVIRONMENT if row.unlisted else Exit.USAGE for row in found if row.error)
    return final(examined, broken, fail_on)


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
    return worst([code, Exit.REJECTED]) if row.rejected or row.left else code


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
    return {at: piece for at, piece in enumerate(parallel.each(_diff, found)) if piece}


def _diff(row: Row) -> str:
    if row.conversion is None or row.conversion.rejected:
        return ""
    difference = round_trip(row.conversion).difference
    return diff_as_html(difference) if difference is not None else ""


def _shown(content: dict[str, Any], style: str, diffs: dict[int, str], *, terminal: bool) -> str:
    match style:
        case "json":
            return json.dumps(content, indent=2, ensure_ascii=False)
        case "markdown":
            return as_markdown(content)
        case "html":
            return as_html(content, diffs)
    return as_text(content, terminal=terminal)
