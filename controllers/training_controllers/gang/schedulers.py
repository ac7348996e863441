"""The gang schedulers, each as a declaration: what its PodGroups say, what it reads on pods, when pods may come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import GANG_SCHEDULING_ANNOTATION
from training_api.kinds import Job
from training_api.models.common import SchedulingPolicy
from training_controllers.model.owned_objects import COSCHEDULING_POD_GROUP, POD_GROUP, OwnedKind
from training_controllers.model.plan import Slot

OFF: Final = ("", "none")
"""Values of the flag that ask for no gang scheduler; v1 takes the second one for a scheduler that it then ignores."""
WITHOUT_POD_GROUPS: Final = ("default-scheduler", "kai-scheduler", "yunikorn")
"""Schedulers that read no PodGroup of ours: they are named in the pods, the rest is in the user's templates."""
NOT_ADMITTED: Final = ("", "Pending")
"""Phases in which Volcano has not let the gang into its queue yet."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a PodGroup requests."""

    members: int
    """How many pods must be placeable before any of them starts."""
    resources: Mapping[str, str]
    """What these pods request together."""
    policy: SchedulingPolicy
    """The settings of the user for the gang."""
    queue: str = ""
    """The queue that the PodGroup is in already."""


@dataclass(frozen=True, slots=True)
class GangScheduler:
    """One scheduler: its name on pods, and what its PodGroups look like if it has any."""

    name: str
    pod_group: OwnedKind | None = None
    spec: Callable[[Demand], Mapping[str, Any]] = lambda demand: {}
    """The fields of the PodGroup that are ours; None for one that must not be there."""
    admits: Callable[[str], bool] = lambda phase: True
    """Whether pods may be created while the PodGroup is in this phase."""
    labels: Callable[[Job, Slot], Mapping[str, str]] = lambda job, slot: {}
    """Labels of the pod in a slot."""
    annotations: Callable[[Job, Slot], Mapping[str, str]] = lambda job, slot: {}
    """Annotations of the pod in a slot."""


def gang_scheduler(flag: str) -> GangScheduler | None:
    """The scheduler of `--gang-scheduler-name`, None for none (K-49)."""
    if flag.lower() in OFF:
        return None
    if flag.lower() == VOLCANO.name:
        return VOLCANO
    if flag in WITHOUT_POD_GROUPS:
        return GangScheduler(flag)
    return GangScheduler(flag, COSCHEDULING_POD_GROUP, spec=_coscheduling_spec, labels=_coscheduling_labels)


def gang_of(job: Job, scheduler: GangScheduler | None) -> GangScheduler | None:
    """The scheduler that places this job; None if there is none, or the job opts out (K-50)."""
    return None if job.metadata.annotations.get(GANG_SCHEDULING_ANNOTATION) == "false" else scheduler


def _volcano_spec(demand: Demand) -> Mapping[str, Any]:
    """The timeout has no place here (E-123). A queue once given stays, be it by the user or by an admission webhook."""
    return {
        "minMember": max(demand.members, 0),
        "queue": demand.queue or demand.policy.queue or "default",
        "priorityClassName": demand.policy.priority_class or None,
        "minResources": demand.resources,
    }


def _volcano_annotations(job: Job, slot: Slot) -> Mapping[str, str]:
    return {
        "scheduling.k8s.io/group-name": job.metadata.name,
        "volcano.sh/task-spec": slot.replica_type.lower(),
    }


def _coscheduling_spec(demand: Demand) -> Mapping[str, Any]:
    """Queue and priority class have no place here (E-123); fewer than one member is none that the API takes."""
    return {
        "minMember": max(demand.members, 1),
        "minResources": demand.resources,
        "scheduleTimeoutSeconds": demand.policy.schedule_timeout_seconds,
    }


def _coscheduling_labels(job: Job, _slot: Slot) -> Mapping[str, str]:
    return {"scheduling.x-k8s.io/pod-group": job.metadata.name}


VOLCANO: Final = GangScheduler(
    "volcano",
    POD_GROUP,
    spec=_volcano_spec,
    admits=lambda phase: phase not in NOT_ADMITTED,
    annotations=_volcano_annotations,
)
