"""What Trainer's CRDs and webhooks reject in a TrainJob and its runtime, apart from the policies."""

from __future__ import annotations

import re
from typing import Any, Final

from training_migration.targets import FEATURES, Target
from training_migration.v2.denied import Denied, NotPredicted
from training_migration.v2.draft import ancestor_of
from training_migration.v2.duplicates import check_duplicates
from training_migration.v2.names import ANCESTOR, CLUSTER_RUNTIME, CONTAINER_OF, RUNTIME

Json = dict[str, Any]

_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SOURCES: Final = ("torch", "mpi", "jax", "xgboost", "flux")
_OVERRIDES: Final = ("podSpecOverrides", "podTemplateOverrides", "runtimePatches")


def check(train_job: Json, runtime: Json, target: Target) -> None:
    """Raise Denied for what is rejected before anything is made."""
    _check_name(train_job)
    _check_reference(train_job, runtime)
    _check_release(train_job["spec"], runtime["spec"], target)
    check_duplicates(train_job["spec"], runtime["spec"])
    for position, job in enumerate((runtime["spec"].get("template") or {}).get("spec", {}).get("replicatedJobs") or ()):
        _check_ancestor(job, f"spec.template.spec.replicatedJobs[{position}]")


def _check_name(train_job: Json) -> None:
    name = train_job["metadata"].get("name") or ""
    if len(name) > 63 or not _NAME.fullmatch(name):
        message = f"`{name}` must begin with a letter, have small letters, digits and dashes, and at most 63 of them"
        raise Denied("metadata.name", message)


def _check_reference(train_job: Json, runtime: Json) -> None:
    reference = train_job["spec"].get("runtimeRef") or {}
    kind, name = reference.get("kind", CLUSTER_RUNTIME), reference.get("name")
    if (
        kind not in (RUNTIME, CLUSTER_RUNTIME)
        or reference.get("apiGroup", "trainer.kubeflow.org") != "trainer.kubeflow.org"
    ):
        raise Denied("spec.runtimeRef", f"{reference.get('apiGroup', '')} {kind} is no runtime")
    if (kind, name) != (runtime.get("kind"), runtime["metadata"].get("name")):
        given = f"{runtime.get('kind')} {runtime['metadata'].get('name')}"
        raise Denied("spec.runtimeRef", f"the TrainJob wants {kind} {name}, which does not exist (there is {given})")
    namespaces = [each["metadata"].get("namespace") or "default" for each in (train_job, runtime)]
    if kind == RUNTIME and namespaces[0] != namespaces[1]:
        raise Denied("spec.runtimeRef", f"{name} is in namespace {namespaces[1]}, the TrainJob in {namespaces[0]}")


def _check_release(spec: Json, runtime: Json, target: Target) -> None:
    """Fields that the release's CRDs do not have, and what is not predicted."""
    features = FEATURES[target]
    policies = [each for each in _SOURCES if each in (runtime.get("mlPolicy") or {})]
    for each in policies:
        if each not in features.policies:
            raise Denied(f"spec.mlPolicy.{each}", f"Trainer {target} has no such policy")
    if len(policies) > 1:
        raise Denied("spec.mlPolicy", f"only one of {', '.join(policies)} may be there")
    if "flux" in policies:
        raise NotPredicted("spec.mlPolicy.flux", "what v2 makes of a flux runtime is not predicted")
    torch = (runtime.get("mlPolicy") or {}).get("torch") or {}
    patched = features.overrides == "runtimePatches"
    unknown = {
        "spec.activeDeadlineSeconds": "activeDeadlineSeconds" in spec and not features.deadline,
        "spec.labels": "labels" in spec and patched,
        "spec.annotations": "annotations" in spec and patched,
        "spec.mlPolicy.torch.envInjection": "envInjection" in torch and not features.torch_env_injection,
        "spec.mlPolicy.torch.numProcPerNode": "numProcPerNode" in torch and patched,
        "spec.podGroupPolicy.volcano": "volcano" in (runtime.get("podGroupPolicy") or {}) and not features.volcano,
    }
    for path in (path for path, there in unknown.items() if there):
        raise Denied(path, f"Trainer {target} has no such field")
    for each in _OVERRIDES:
        if each in spec and each != features.overrides:
            raise Denied(f"spec.{each}", f"Trainer {target} has no such field, but {features.overrides}")
    if not patched and features.overrides in spec:
        raise NotPredicted(f"spec.{features.overrides}", "what v2 makes of it is not predicted")


def _check_ancestor(job: Json, path: str) -> None:
    ancestor = ancestor_of(job) if "template" in job else ""
    if ancestor not in CONTAINER_OF:
        return
    if job.get("replicas", 1) != 1:
        raise Denied(f"{path}.replicas", f"must be 1 with the label {ANCESTOR}, not {job['replicas']}")
    containers = job["template"].get("spec", {}).get("template", {}).get("spec", {}).get("containers") or ()
    if CONTAINER_OF[ancestor] not in [each["name"] for each in containers]:
        message = f"the label {ANCESTOR}: {ancestor} needs a container called {CONTAINER_OF[ancestor]}"
        raise Denied(f"{path}.template.spec.template.spec.containers", message)
