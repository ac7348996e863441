"""TrainJobs and runtimes as tests write them."""

from __future__ import annotations

from typing import Any

from training_migration.rendering import RenderedPod, Rendering
from training_migration.targets import Target
from training_migration.v2.names import ANCESTOR
from training_migration.v2.render import render_v2

Json = dict[str, Any]


def container(name: str = "node", **fields: Any) -> Json:
    return {"name": name, "image": "registry.example/train:1", **fields}


def replicated_job(
    name: str = "node", *containers: Json, ancestor: str = "trainer", pod: Json | None = None, **fields: Any
) -> Json:
    labels = {"metadata": {"labels": {ANCESTOR: ancestor}}} if ancestor else {}
    pod_spec = {"containers": list(containers) or [container()], **(pod or {})}
    return {"name": name, "template": {**labels, "spec": {"template": {"spec": pod_spec}}}, **fields}


def runtime(policy: Json | None, *jobs: Json, template: Json | None = None, **fields: Any) -> Json:
    """A runtime; a policy of None is none at all, an empty one the plain one."""
    template = {"spec": {"replicatedJobs": list(jobs) or [replicated_job()]}, **(template or {})}
    policies = {} if policy is None else {"mlPolicy": policy}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainingRuntime",
        "metadata": {"name": "rt", "namespace": "ns"},
        "spec": {**policies, "template": template, **fields},
    }


def train_job(trainer: Json | None = None, *, name: str = "job", **fields: Any) -> Json:
    block = {} if trainer is None else {"trainer": trainer}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "rt"}, **block, **fields},
    }


def rendered(job: Json, of: Json, target: Target = Target.V2_3) -> Rendering:
    return render_v2(job, of, target)


def variables(pod: RenderedPod, name: str = "") -> dict[str, str]:
    """Values of a container's variables; of those from fields the path."""
    spec = pod.pod["spec"]
    every = [*spec.get("initContainers", ()), *spec["containers"]]
    found = next(each for each in every if each["name"] == (name or pod.container))
    return {
        each["name"]: each["value"] if "value" in each else each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in found.get("env", ())
    }


def objects(rendering: Rendering, kind: str) -> list[Json]:
    return [each for each in rendering.objects if each["kind"] == kind]
