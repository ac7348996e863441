"""Rules on restarts, limits, clean-up and the end."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity

RULES: Final = (
    Rule(
        "MIG301",
        Severity.WARNING,
        "backoffLimit unset: v1 unlimited, Job 6",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG302",
        Severity.INFO,
        "backoffLimit set: other way of counting",
        "",
        "",
        "",
    ),
    Rule(
        "MIG303",
        Severity.WARNING,
        "ExitCode",
        "",
        "",
        "",
    ),
    Rule(
        "MIG304",
        Severity.WARNING,
        "Always",
        "",
        "",
        "",
    ),
    Rule(
        "MIG305",
        Severity.WARNING,
        "cleanPodPolicy None or All",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG306",
        Severity.ERROR,
        "TTL; E for targets up to 2.3.0 unless dropped",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG307",
        Severity.WARNING,
        "deadline: other start of the clock, pods deleted, immutable",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG308",
        Severity.WARNING,
        "success by Master needs Job successPolicy (Kubernetes version)",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG309",
        Severity.WARNING,
        "minAvailable, minResources dropped",
        "",
        "",
        "",
    ),
    Rule(
        "MIG310",
        Severity.WARNING,
        "priorityClass now also on pods",
        "",
        "",
        "",
        converted=True,
    ),
    Rule(
        "MIG311",
        Severity.INFO,
        "managedBy value mapped",
        "",
        "",
        "",
        converted=True,
    ),
)
