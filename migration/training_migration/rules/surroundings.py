"""Rules on what lies around a job: scripts, dashboards, pipelines."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity

RULES: Final = (
    Rule(
        "MIG401",
        Severity.ERROR,
        "downward API or scripts reading training.kubeflow.org/* labels",
        "",
        "",
        "",
    ),
    Rule(
        "MIG402",
        Severity.WARNING,
        "NetworkPolicy, PodMonitor, PodDisruptionBudget, log queries selecting those labels, pod or container names",
        "",
        "",
        "",
    ),
    Rule(
        "MIG403",
        Severity.ERROR,
        "kubectl wait --for=condition=Succeeded (or Running, Created); jq or SDK code on those words; replicaStatuses",
        "",
        "",
        "",
    ),
    Rule(
        "MIG404",
        Severity.WARNING,
        "training_operator_jobs_* metrics in dashboards or alerts",
        "",
        "",
        "",
    ),
    Rule(
        "MIG405",
        Severity.INFO,
        "events expected on the job object",
        "",
        "",
        "",
    ),
    Rule(
        "MIG406",
        Severity.WARNING,
        "Katib, pipelines, Argo, Flyte templates that embed v1 jobs or success conditions",
        "",
        "",
        "",
    ),
)
