"""`status.waiting`: what the pods of an active job wait for; for each cause the first pod, and how many share it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from training_controllers.decide.failure_message import first_failure
from training_controllers.decide.job_state import JobState
from training_controllers.model.plan import Cause, Slot, Snapshot, WaitingReason
from training_controllers.model.records import ContainerState, PodRecord
from training_controllers.observe import restarts

NOT_SCHEDULED: Final = frozenset({"Unschedulable", "SchedulingGated", "SchedulerError"})
NO_IMAGE: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
NOT_STARTED: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
"""Reasons of the kubelet for containers whose template keeps them from starting: a missing Secret, for example."""
CRASHED: Final = frozenset({"CrashLoopBackOff"})
OVERDUE_AFTER: Final = timedelta(seconds=10)
"""So long after its grace period the deletion of a pod is overdue."""

Words = Callable[[Slot, PodRecord], str]
"""Why a pod waits; empty if it does not, for this reason."""


def pod_causes(state: JobState) -> Iterator[Cause]:
    """Every reason for which the pods of the job wait."""
    snapshot = state.snapshot
    reasons: tuple[tuple[WaitingReason, Words], ...] = (
        (WaitingReason.TERMINATING, partial(_deletion_overdue, snapshot)),
        (WaitingReason.UNSCHEDULABLE, _unscheduled),
        (WaitingReason.IMAGE_PULL, partial(_waits, NO_IMAGE, "its image cannot be pulled")),
        (WaitingReason.INVALID_TEMPLATE, partial(_waits, NOT_STARTED, "it cannot be started")),
        (WaitingReason.CRASH_LOOP, partial(_backs_off, snapshot)),
    )
    notable = state.assignment.notable.items()
    for reason, words in reasons:
        found = {slot: text for slot, pod in notable if (text := words(slot, pod))}
        if found:
            others = f"; {len(found) - 1} more pod(s) wait for the same reason" if len(found) > 1 else ""
            yield reason, found[min(found)] + others


def deletion_overdue_at(pod: PodRecord) -> datetime | None:
    """When the deletion of a terminating pod becomes overdue; None for at once."""
    return pod.stops_by + OVERDUE_AFTER if pod.stops_by is not None else None


def _deletion_overdue(snapshot: Snapshot, _slot: Slot, pod: PodRecord) -> str:
    moment = deletion_overdue_at(pod)
    if not pod.deleting or (moment is not None and moment > snapshot.now):
        return ""
    return f"pod {pod.name} was deleted but still exists: a finalizer or a lost node may block its deletion"


def _unscheduled(_slot: Slot, pod: PodRecord) -> str:
    if pod.deleting or pod.phase != "Pending" or pod.condition_reason not in NOT_SCHEDULED:
        return ""
    return f"pod {pod.name} cannot be scheduled: {pod.condition_message or pod.condition_reason}"


def _waits(kubelet_reasons: frozenset[str], what: str, _slot: Slot, pod: PodRecord) -> str:
    container = _waiting_container(pod, kubelet_reasons)
    if container is None:
        return ""
    details = ": ".join(part for part in (container.reason, container.message) if part)
    return f"pod {pod.name}, container {container.name}: {what}: {details}"


def _backs_off(snapshot: Snapshot, slot: Slot, pod: PodRecord) -> str:
    """Its container or its replacement waits for a back-off (K-57)."""
    container = _waiting_container(pod, CRASHED)
    if container is not None:
        return f"pod {pod.name}, container {container.name} keeps failing: {container.message}"
    if not restarts.will_be_replaced(snapshot, slot, pod):
        return ""
    moment = restarts.replaced_at(snapshot, slot, pod)
    if moment is None or moment <= snapshot.now:
        return ""
    return f"{first_failure([pod])}; it is replaced at {moment:%H:%M:%S} UTC"


def _waiting_container(pod: PodRecord, kubelet_reasons: frozenset[str]) -> ContainerState | None:
    if pod.deleting:
        return None
    return next((each for each in pod.containers if each.waiting and each.reason in kubelet_reasons), None)
