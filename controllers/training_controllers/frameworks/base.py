"""`Framework`: everything in which one job kind differs from the others, as declarations and small pure functions."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final

from training_api.constants import MAX_REPLICAS
from training_api.kinds import BadDeclaration, Job, KindInfo
from training_api.models.common import ConditionType, ReplicaStatus
from training_api.printable import legible
from training_api.problems import Problem
from training_controllers.gang.schedulers import GangScheduler
from training_controllers.model.annotations import JobAnnotation
from training_controllers.model.owned_objects import OwnedKind, OwnedObject, PolicyRule
from training_controllers.model.plan import JobEvent, Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec
from training_controllers.model.records import PodRecord

MIGRATION: Final = re.compile(r"[\w.]+:\w+")
LONGEST_ERROR: Final = 300
"""Characters of an exception of another package."""

ReplicaStatuses = Mapping[str, ReplicaStatus]
"""The counted replicas by type, in processing order."""


@dataclass(frozen=True, slots=True)
class ConditionUpdate:
    """A condition that follows from the counted replicas, and why."""

    condition: ConditionType
    message: str
    replica_type: str = ""
    """The type whose replicas failed, if that is the reason."""
    word: str = ""
    """What follows the kind in the condition's reason, where that is not the condition's type."""


PodsBySlot = Mapping[Slot, PodRecord]
"""The pods of a job by slot."""


def no_owned_objects(_job: Job, _pods_by_slot: PodsBySlot) -> Sequence[OwnedObject]:
    """Of a kind whose jobs have pods and services only."""
    return ()


def no_events(_job: Job, _pods_by_slot: PodsBySlot) -> Sequence[JobEvent]:
    """Of a kind that has no events of its own."""
    return ()


def no_problems(_job: Job) -> Iterable[Problem]:
    """Of a kind whose pods get nothing that grows with the number of replicas."""
    return ()


def never(_job: Job, _slot: Slot) -> bool:
    """Of a kind whose replicas do not wait for one another."""
    return False


def all_replicas(job: Job, replica_type: str) -> int:
    """Of a kind whose jobs need all their replicas."""
    return job.count(replica_type)


def pod_created(_slot: Slot, name: str) -> tuple[str, str]:
    """Reason and message of the event for a new pod."""
    return "SuccessfulCreatePod", f"Created pod: {name}"


@dataclass(frozen=True, slots=True)
class Sample:
    """A job whose variables the documentation shows, and the replicas of which they are."""

    title: str
    replicas: Mapping[str, int]
    shown: Sequence[Slot]
    spec: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the spec."""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Framework:
    """The declaration of one job kind for the engine; raises `BadDeclaration` as `KindInfo` does."""

    info: KindInfo
    evaluate: Callable[[Job, ReplicaStatuses], Sequence[ConditionUpdate]]
    """The conditions that follow from the counters. They apply in their order; one that ends the job is the last."""
    configure_pod: Callable[[Job, Slot, PodSpec], PodSpec]
    """The pod spec of a replica with the framework's environment added; raises `CannotBuild`."""
    is_master: Callable[[Job, Slot], bool]
    """Whether the pod in this slot gets the label `job-role: master`."""
    problems: Callable[[Job], Iterable[Problem]] = no_problems
    """Why a job that is valid cannot run: what its replicas would be given is too large."""
    publish_when_ready: Callable[[Job, Slot], bool] = never
    """Whether other replicas wait for this one to be ready, so that its service must not publish it earlier."""
    owned_kinds: Sequence[OwnedKind] = ()
    """The kinds of objects next to pods and services that jobs of this kind may own."""
    permissions: Sequence[PolicyRule] = ()
    """Further RBAC rules of the operator: it cannot grant to pods what it does not have itself."""
    owned_objects: Callable[[Job, PodsBySlot], Sequence[OwnedObject]] = no_owned_objects
    """Those that the job should have while it is active, in the order of their creation."""
    events: Callable[[Job, PodsBySlot], Sequence[JobEvent]] = no_events
    """Events about the pods of an active job, next to those of all kinds."""
    pod_created: Callable[[Slot, str], tuple[str, str]] = pod_created
    """Reason and message of the event for the new pod in a slot, by its name."""
    emits_exit_events: bool = True
    """Whether an event reports the exit code of every pod that has ended."""
    auxiliary_types: frozenset[str] = frozenset()
    """Auxiliary types serve the others: no other pod is created while one of theirs is missing, and they are not
    counted any more once the job has succeeded."""
    annotations: Sequence[JobAnnotation] = ()
    """The annotations by which jobs of this kind ask for what v1 does not have."""
    gang: GangScheduler | None = None
    """The scheduler that places the pods of a job together, if any; the same for all kinds."""
    max_replicas: int = MAX_REPLICAS
    """Most replicas of one type; the same for all kinds."""
    min_replicas: Callable[[Job, str], int] = all_replicas
    """How many replicas of a type a job needs to begin."""
    scheduler_event_reason: str = "SetPodTemplateSchedulerName"
    """Reason of the warning that a pod template names another scheduler than that of gangs."""
    restart_policy_event_reason: str = "SetPodTemplateRestartPolicy"
    """Reason of the warning that a pod template's restart policy has no effect."""
    job_deleted_reason: str = "SuccessfulDeleteJob"
    """Reason of the event `Deleted job: NAME` when a job is deleted after `ttlSecondsAfterFinished`."""
    job_delete_failed_reason: str = "FailedDeleteJob"
    """Reason of the event `Error deleting: ERROR` when that fails."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What each variable is that `configure_pod` adds, for the documentation."""
    samples: Sequence[Sample] = ()
    """Jobs whose variables the documentation shows; if there are none, one with a replica of each type."""
    migration: str = ""
    """Where `training-operator migrate` finds how jobs of this kind move to Trainer v2, as `module:name` of a function
    from a `training_migration.convert.context.Context` to a `Plan`. Nothing else imports it. Empty: not converted."""

    def __post_init__(self) -> None:
        kind, types = self.info.kind, ", ".join(self.info.replica_types)
        for name in self.auxiliary_types.difference(self.info.replica_types):
            raise BadDeclaration(f"{kind}: auxiliary_types {name!r} must be one of replica_types, {types}")
        if self.migration and not MIGRATION.fullmatch(self.migration):
            raise BadDeclaration(f"{kind}: migration {self.migration!r} must be MODULE:NAME")

    def pod_spec(self, job: Job, slot: Slot) -> PodSpec:
        """What `configure_pod` makes of the template; raises `CannotBuild`, also where another package's code fails."""
        try:
            return self.configure_pod(job, slot, job.replicas[slot.replica_type].template.get("spec") or {})
        except CannotBuild:
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{PurePath(last.filename).name}:{last.lineno}"
            why = legible(f"{type(error).__name__}: {error}", LONGEST_ERROR)  # it may quote the job
            raise CannotBuild(
                f"configure_pod of the framework for {self.info.kind} failed with {why} ({place})"
            ) from error
