"""What each kind puts into its pods' environment: asked of the frameworks themselves, for sample jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.support.documentation.meanings import MEANINGS
from e2e.support.documentation.table import code, table

from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_api.registry import KINDS
from training_controllers.frameworks.registry import frameworks
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot

NAME: Final = "train"
NAMESPACE: Final = "team"


@dataclass(frozen=True, slots=True)
class Sample:
    """A job whose variables are shown, and the replicas of which they are."""

    title: str
    replicas: Mapping[str, int]
    shown: tuple[Slot, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    def job(self, kind: str) -> Job:
        """The job as the operator sees it."""
        info = KINDS[kind]
        template = {"spec": {"containers": [{"name": info.container, "image": "example.com/train:1"}]}}
        types = {name: {"replicas": count, "template": template} for name, count in self.replicas.items()}
        metadata = {"name": NAME, "namespace": NAMESPACE, "uid": "1", "annotations": dict(self.annotations)}
        spec = {info.replica_field: types, **self.spec}
        return with_defaults(decode_job(info, {"metadata": metadata, "spec": spec}))


EVERYTHING_ELASTIC: Final = {
    "minReplicas": 1,
    "maxReplicas": 4,
    "maxRestarts": 10,
    "rdzvId": "run-7",
    "rdzvConf": [{"key": "join_timeout", "value": "600"}],
    "standalone": True,
}
MASTER, WORKER, LATER_WORKER = Slot("Master", 0), Slot("Worker", 0), Slot("Worker", 1)

SAMPLES: Final[Mapping[str, tuple[Sample, ...]]] = {
    "PyTorchJob": (
        Sample(
            'A Master and 2 Workers, `nprocPerNode: "2"`',
            {"Master": 1, "Worker": 2},
            (MASTER, LATER_WORKER),
            {"nprocPerNode": "2"},
        ),
        Sample(
            "Workers alone with `elasticPolicy`",
            {"Worker": 2},
            (WORKER, LATER_WORKER),
            {"elasticPolicy": EVERYTHING_ELASTIC},
        ),
    ),
    "TFJob": (
        Sample(
            "A Chief, a parameter server and 2 Workers",
            {"Chief": 1, "PS": 1, "Worker": 2},
            (Slot("Chief", 0), LATER_WORKER),
        ),
        Sample(
            "The same with `enableDynamicWorker: true`",
            {"Chief": 1, "PS": 1, "Worker": 2},
            (Slot("PS", 0), LATER_WORKER),
            {"enableDynamicWorker": True},
        ),
    ),
    "XGBoostJob": (Sample("A Master and 2 Workers", {"Master": 1, "Worker": 2}, (MASTER, LATER_WORKER)),),
    "MPIJob": (
        Sample("A Launcher and 2 Workers", {"Launcher": 1, "Worker": 2}, (Slot("Launcher", 0), WORKER)),
        Sample(
            "The same over SSH",
            {"Launcher": 1, "Worker": 2},
            (Slot("Launcher", 0), WORKER),
            annotations={"extension.training.kubeflow.org/mpi-launch": "ssh"},
        ),
    ),
    "PaddleJob": (
        Sample("2 Workers (collective)", {"Worker": 2}, (WORKER, LATER_WORKER)),
        Sample("A Master and 2 Workers (parameter server)", {"Master": 1, "Worker": 2}, (MASTER, LATER_WORKER)),
    ),
    "JAXJob": (Sample("3 Workers", {"Worker": 3}, (WORKER, LATER_WORKER)),),
}


def environment_table(kind: str) -> str:
    """What the variables of a kind mean, then their values in pods of the sample jobs."""
    samples = [(sample, [variables(kind, sample, slot) for slot in sample.shown]) for sample in SAMPLES[kind]]
    names = dict.fromkeys(name for _, pods in samples for pod in pods for name in pod)
    parts = [table(("variable", "what it says"), ((code(name), MEANINGS[kind][name]) for name in names))]
    for sample, pods in samples:
        given = dict.fromkeys(name for pod in pods for name in pod)
        rows = [(code(name), *(_shown(pod.get(name)) for pod in pods)) for name in given]
        job = sample.job(kind)
        head = ("", *(code(replica_name(job, slot)) for slot in sample.shown))
        parts += [f"{sample.title}, as job `{NAME}` in namespace `{NAMESPACE}`:", table(head, rows)]
    return "\n\n".join(parts)


def _shown(value: str | None) -> str:
    if value is None:
        return "-"
    return code(value) if value else "(empty)"


def variables(kind: str, sample: Sample, slot: Slot) -> Mapping[str, str]:
    """The variables of a pod's first container; those that Kubernetes fills are shown by what it fills in."""
    job = sample.job(kind)
    spec = frameworks()[kind].configure_pod(job, slot, job.replicas[slot.replica_type].template["spec"])
    return {each["name"]: _value(each) for each in spec["containers"][0].get("env", ())}


def _value(variable: Mapping[str, Any]) -> str:
    if "valueFrom" in variable:
        return f"({variable['valueFrom']['fieldRef']['fieldPath']})"
    return str(variable.get("value", ""))
