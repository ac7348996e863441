"""What each kind puts into its pods' environment: asked of the frameworks themselves, for their sample jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from e2e.support.documentation.table import code, table
from e2e.support.every_kind import EVERY_KIND, every_framework

from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_controllers.frameworks.base import Sample
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot

NAME: Final = "train"
NAMESPACE: Final = "team"


def samples(kind: str) -> Sequence[Sample]:
    """The jobs of a kind whose variables are shown."""
    framework = every_framework()[kind]
    types = framework.info.replica_types
    one_of_each = Sample(f"One {' and one '.join(types)}", dict.fromkeys(types, 1), [Slot(name, 0) for name in types])
    return framework.samples or (one_of_each,)


def sample_job(kind: str, sample: Sample) -> Job:
    """The job as the operator sees it."""
    info = EVERY_KIND[kind]
    template = {"spec": {"containers": [{"name": info.container, "image": "example.com/train:1"}]}}
    types = {name: {"replicas": count, "template": template} for name, count in sample.replicas.items()}
    metadata = {"name": NAME, "namespace": NAMESPACE, "uid": "1", "annotations": dict(sample.annotations)}
    spec = {info.replica_field: types, **sample.spec}
    return with_defaults(decode_job(info, {"metadata": metadata, "spec": spec}))


def environment_table(kind: str) -> str:
    """What the variables of a kind mean, then their values in pods of the sample jobs."""
    shown = [(sample, [variables(kind, sample, slot) for slot in sample.shown]) for sample in samples(kind)]
    meanings = every_framework()[kind].variables
    names = dict.fromkeys(name for _, pods in shown for pod in pods for name in pod)
    if missing := ", ".join(names.keys() - meanings.keys()):
        raise SystemExit(f"variables of the framework for {kind} must also say what these are: {missing}")
    parts = [table(("variable", "what it says"), ((code(name), meanings[name]) for name in names))]
    for sample, pods in shown:
        given = dict.fromkeys(name for pod in pods for name in pod)
        rows = [(code(name), *(_shown(pod.get(name)) for pod in pods)) for name in given]
        job = sample_job(kind, sample)
        head = ("", *(code(replica_name(job, slot)) for slot in sample.shown))
        parts += [f"{sample.title}, as job `{NAME}` in namespace `{NAMESPACE}`:", table(head, rows)]
    return "\n\n".join(parts)


def _shown(value: str | None) -> str:
    if value is None:
        return "-"
    return code(value) if value else "(empty)"


def variables(kind: str, sample: Sample, slot: Slot) -> Mapping[str, str]:
    """The variables of a pod's first container; those that Kubernetes fills are shown by what it fills in."""
    job = sample_job(kind, sample)
    spec = every_framework()[kind].pod_spec(job, slot)
    return {each["name"]: _value(each) for each in spec["containers"][0].get("env", ())}


def _value(variable: Mapping[str, Any]) -> str:
    if "valueFrom" in variable:
        return f"({variable['valueFrom']['fieldRef']['fieldPath']})"
    return str(variable.get("value", ""))
