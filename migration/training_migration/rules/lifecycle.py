"""Rules on restarts, limits, clean-up and the end."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity
from training_migration.rules.references import JOB, JOBSET, POD_FAILURE, SUCCESS_POLICY

RULES: Final = (
    Rule(
        "MIG301",
        Severity.WARNING,
        "No limit of restarts",
        "v1 restarts without limit where `backoffLimit` is absent. A Job gives up after 6.",
        "Set `backoffLimit` of the Job's template to 2147483647, as `convert` does, or decide on a limit.",
        JOB,
        converted=True,
    ),
    Rule(
        "MIG302",
        Severity.INFO,
        "A limit of restarts that is counted otherwise",
        "v1 adds up the restarts of all replicas, and fails when the sum reaches the limit. A Job counts its own "
        "replicated job only, and delays each retry more than the last.",
        "Choose a new limit if the job has several replicated jobs.",
        JOB,
    ),
    Rule(
        "MIG303",
        Severity.WARNING,
        "Exit codes decide on restarts",
        "With `ExitCode` v1 restarts a replica that ended with 128 or above, and fails the job for 1 to 127. A Job "
        "retries them all, unless a failure policy says otherwise.",
        "Keep the `podFailurePolicy` that `convert` writes: 1 to 127 fail the job.",
        f"kubeflow/trainer#1589; {POD_FAILURE}",
    ),
    Rule(
        "MIG304",
        Severity.WARNING,
        "Restarts after success",
        "`Always` restarts a container that ended with 0 as well. Pods of a Job cannot do that.",
        "Use `OnFailure`. A process that must not end has to loop by itself.",
        JOB,
    ),
    Rule(
        "MIG305",
        Severity.WARNING,
        "What remains of the pods",
        "v1's `cleanPodPolicy: None` (which is the default) leaves running pods alone after the end, and `All` "
        "deletes all of them. v2 always deletes those that run and keeps those that have finished. A job that "
        "succeeds because all of its pods have has none that run ([MIG308](MIG308.md)); one that fails may.",
        "Collect logs while the job runs, or end every process by itself. For `All`, delete the TrainJob afterwards.",
        JOBSET,
        converted=True,
    ),
    Rule(
        "MIG306",
        Severity.ERROR,
        "A TTL of finished jobs",
        "v1 deletes the job. v2's `ttlSecondsAfterFinished` deletes the JobSet only, the TrainJob stays; and up to "
        "2.3.0 a TrainJob that had failed makes a new JobSet and starts again, forever.",
        "Leave it out (`convert --ttl drop`), and delete finished TrainJobs from outside.",
        "kubeflow/trainer#2899, kubeflow/trainer#3779, kubeflow/trainer#4052",
        converted=True,
    ),
    Rule(
        "MIG307",
        Severity.WARNING,
        "A deadline that counts from another moment",
        "v1 counts from when it first saw the job. v2 counts from the TrainJob's creation or its last resume, deletes "
        "all pods with their logs whatever the `cleanPodPolicy` says, and does not let the value be changed.",
        "Add the time that jobs wait for resources, and collect logs while the job runs.",
        f"kubeflow/trainer, TrainJob API; {JOB}",
        converted=True,
    ),
    Rule(
        "MIG308",
        Severity.WARNING,
        "One replica decides on success",
        "v1's job has succeeded when its master has, even if workers still run. What becomes of these is up to "
        "`cleanPodPolicy`: with `None`, the default, they run on, and may write their checkpoint. A success policy of "
        "v2 deletes them at once; without one the TrainJob waits for all.",
        "`convert` writes no success policy where v1 lets pods run on, but for parameter servers, which never end; and "
        "one where v1 deletes them too (`Running`, `All`), which Kubernetes has by default from 1.31 on "
        "(`--kubernetes`). Where some pods never end by themselves, add the policy.",
        SUCCESS_POLICY,
        converted=True,
    ),
    Rule(
        "MIG309",
        Severity.WARNING,
        "The size of the gang is given",
        "v2 always asks for all pods of a job and for the sum of their requests; `minAvailable` and `minResources` "
        "have no place.",
        "Nothing, where all pods are wanted. A job that can begin with fewer has no counterpart.",
        "kubeflow/trainer, coscheduling and volcano plugins",
    ),
    Rule(
        "MIG310",
        Severity.WARNING,
        "The priority class of the gang",
        "v1 sets it on the PodGroup only. v2 reads it from the pods, so that they get it too, which may let them "
        "displace other pods; and the class must exist.",
        "Check that the class exists and that its preemption is wanted.",
        "kubeflow/trainer, volcano plugin",
        converted=True,
    ),
    Rule(
        "MIG311",
        Severity.INFO,
        "Another manager of the job",
        "`managedBy` has other values: `trainer.kubeflow.org/trainjob-controller` for the own controller. That of "
        "MultiKueue is the same, and is obeyed from 2.3 on.",
        "Nothing; `convert` writes v2's value.",
        "kubeflow/trainer, TrainJob API",
        converted=True,
    ),
    Rule(
        "MIG312",
        Severity.INFO,
        "A gang without a known scheduler",
        "In v1 a flag of the operator selects the gang scheduler. In v2 every runtime selects its own.",
        "Pass `convert` with `--gang-scheduler-name` the value of this flag of v1's operator.",
        "kubeflow/trainer, podGroupPolicy of a runtime",
        converted=True,
    ),
    Rule(
        "MIG313",
        Severity.WARNING,
        "An extension of v1",
        "Annotations below `extension.training.kubeflow.org` ask this operator for what v1 does not have: restarts of "
        "the whole job, the action on disrupted pods. v2 does not read them.",
        "For `restart-scope: job` keep the failure policy of the JobSet that `convert` writes. For `disruptions` see "
        "whether a failure policy of the Jobs does the same.",
        "kubernetes-sigs/jobset, failure policy of a JobSet",
    ),
    Rule(
        "MIG314",
        Severity.WARNING,
        "An annotation by which another tool acts on jobs of v1 only",
        "Some tools other than the operator watch PyTorchJobs and their like: HyperPod, for example, resumes a job on "
        "another node where `sagemaker.amazonaws.com/enable-job-auto-resume` asks for it. They do not watch TrainJobs, "
        "so that the annotation means nothing there.",
        "See what the tool offers for JobSets or Jobs, and remove the annotation. Failed pods start again by "
        "`backoffLimit` of the runtime's Job.",
        "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-eks-resiliency.html",
    ),
)
