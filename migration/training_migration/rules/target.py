"""Rules of the first hundred: what the target release has, and names."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity

RULES: Final = (
    Rule(
        "MIG001",
        Severity.ERROR,
        "not one of the six v1 kinds; MPIJob v2beta1 given",
        "",
        "",
        "",
    ),
    Rule(
        "MIG002",
        Severity.ERROR,
        "a feature that the target does not have",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG003",
        Severity.ERROR,
        "name too long for v2, with the arithmetic (48, 47, 44, 35, 33:  a.6.1)",
        "",
        "",
        "",
    ),
    Rule(
        "MIG004",
        Severity.ERROR,
        "a Service with the job's name exists (cluster or same folder): names would not resolve",
        "",
        "",
        "",
    ),
    Rule(
        "MIG005",
        Severity.WARNING,
        "v1 and v2 job of one name and namespace under gang scheduling: they fight for one PodGroup",
        "",
        "",
        "",
    ),
    Rule(
        "MIG006",
        Severity.WARNING,
        "Kueue version does not know this v2 version",
        "",
        "",
        "",
    ),
    Rule(
        "MIG007",
        Severity.WARNING,
        "users need new RBAC: TrainJob, runtimes, JobSet",
        "",
        "",
        "",
    ),
    Rule(
        "MIG008",
        Severity.INFO,
        "a runtime that v2 ships would lose a part of the job",
        "A ClusterTrainingRuntime of v2 has its own restart limit and no success policy, and a TrainJob cannot change"
        " most of what a pod template says.",
        "Use the runtime of the job's own that the conversion writes, or give up the named part.",
        "Trainer documentation, runtime patches",
        converted=True,
    ),
)
