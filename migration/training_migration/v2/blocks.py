"""What Trainer's CRD and webhook reject in the blocks `initializer` and `runtimePatches` of a TrainJob."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from training_migration.v2.denied import Denied
from training_migration.v2.draft import Draft
from training_migration.v2.names import CONTAINER_OF, DATASET_INITIALIZER, MODEL_INITIALIZER
from training_migration.v2.quantities import containers_of

Json = dict[str, Any]

_MANAGER: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
)
_STORAGE: Final = re.compile(r"|[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_IN_POD: Final = {
    "serviceAccountName",
    "volumes",
    "initContainers",
    "containers",
    "imagePullSecrets",
    "securityContext",
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulingGates",
}
_GRACE: Final = "terminationGracePeriodSeconds"
_IN_CONTAINER: Final = {"name", "env", "volumeMounts", "securityContext"}
_PATCHES: Final = "spec.runtimePatches"


def check(draft: Draft) -> None:
    """Raise Denied for what is rejected in the two blocks."""
    initializers = draft.spec.get("initializer") or {}
    for block, name in (("dataset", DATASET_INITIALIZER), ("model", MODEL_INITIALIZER)):
        if (given := initializers.get(block)) is not None:
            _check_initializer(draft, given, name, f"spec.initializer.{block}")
    for position, patch in enumerate(draft.spec.get("runtimePatches") or ()):
        path = f"{_PATCHES}[{position}]"
        if not _MANAGER.fullmatch(patch.get("manager") or ""):
            raise Denied(f"{path}.manager", f"`{patch.get('manager', '')}` is not of the form example.com/who")
        for job in _jobs_of(patch):
            _check_patch(draft, job, f"{path}.trainingRuntimeSpec.template.spec.replicatedJobs")


def _check_initializer(draft: Draft, given: Json, name: str, path: str) -> None:
    if not _STORAGE.fullmatch(given.get("storageUri") or ""):
        raise Denied(f"{path}.storageUri", f"`{given['storageUri']}` must be empty or like scheme://path")
    role = draft.role(name)
    container = None if role is None else role.container(name)
    if container is None:
        raise Denied("spec.runtimeRef", f"the runtime has no job {name} with a container {name}, which {path} needs")
    mounts = [each["name"] for each in container.get("volumeMounts") or ()]
    if draft.features.initializer_mount and "initializer" not in mounts:
        raise Denied("spec.runtimeRef", f"container {name} of the runtime must mount a volume called initializer")


def _jobs_of(patch: Json) -> Iterator[Json]:
    spec = ((patch.get("trainingRuntimeSpec") or {}).get("template") or {}).get("spec") or {}
    yield from spec.get("replicatedJobs") or ()


def _check_patch(draft: Draft, job: Json, path: str) -> None:
    """Admission lets names in that the runtime lacks, but no Job can be made of what it is patched with then."""
    pod = (((job.get("template") or {}).get("spec") or {}).get("template") or {}).get("spec") or {}
    known = _containers(draft, job["name"])
    if known is None:
        raise Denied(path, f"the runtime has no replicated job {job['name']}")
    allowed = _IN_POD | ({_GRACE} if draft.features.patches_grace_period else set())
    if unknown := sorted(set(pod) - allowed):
        raise Denied(path, f"a patch cannot set {', '.join(unknown)} of a pod")
    for container in containers_of(pod):
        name = container["name"]
        if name not in known:
            raise Denied(path, f"the runtime has no container {name} in {job['name']}, and a patch cannot add one")
        if unknown := sorted(set(container) - _IN_CONTAINER):
            raise Denied(path, f"a patch cannot set {', '.join(unknown)} of container {name}")
        if container.get("env") and name in CONTAINER_OF.values():
            raise Denied(path, f"a patch cannot set variables of container {name}: those are in the TrainJob's blocks")


def _containers(draft: Draft, name: str) -> set[str] | None:
    """Names of all containers of a replicated job of the runtime, before it is patched."""
    for job in draft.runtime["spec"]["template"]["spec"].get("replicatedJobs") or ():
        if job["name"] == name:
            return {each["name"] for each in containers_of(job["template"]["spec"]["template"]["spec"])}
    return None
