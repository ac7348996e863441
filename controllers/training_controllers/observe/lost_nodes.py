"""Pods on lost nodes, which are missing or not ready: they fail and are deleted by force after a timeout.

The API server keeps such pods as they were last seen, or terminating, until they are force deleted. That does
not stop what may still run on the node, so it happens only if a flag of the operator enables it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

import msgspec

from training_api.conditions import is_finished
from training_controllers.model.deadlines import is_past
from training_controllers.model.plan import EventType, JobEvent, PodDeletion, Snapshot
from training_controllers.model.records import PodRecord
from training_controllers.observe.pod_failures import NODE_LOST, is_active


def without_lost_pods(snapshot: Snapshot) -> Snapshot:
    """The snapshot of an active job in which pods that are lost with their node have failed.

    A pod that has been deleted before is being replaced already (K-09).
    """
    if not snapshot.lost_nodes or is_finished(snapshot.job.status):
        return snapshot
    return replace(snapshot, pods=[_as_lost(snapshot, pod) for pod in snapshot.pods])


def must_be_forced(snapshot: Snapshot, pod: PodRecord) -> bool:
    """Whether the pod is on a node that has been lost for long enough, and its grace period, if any, is over.

    A pod without grace period has been deleted by force already; it waits for its finalizers.
    """
    lost = is_past(snapshot.lost_nodes.get(pod.node), snapshot.now)
    return lost and (not pod.deleting or is_past(pod.stops_by, snapshot.now))


def forced_deletions(snapshot: Snapshot) -> Iterator[PodDeletion]:
    """The pods that have been deleted and stay because their nodes are lost."""
    yield from (PodDeletion(pod, force=True) for pod in snapshot.pods if pod.deleting and must_be_forced(snapshot, pod))


def force_delete_at(snapshot: Snapshot) -> Iterator[datetime]:
    """The moments at which pods on lost nodes are to be deleted by force."""
    for pod in snapshot.pods:
        moment = snapshot.lost_nodes.get(pod.node)
        if moment is not None and (is_active(pod) or pod.stops_by):
            moment = max(moment, pod.stops_by or moment)
            if moment > snapshot.now:
                yield moment


def forced_deletion_events(deletions: Iterable[PodDeletion]) -> Iterator[JobEvent]:
    """One warning for each pod that is deleted by force: its processes may continue."""
    for pod in (deletion.pod for deletion in deletions if deletion.force):
        text = f"pod {pod.name} is deleted by force because its node {pod.node} is lost"
        yield JobEvent(EventType.WARNING, "LostNode", text, once=f"lost/{pod.uid}")


def lost_since(
    seen: Mapping[str, datetime | None], remembered: Mapping[str, datetime], now: datetime
) -> dict[str, datetime]:
    """Since when nodes are lost, by what was `seen` of them now: gone (None), or not ready since then.

    Only memory knows when a node went; one that was not ready before it went has been lost since then.
    """
    return {node: since or remembered.get(node, now) for node, since in seen.items()}


def _as_lost(snapshot: Snapshot, pod: PodRecord) -> PodRecord:
    if not is_active(pod) or not must_be_forced(snapshot, pod):
        return pod
    text = f"node {pod.node} does not exist or is not ready"
    return msgspec.structs.replace(pod, phase="Failed", reason=NODE_LOST, message=text)
