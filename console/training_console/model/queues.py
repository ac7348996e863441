"""What Kueue says of a job: admitted or not, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from training_api.printable import legible
from training_console.model.reducing import reduced
from training_controllers.model.records import Owner
from training_operator.kube.resources import Resource

GROUP: Final = "kueue.x-k8s.io"


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """A Workload of Kueue, reduced; records of a cache must have the first five fields."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    """The job that it stands for."""
    queue: str
    state: str
    """`Admitted`, `Quota reserved`, `Evicted`, `Finished` or `Pending`."""
    why: str
    """Why it is not admitted; empty if it is."""
    since: str = ""
    """When that began, RFC 3339."""


def workloads() -> Resource[WorkloadRow]:
    """Return Kueue's resource."""
    return Resource(GROUP, "v1beta1", "workloads", "Workload", reduced(_row))


def _row(stored: dict[str, Any]) -> WorkloadRow:
    metadata = stored["metadata"]
    conditions = {each["type"]: each for each in (stored.get("status") or {}).get("conditions") or ()}
    holding = {name for name, each in conditions.items() if each.get("status") == "True"}
    state, told = "Pending", conditions.get("QuotaReserved") or {}
    for name, shown in (
        ("QuotaReserved", "Quota reserved"),
        ("Admitted", "Admitted"),
        ("Evicted", "Evicted"),
        ("Finished", "Finished"),
    ):
        if name in holding:
            state, told = shown, conditions[name]
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    return WorkloadRow(
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
        Owner(owner["kind"], owner["name"], owner["uid"]) if owner else None,
        (stored.get("spec") or {}).get("queueName", ""),
        state,
        "" if state in ("Admitted", "Finished") else legible(str(told.get("message", ""))),
        str(told.get("lastTransitionTime", "")),
    )
