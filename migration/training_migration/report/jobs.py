"""What reports say of jobs, as JSON (`migrate.report/1`): fields are only ever added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from training_migration.findings import Finding, Verdict
from training_migration.masking import mask_text
from training_migration.survey import Row
from training_operator import __version__

Json = dict[str, Any]

SCHEMA: Final = "migrate.report/1"
BROKEN: Final = "broken"
"""In summaries, for what is no job that v1 would take."""


def report(target: str, kubernetes: str, jobs: Sequence[Json], ignored: Mapping[str, int] | None = None) -> Json:
    """The whole report; `ignored` counts the kinds of objects that were no jobs."""
    return {
        "schema": SCHEMA,
        "tool": f"training-operator {__version__}",
        "target": target,
        "kubernetes": kubernetes,
        "jobs": list(jobs),
        "ignored": dict(sorted((ignored or {}).items())),
        "summary": summary(jobs),
    }


def summary(jobs: Iterable[Json]) -> dict[str, int]:
    """How many jobs there are of each verdict, and how many broken ones."""
    counted = Counter(job["verdict"] or BROKEN for job in jobs)
    return {each: counted[each] for each in (*(each.value for each in Verdict), BROKEN)}


def job_entry(row: Row, owner_labels: Sequence[str] = ()) -> Json:
    """One job of a survey; without a verdict where it is broken. Its owner is the first of these labels that it has."""
    return {
        "ref": {
            "kind": row.kind,
            "namespace": row.namespace,
            "name": row.name,
            "source": row.source,
            "line": row.line,
        },
        "owner": next((row.labels[each] for each in owner_labels if row.labels.get(each)), ""),
        "verdict": row.verdict.value if row.verdict else None,
        "reason": mask_text(row.reason),
        "rejected": mask_text(row.rejected),
        "error": mask_text(row.error),
        "findings": [finding_entry(each) for each in row.findings],
    }


def finding_entry(finding: Finding) -> Json:
    """One finding, with what its rule says about it."""
    return {
        "id": finding.rule.id,
        "severity": finding.level.value,
        "path": finding.path,
        "source": finding.source,
        "line": finding.line,
        "title": finding.rule.finds,
        "message": mask_text(finding.message),
        "remedy": finding.rule.remedy,
        "reference": finding.rule.reference,
        "fixed": finding.fixed,
    }
