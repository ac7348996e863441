"""Rules of the first hundred: what the target release has, and names."""

from __future__ import annotations

from typing import Final

from training_migration.findings import Rule, Severity
from training_migration.rules.references import GUIDE, NAMES, PRUNING, RBAC, RUNTIMES

RULES: Final = (
    Rule(
        "MIG001",
        Severity.ERROR,
        "An object of a kind that is not converted",
        "There is no conversion for kinds other than the six of `kubeflow.org/v1`, be it MXJob or a "
        "kind that a package adds to the operator: `survey` counts them as work to be done, and `convert` leaves them. "
        "An MPIJob of `kubeflow.org/v2beta1` belongs to the MPI operator, which is another controller with other "
        "fields and defaults.",
        "Convert jobs of such a kind by hand, and leave objects of other controllers to these. The official guide has "
        "a section on MPIJobs of v2beta1.",
        GUIDE,
    ),
    Rule(
        "MIG002",
        Severity.ERROR,
        "A feature that the target release does not have",
        "Each release of v2 so far added fields and policies: deadlines, patches of the runtime, and the policies for "
        "JAX and XGBoost came with 2.2, MultiKueue and variables for sidecars with 2.3. An older release rejects or "
        "drops them.",
        "Choose a newer target, or let `convert` write what the release has: a deadline on the Job's template, a plain "
        "runtime with variables written out.",
        RUNTIMES,
        converted=True,
    ),
    Rule(
        "MIG003",
        Severity.ERROR,
        "A name that is too long for v2",
        "v2's pods are called after the TrainJob, the replicated job, two numbers and five random characters, and all "
        "of that must fit into 63 characters. A TrainJob with a longer name is accepted and then never gets a pod; "
        "only an event reports why.",
        "Give the TrainJob a shorter name, with `--name` of `convert`.",
        f"kubernetes-sigs/jobset, admission of JobSets; {NAMES}",
    ),
    Rule(
        "MIG004",
        Severity.ERROR,
        "A Service that has the name of the TrainJob",
        "JobSet makes a headless Service of the TrainJob's name, through which the pods find each other. Where one of "
        "this name is already there, it makes none, and the names of the pods cannot be resolved.",
        "Rename the Service or the TrainJob.",
        "kubernetes-sigs/jobset, network of a JobSet",
    ),
    Rule(
        "MIG005",
        Severity.WARNING,
        "A job of v1 and a TrainJob of one name that are both placed as a gang",
        "Both controllers make a PodGroup that is called like the job. In one namespace there can be only one, and "
        "each controller writes its own numbers into it.",
        "Run the two in different namespaces, or under different names.",
        "kubernetes-sigs/scheduler-plugins and volcano-sh/volcano, PodGroup",
    ),
    Rule(
        "MIG006",
        Severity.WARNING,
        "A version of Kueue that does not know the target release",
        "Kueue reads TrainJobs through the fields of one release of v2. With another release it may place pods "
        "wrongly or leave jobs suspended forever.",
        "Check the release notes of Kueue for the version of Trainer that it supports, and move both together.",
        "kubernetes-sigs/kueue#14886",
    ),
    Rule(
        "MIG007",
        Severity.WARNING,
        "A role that allows jobs of v1 and says nothing of v2",
        "TrainJobs and runtimes are kinds of another API group. A user who may make PyTorchJobs may not make TrainJobs "
        "because of that.",
        "Add `trainjobs` and `trainingruntimes` of `trainer.kubeflow.org` to the role, and reading "
        "`clustertrainingruntimes` and `jobsets` of `jobset.x-k8s.io`.",
        RBAC,
    ),
    Rule(
        "MIG008",
        Severity.INFO,
        "An existing runtime would lose a part of the job",
        "A runtime of the platform, or one that v2 ships, has its own policies, and a TrainJob can change only some "
        "fields of its pods.",
        "Use the job's own runtime, which `convert` writes instead, or give up the part that is named.",
        "kubeflow/trainer, runtime patches of a TrainJob",
        converted=True,
    ),
    Rule(
        "MIG009",
        Severity.WARNING,
        "A job whose name the API server makes",
        "With `generateName` each creation from one file made another job of v1. The hosts of a TrainJob are "
        "called after it, and variables of the file contain them, so that it needs a fixed name.",
        "Convert the file for each run with another `--name`, or delete the TrainJob before the next run.",
        "kubernetes-sigs/jobset, names of pods",
    ),
    Rule(
        "MIG010",
        Severity.INFO,
        "A field that v1 does not have",
        "The API server drops fields that are not in v1's CRDs, and kubectl warns of them. Those of older versions are "
        "still in many files, `spec.cleanPodPolicy` for example, which v1 has in `spec.runPolicy`. Such a field had no "
        "effect on v1, and the conversion gives it none.",
        "Delete the field, or write it where v1 has it before you convert, if its effect is wanted.",
        PRUNING,
    ),
)
