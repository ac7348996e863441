"""What is shown of a replica's pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from training_console.model.reducing import reduced
from training_controllers.model.records import Owner
from training_local.run.cause import Failure, Failures, failures_of
from training_local.run.endings import container_ends, moment
from training_local.run.progress import Replica, replica_of
from training_operator.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Run:
    """From the start of a container to its end; without an end it continues."""

    started: datetime
    ended: datetime | None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class PodRow:
    """One pod of a job; records of a cache must have the first five fields."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    replica: Replica
    node: str
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    disrupted: str = ""
    """Why something evicts it; empty if nothing does."""

    @property
    def id(self) -> str:
        """Of its cell in the page."""
        return f"pod-{self.uid}"


def pods() -> Resource[PodRow]:
    """Return the resource of pods."""
    return Resource("", "v1", "pods", "Pod", reduced(pod_row))


def pod_row(stored: Mapping[str, Any]) -> PodRow:
    """Reduce a stored pod."""
    metadata, status = stored["metadata"], stored.get("status") or {}
    disrupted: Mapping[str, Any] = next(
        (c for c in status.get("conditions") or () if c["type"] == "DisruptionTarget"), {}
    )
    return PodRow(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        metadata["resourceVersion"],
        None,
        replica_of(stored),
        (stored.get("spec") or {}).get("nodeName", ""),
        tuple(_runs(status)),
        tuple(failures_of(stored)),
        disrupted.get("message", "") if disrupted.get("status") == "True" else "",
    )


def _runs(status: Mapping[str, Any]) -> list[Run]:
    """The attempts of the main containers that the status tells of, the earliest first."""
    ends = (each.ending for each in container_ends(status) if not each.init)
    runs = [Run(each.started_at, each.finished_at, each.failed) for each in ends if each.started_at]
    going = ((each.get("state") or {}).get("running") for each in status.get("containerStatuses") or ())
    begun = (moment(each.get("startedAt")) for each in going if each)
    runs += [Run(each, None) for each in begun if each]
    return sorted(runs, key=lambda run: run.started)


def first_cause(pods: Iterable[PodRow]) -> tuple[Failure | None, int]:
    """Return the failure that came first, and how many came after it."""
    seen = tuple(failure for pod in pods for failure in pod.failures)
    return Failures(seen).first, max(len(seen) - 1, 0)


def in_order(kinds_of_replicas: Sequence[str], pods: Iterable[PodRow]) -> list[PodRow]:
    """Return pods by type, in the order of the kind, then by index."""
    order = {name.lower(): position for position, name in enumerate(kinds_of_replicas)}
    return sorted(
        pods,
        key=lambda p: (order.get(p.replica.replica_type, len(order)), p.replica.replica_type, p.replica.index, p.name),
    )
