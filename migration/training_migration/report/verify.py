"""Verifications as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from training_migration.report.columns import Table
from training_migration.verify.outcome import Verification, VerificationOutcome
from training_migration.verify.verify import How

SCHEMA: Final = "migrate.verify/1"
COLOURS: Final[Mapping[str, str]] = {
    VerificationOutcome.EQUAL: "green",
    VerificationOutcome.DIFFERENT: "bold red",
    VerificationOutcome.REJECTED: "red",
    VerificationOutcome.NOT_CONVERTED: "yellow",
    VerificationOutcome.INCONCLUSIVE: "yellow",
    VerificationOutcome.UNAVAILABLE: "bold red",
}


def line(each: Verification) -> str:
    """One line for the progress of a long list."""
    return f"{each.subject.kind} {each.subject.name}: {each.outcome.value}"


def as_text(verifications: Sequence[Verification], *, terminal: bool) -> str:
    """A row for each job, then every difference and what else there is to say, then the sum."""
    rows = [(each.subject.kind, each.subject.name, each.outcome.value, _remark(each)) for each in verifications]
    table = Table(("kind", "name", "outcome", ""), rows)
    details = [
        f"{each.subject.kind} {each.subject.name}:\n" + "\n".join(f"  {difference}" for difference in each.differences)
        for each in verifications
        if each.differences
    ]
    return "\n\n".join([table.text(COLOURS, terminal=terminal), *details, _sum(verifications)])


def as_json(verifications: Sequence[Verification], how: How) -> dict[str, Any]:
    """Everything."""
    jobs = [
        {
            "ref": {
                "kind": each.subject.kind,
                "name": each.subject.name,
                "source": each.subject.source,
                "line": each.subject.line,
            },
            "outcome": each.outcome.value,
            "message": each.message,
            "objects": each.objects,
            "differences": [
                {"object": one.object, "path": one.path, "predicted": one.predicted, "built": one.built}
                for one in each.differences
            ],
        }
        for each in verifications
    ]
    summary = {outcome.value: number for outcome, number in _counts(verifications).items()}
    where = {"target": how.target.value, "namespace": how.namespace, "dryRun": how.dry_run, "pods": how.unsuspended}
    return {"schema": SCHEMA, **where, "jobs": jobs, "summary": summary}


def _remark(each: Verification) -> str:
    if each.message:
        return each.message
    if each.differences:
        return f"{len(each.differences)} difference{'s' * (len(each.differences) > 1)}"
    return f"{each.objects} objects"


def _counts(verifications: Sequence[Verification]) -> dict[VerificationOutcome, int]:
    counted = Counter(each.outcome for each in verifications)
    return {outcome: counted[outcome] for outcome in VerificationOutcome}


def _sum(verifications: Sequence[Verification]) -> str:
    counts = ", ".join(f"{number} {outcome.value}" for outcome, number in _counts(verifications).items() if number)
    return f"{len(verifications)} verified: {counts}."
