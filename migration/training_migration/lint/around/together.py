"""Objects that do not go together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from training_api.documents import Document
from training_api.registry import KINDS
from training_api.yaml_text import parts
from training_migration.findings import Finding
from training_migration.lint.checks import Checks, Spot
from training_migration.targets import FEATURES, Target
from training_migration.v1_job import is_v1_job
from training_migration.v2.lookup import Runtimes
from training_migration.v2.names import CLUSTER_RUNTIME, RUNTIME

Json = Mapping[str, Any]
_SNAPSHOT: Final = "-runtime-snapshot"


Index = Mapping[tuple[str, str], Sequence[Json]]
"""Objects by namespace and name; those without a namespace are in `default`, cluster runtimes in none."""


@dataclass(frozen=True, slots=True)
class Together:
    """One object among others."""

    one: Json
    index: Index
    target: Target
    runtime: Json | None = None
    """Of a TrainJob."""

    @property
    def name(self) -> str:
        """Of the one."""
        return _name(self.one)

    def others(self, name: str, *kinds: str) -> Iterator[Json]:
        """Objects of this name and these kinds in the namespace of the one."""
        namespace = "" if kinds == (CLUSTER_RUNTIME,) else _namespace(self.one)
        yield from (each for each in self.index.get((namespace, name), ()) if each.get("kind") in kinds)


TOGETHER: Final[Checks[Together]] = Checks()
"""The checks on objects next to others."""


def _name(obj: Json) -> str:
    return str((obj.get("metadata") or {}).get("name", ""))


def _namespace(obj: Json) -> str:
    if obj.get("kind") == CLUSTER_RUNTIME:
        return ""
    return str((obj.get("metadata") or {}).get("namespace") or "default")


def _is_train_job(obj: Json) -> bool:
    return obj.get("kind") == "TrainJob"


@TOGETHER.rule("MIG004")
def service_of_the_name(look: Together) -> Iterator[Spot]:
    """A Service that stands in the way of that of the JobSet."""
    if not _is_train_job(look.one) and not is_v1_job(dict(look.one)):
        return
    for service in look.others(look.name, "Service"):
        labels = (service.get("metadata") or {}).get("labels") or {}
        if "jobset.sigs.k8s.io/jobset-name" not in labels:
            message = f"Service {look.name} is there already: JobSet makes none, and pods cannot resolve each other."
            yield Spot(message, "metadata.name")


@TOGETHER.rule("MIG005")
def one_pod_group(look: Together) -> Iterator[Spot]:
    """A job of v1 of the TrainJob's name, both placed as a gang."""
    if not _is_train_job(look.one) or not _gang_of_v2(look):
        return
    for each in look.others(look.name, *KINDS):
        if is_v1_job(dict(each)) and _gang_of_v1(each):
            yield Spot(f"{each['kind']} {look.name} has the PodGroup of this name, too.", "metadata.name")


def _gang_of_v2(look: Together) -> bool:
    runtime = look.runtime or {}
    return bool((runtime.get("spec") or {}).get("podGroupPolicy"))


def _gang_of_v1(job: Json) -> bool:
    spec = job.get("spec") or {}
    if (spec.get("runPolicy") or {}).get("schedulingPolicy"):
        return True
    replicas = [each for key, value in spec.items() if key.endswith("ReplicaSpecs") for each in (value or {}).values()]
    pods = [((each.get("template") or {}).get("spec") or {}) for each in replicas]
    return any(pod.get("schedulerName") not in (None, "", "default-scheduler") for pod in pods)


@TOGETHER.rule("MIG506")
def changed_runtime(look: Together) -> Iterator[Spot]:
    """A runtime that is not the one that a TrainJob keeps."""
    if not _is_train_job(look.one) or not FEATURES[look.target].snapshot or (runtime := look.runtime) is None:
        return
    for kept in look.others(f"{look.name}{_SNAPSHOT}", "ConfigMap"):
        if _spec_of(kept) not in (None, runtime.get("spec")):
            message = f"runtime {_name(runtime)} is not the one of ConfigMap {_name(kept)}, which has effect."
            yield Spot(message, "spec.runtimeRef")


def _spec_of(kept: Json) -> Any:
    """The spec of the runtime in a snapshot; None where it cannot be read."""
    found = list(parts(str((kept.get("data") or {}).get("runtime", ""))))
    runtime = found[0].value if found else None
    return (
        runtime.get("spec") if isinstance(runtime, dict) and runtime.get("kind") in (RUNTIME, CLUSTER_RUNTIME) else None
    )


def lint_together(documents: Sequence[Document], target: Target) -> list[Finding]:
    """What is found in objects because of others next to them."""
    runtimes = Runtimes(documents, {})
    index: dict[tuple[str, str], list[Json]] = defaultdict(list)
    for each in documents:
        if each.object is not None:
            index[_namespace(each.object), _name(each.object)].append(each.object)
    return [
        replace(finding, source=each.source, line=each.line)
        for each in documents
        if (obj := each.object) is not None
        for finding in TOGETHER(
            Together(obj, index, target, runtimes.of(obj, each.source) if _is_train_job(obj) else None)
        )
    ]
