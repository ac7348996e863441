"""Rules on runtimes and TrainJobs that people wrote."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity

RULES: Final = (
    Rule(
        "MIG501",
        Severity.ERROR,
        "torch, jax, xgboost runtime but TrainJob without trainer: nothing is injected",
        "",
        "",
        "",
    ),
    Rule(
        "MIG502",
        Severity.WARNING,
        "resourcesPerNode with a runtime that has no mlPolicy: ignored",
        "",
        "",
        "",
    ),
    Rule(
        "MIG503",
        Severity.ERROR,
        "torch.numProcPerNode or elasticPolicy for 2.2 or later (documentation still shows the first)",
        "",
        "",
        "",
    ),
    Rule(
        "MIG504",
        Severity.ERROR,
        "fields of a TrainJob that only other releases have",
        "",
        "",
        "",
    ),
    Rule(
        "MIG505",
        Severity.ERROR,
        "patch sets env of node, adds a container, or sets a field outside the list",
        "",
        "",
        "",
    ),
    Rule(
        "MIG506",
        Severity.WARNING,
        "runtime edited after the TrainJob's first reconcile: no effect (snapshot, 2.3)",
        "",
        "",
        "",
    ),
    Rule(
        "MIG507",
        Severity.ERROR,
        "ancestor label with replicas ≠ 1 or without the right container name",
        "",
        "",
        "",
    ),
    Rule(
        "MIG508",
        Severity.ERROR,
        "ttlSecondsAfterFinished with 2.1.0 or ≤ 2.3.0",
        "",
        "",
        "",
    ),
    Rule(
        "MIG509",
        Severity.WARNING,
        "MPI runtime value numProcPerNode: 1 with several GPUs",
        "",
        "",
        "",
    ),
    Rule(
        "MIG510",
        Severity.WARNING,
        "plain runtime: parallelism ignored because mlPolicy present",
        "",
        "",
        "",
    ),
)
