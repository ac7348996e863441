"""Events on a job about its pods, each of them once (K-39)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from training_api.kinds import Job
from training_controllers.frameworks.base import Framework
from training_controllers.gang.schedulers import gang_of
from training_controllers.model.plan import EventType, JobEvent
from training_controllers.model.records import ContainerState, PodRecord
from training_controllers.observe.pod_failures import (
    FailureAction,
    exit_code,
    failure_action,
    how,
    is_active,
    is_disrupted,
)
from training_controllers.observe.slots import SlotAssignment

PLACED_WITHIN: Final = timedelta(seconds=10)
"""How long a new pod may be pending before there is an event about it."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


def exits(pods: Iterable[PodRecord], container: str) -> Iterator[JobEvent]:
    """One event for each pod whose main container has ended; those that have succeeded may share one."""
    for pod in pods:
        code = exit_code(pod, container)
        if code is not None:
            restarts = next(c.restarts for c in pod.containers if c.name == container and not c.init)
            yield JobEvent(
                EventType.NORMAL,
                "ExitedWithCode",
                f"Pod: {pod.namespace}.{pod.name} exited with code {code}",
                once=f"exit/{pod.uid}/{restarts}",
                about="" if code else f"{pod.namespace}.{pod.name}",
            )


def abnormal_states(pods: Iterable[PodRecord], now: datetime) -> Iterator[JobEvent]:
    """One event for each container of an active pod that failed or cannot start, or for the pod without a place."""
    for pod in pods:
        if not is_active(pod):
            continue
        # Like v1: init containers only matter while the regular ones have no status.
        regular = [c for c in pod.containers if not c.init]
        for container in regular or pod.containers:
            message = _abnormality(container)
            if message:
                yield _warning(
                    pod,
                    container.reason,
                    f"container {container.name} {message}",
                    key=f"{container.name}/{container.restarts}",
                )
        if (moment := unplaced_at(pod)) is not None and moment <= now:
            yield _warning(pod, pod.condition_reason, f"condition message: {pod.condition_message}", key="condition")


def unplaced_at(pod: PodRecord) -> datetime | None:
    """When the event about an unscheduled pod is due. All but the last pods of a gang wait shortly."""
    if not is_active(pod) or pod.containers or not pod.condition_reason:
        return None
    return (pod.created or _LONG_AGO) + PLACED_WITHIN


def template_warnings(job: Job, framework: Framework, replica_type: str) -> Iterator[JobEvent]:
    """Warnings about fields of the pod template that have no effect on new pods of a type."""
    if (job.replicas[replica_type].template.get("spec") or {}).get("restartPolicy"):
        yield JobEvent(
            EventType.WARNING,
            framework.restart_policy_event_reason,
            "Restart policy in pod template will be overwritten by restart policy in replica spec",
            once=f"template-restart-policy/{replica_type}",
        )
    yield from foreign_schedulers(job, framework)


def foreign_schedulers(job: Job, framework: Framework) -> Iterator[JobEvent]:
    """The warning that a template names another scheduler than that of gangs, if one does (E-130)."""
    gang = gang_of(job, framework.gang)
    named = {(spec.template.get("spec") or {}).get("schedulerName") for spec in job.replicas.values()}
    if gang is not None and named - {None, "", gang.name}:
        text = "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"
        yield JobEvent(EventType.WARNING, framework.scheduler_event_reason, text, once="template-scheduler")


def _abnormality(container: ContainerState) -> str:
    if container.exit_code:
        return f"exitCode: {container.exit_code} terminated message: {container.message}"
    if container.waiting and container.message:
        return f"waiting message: {container.message}"
    return ""


def _warning(pod: PodRecord, reason: str, what: str, *, key: str) -> JobEvent:
    return JobEvent(EventType.WARNING, reason, f"Error pod {pod.name} {what}", once=f"state/{pod.uid}/{key}/{reason}")


def kept_pods(number: int, what: str) -> Iterator[JobEvent]:
    """The warning that so many pods of a job that ends continue, because its policy keeps them (K-18)."""
    if number:
        text = f"{number} pod(s) of the {what} and hold their resources because cleanPodPolicy is None"
        yield JobEvent(EventType.WARNING, "PodsKeptRunning", text)


def disruptions(job: Job, assignment: SlotAssignment) -> Iterator[JobEvent]:
    """One warning for each disrupted pod, with what happens to its replica."""
    for slot, pod in assignment.notable.items():
        if is_disrupted(pod):
            text = f"pod {pod.name} was disrupted ({how(pod)}): {_CONSEQUENCES[failure_action(job, slot, pod)]}"
            yield JobEvent(EventType.WARNING, "PodDisrupted", text, once=f"disrupted/{pod.uid}")


_CONSEQUENCES: Final = {
    FailureAction.REPLACE: "it is replaced; this does not count as a restart",
    FailureAction.RESTART: "it is replaced; this counts as a restart",
    FailureAction.FAIL: "its replica has failed permanently",
}
