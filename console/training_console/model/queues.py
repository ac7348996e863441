"""What Kueue says of a job: admitted or not, why, and how many are before it; no effects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from training_api.printable import legible
from training_console.model.reducing import reduced
from training_controllers.model.records import Owner
from training_local.run.endings import moment
from training_operator.kube.resources import Resource

GROUP: Final = "kueue.x-k8s.io"
UNTRIED: Final = "Kueue has not tried to admit it yet."
"""It does not try those that are like one that it has just tried without success, either."""


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
    priority: int = 0
    order: str = ""
    """When it was created, or evicted because its pods did not become ready: the earlier one of two comes first."""

    created: datetime | None = None
    admitted: datetime | None = None
    """When it was admitted last; None while it is not."""

    @property
    def waits(self) -> bool:
        """Whether it stands in its queue."""
        return self.state in ("Pending", "Evicted")


@dataclass(frozen=True, slots=True)
class Position:
    """Where a workload stands in its queue, from 1."""

    place: int
    of: int
    """How many wait in the LocalQueue."""
    in_cluster_queue: int | None = None
    """Its place among all that wait for the ClusterQueue; None where Kueue has not been asked, or does not say."""

    @property
    def sentence(self) -> str:
        """What it says, and who says so."""
        if self.in_cluster_queue is None:
            return (
                f"{self.place} of {self.of} in its queue, by priority and age of those that you may see: "
                "Kueue has not reported it"
            )
        return f"{self.place} of {self.of} in its queue, {self.in_cluster_queue} in the cluster queue, says Kueue"


def computed(rows: Iterable[WorkloadRow]) -> dict[str, Position]:
    """Place the workloads that wait, by uid, in the order in which Kueue looks at them."""
    queues: dict[tuple[str, str], list[WorkloadRow]] = {}
    for row in rows:
        if row.waits:
            queues.setdefault((row.namespace, row.queue), []).append(row)
    return {
        row.uid: Position(place, len(waiting))
        for waiting in queues.values()
        for place, row in enumerate(sorted(waiting, key=lambda each: (-each.priority, each.order, each.name)), 1)
    }


def said(pending: Mapping[str, Any]) -> dict[tuple[str, str], Position]:
    """Read Kueue's answer about the workloads that wait in one LocalQueue, by namespace and name."""
    items = pending.get("items") or ()
    return {
        (each["metadata"]["namespace"], each["metadata"]["name"]): Position(
            int(each.get("positionInLocalQueue", 0)) + 1, len(items), int(each.get("positionInClusterQueue", 0)) + 1
        )
        for each in items
    }


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
    spec, evicted = stored.get("spec") or {}, conditions.get("Evicted") or {}
    again = evicted.get("status") == "True" and evicted.get("reason") == "PodsReadyTimeout"
    owner = next((each for each in metadata.get("ownerReferences") or () if each.get("controller")), None)
    return WorkloadRow(
        metadata.get("namespace", ""),
        metadata["name"],
        metadata.get("uid", ""),
        metadata.get("resourceVersion", ""),
        Owner(owner["kind"], owner["name"], owner["uid"]) if owner else None,
        spec.get("queueName", ""),
        state,
        "" if state in ("Admitted", "Finished") else legible(str(told.get("message") or UNTRIED)),
        int(spec.get("priority") or 0),
        str((evicted.get("lastTransitionTime") if again else metadata.get("creationTimestamp")) or ""),
        moment(metadata.get("creationTimestamp")),
        moment(conditions["Admitted"].get("lastTransitionTime")) if "Admitted" in holding else None,
    )
