"""Rules on what lies around a job: scripts, dashboards, pipelines."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity
from training_migration.rules.references import POD

_LABELS: Final = "kubernetes-sigs/jobset, labels of pods; Kubernetes, well-known labels: " + (
    "https://kubernetes.io/docs/reference/labels-annotations-taints/#batchkubernetesiojob-completion-index"
)

_SDK: Final = "Kubeflow SDK, TrainerClient: https://sdk.kubeflow.org/en/latest/train/index.html"

RULES: Final = (
    Rule(
        "MIG401",
        Severity.ERROR,
        "A pod that reads v1's labels of itself",
        "v1 labelled pods with `training.kubeflow.org/replica-index` and others. v2's pods have none of them, so that "
        "the value is empty and the process starts with it.",
        "Read the annotation `batch.kubernetes.io/job-completion-index`.",
        f"{_LABELS}; {POD}",
    ),
    Rule(
        "MIG402",
        Severity.WARNING,
        "Something selects v1's pods by label or by name",
        "Network policies, monitors, disruption budgets and log queries that select `training.kubeflow.org/*` labels, "
        "names like `JOB-worker-0` or the container `pytorch` match no pod of v2.",
        "Select `jobset.sigs.k8s.io/jobset-name`, `batch.kubernetes.io/job-completion-index` and the container `node`.",
        _LABELS,
    ),
    Rule(
        "MIG403",
        Severity.ERROR,
        "Something waits for a condition that v2 does not have",
        "v1's jobs are Created, Running, Restarting, Succeeded or Failed. A TrainJob is Complete, Failed or "
        "Suspended, and has no condition at all while it runs; `replicaStatuses` became `jobsStatus`, which counts "
        "Jobs.",
        "Wait for `Complete` or `Failed`; to see that it runs, look at `jobsStatus` or at pods.",
        "kubeflow/trainer#2621, kubeflow/trainer#2713, kubeflow/trainer#3019",
    ),
    Rule(
        "MIG404",
        Severity.WARNING,
        "Metrics of v1's operator",
        "`training_operator_jobs_*` come from v1's operator. v2's controller has none of them: panels are empty, and "
        "alerts never fire.",
        "Count TrainJobs by `kube-state-metrics`, or use JobSet's metrics.",
        "JobSet, metrics: https://jobset.sigs.k8s.io/docs/reference/metrics/",
    ),
    Rule(
        "MIG405",
        Severity.INFO,
        "Events of v1's operator",
        "v1's operator reports pods, exit codes and restarts by events on the job. v2's controllers report them on "
        "JobSets and Jobs, with other reasons.",
        "Read events of the JobSet and of the Jobs that have the label `jobset.sigs.k8s.io/jobset-name`.",
        "kubernetes-sigs/jobset, events",
    ),
    Rule(
        "MIG406",
        Severity.WARNING,
        "A template of another system that makes jobs of v1",
        "Katib's experiments, Argo's workflows, Flyte's tasks and pipelines hold jobs of v1 inside of other objects, "
        "often with conditions of success that v2 does not meet.",
        "`convert` writes Experiments and AppWrappers with TrainJobs inside. Change other templates with their "
        "conditions: those of v1's jobs read `Succeeded`, those of TrainJobs `Complete`.",
        "kubeflow/katib#2616, flyteorg/flyte#6846",
    ),
    Rule(
        "MIG407",
        Severity.WARNING,
        "Code that calls v1's Python client",
        "`TrainingClient` of the package kubeflow-training makes, reads and awaits jobs of v1. `TrainerClient` of the "
        "package kubeflow does so with TrainJobs, by fewer methods and with other words for their states.",
        "`training-operator migrate code FILE` rewrites what is certain, and marks the rest with what to do.",
        f"{_SDK}; kubeflow/sdk#142",
    ),
    Rule(
        "MIG408",
        Severity.WARNING,
        "Code that builds a job of v1's Python models",
        "The classes `KubeflowOrgV1PyTorchJob` and the like describe jobs of v1 field by field. The SDK of v2 makes a "
        "TrainJob of a function, or of an image with a runtime.",
        "Write the job to a file and let `convert` make the runtime and the TrainJob of it, or use "
        "`CustomTrainerContainer` with a runtime of the platform.",
        _SDK,
    ),
    Rule(
        "MIG409",
        Severity.WARNING,
        "Code that writes manifests of v1's jobs",
        "A program or a component of a pipeline makes jobs of v1 out of text or dictionaries. No file shows them, so "
        "that nothing that looks at files converts them.",
        "Let the program make TrainJobs that refer to one runtime: `convert` shows both for one of its jobs.",
        _SDK,
    ),
)
