"""The input and the output of a decision. Both are plain immutable data; time and memory are part of the input."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from training_api.kinds import Job
from training_api.models.common import JobStatus
from training_api.printable import legible
from training_controllers.model.owned_objects import OwnedObject
from training_controllers.model.records import OwnedRecord, PodRecord, ServiceRecord


class Slot(msgspec.Struct, gc=False, frozen=True, order=True):
    """The place of one replica in its job: canonical replica type and index from 0."""

    replica_type: str
    index: int


class WaitingReason(StrEnum):
    """Why a job makes no progress. Of several reasons the status gives the first: what needs a person comes before
    what passes, and what keeps pods from existing before what keeps them from running."""

    API_MISSING = "ApiMissing"
    INVALID_TEMPLATE = "InvalidTemplate"
    NAME_TAKEN = "NameTaken"
    SECRET_MISSING = "SecretMissing"
    QUOTA = "Quota"
    CREATE_FAILED = "CreateFailed"
    TERMINATING = "Terminating"
    GANG_PENDING = "GangPending"
    UNSCHEDULABLE = "Unschedulable"
    IMAGE_PULL = "ImagePull"
    CRASH_LOOP = "CrashLoop"


LONGEST_REASON: Final = 128
"""Characters that Kubernetes allows to the reason of an event."""
Cause = tuple[str, str]
"""Why a job makes no progress: one of the reasons, and one sentence."""


@dataclass(frozen=True, slots=True)
class RestartHistory:
    """Restarts of a slot, and its back-off, before the present pod (K-03)."""

    restarts: int = 0
    backoff_level: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that a decision may depend on."""

    job: Job
    """The job with defaults applied."""
    pods: Sequence[PodRecord]
    """Pods controlled by the job's uid, terminating ones included."""
    services: Sequence[ServiceRecord]
    """Services controlled by the job's uid."""
    now: datetime
    owned_objects: Sequence[OwnedRecord] = ()
    """Other objects controlled by the job's uid: its autoscaler, for example."""
    owned_errors: Mapping[str, Cause] = field(default_factory=dict)
    """Why owned objects that pods wait for could not be created, by kind."""
    create_errors: Mapping[tuple[str, str], Cause] = field(default_factory=dict)
    """Why pods and services could not be created at the last attempt, by kind and replica type or name."""
    absent_kinds: frozenset[str] = frozenset()
    """Kinds of owned objects that the API server does not have."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of the priority classes by name; that of pods without a class under the empty name."""
    history: Mapping[Slot, RestartHistory] = field(default_factory=dict)
    """What the process remembers of pods that it deleted to replace them; empty after a restart of the process."""
    lost_nodes: Mapping[str, datetime] = field(default_factory=dict)
    """Nodes that are missing or not ready, and when their pods count as lost; empty unless nodes are watched."""
    changed_templates: Collection[str] | None = ()
    """Types whose pod templates have changed since the last reconcile; None if the spec has changed while no operator
    ran, so that the types are unknown."""


class EventType(StrEnum):
    """The two types of events that Kubernetes has."""

    NORMAL = "Normal"
    WARNING = "Warning"


class JobEvent(msgspec.Struct, frozen=True):
    """An event to be attached to the job; its texts are legible, whatever they quote."""

    type: EventType
    reason: str
    message: str
    once: str | None = None
    """A key for dedup: emitted once per job and key (K-39)."""
    about: str = ""
    """The object in the message, where events about several objects that differ only in the object may be one."""

    def __post_init__(self) -> None:
        texts = {"reason": legible(self.reason, LONGEST_REASON), "message": legible(self.message)}
        if self.once is not None:
            texts["once"] = legible(self.once)
        for name, text in texts.items():
            if text is not getattr(self, name):  # seldom: nearly all texts are legible as they are
                msgspec.structs.force_setattr(self, name, text)


class Counter(StrEnum):
    """The job counters of v1's metrics; each counts one stored transition (K-27)."""

    CREATED = "created"
    DELETED = "deleted"
    SUCCESSFUL = "successful"
    FAILED = "failed"
    RESTARTED = "restarted"


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to be created in an empty slot."""

    slot: Slot
    history: RestartHistory = RestartHistory()
    attempt: int | None = None
    """The attempt that it belongs to; None for a job whose replicas restart one by one."""
    events: tuple[JobEvent, ...] = ()
    """Emitted when it is created, whether the status is stored before or after."""


@dataclass(frozen=True, slots=True)
class PodDeletion:
    """A pod to be deleted, and the restart history for the next pod of its slot, now or after scale-up or resume."""

    pod: PodRecord
    slot: Slot | None = None
    history: RestartHistory | None = None
    force: bool = False
    """Whether to delete without grace period, because its node is lost."""


class OwnedVerb(StrEnum):
    """What to do with an owned object."""

    CREATE = "create"
    REPLACE = "replace"
    PATCH = "patch"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class OwnedChange:
    """A change of an owned object: the wanted one, if any, and the present one, if any."""

    verb: OwnedVerb
    kind: str
    name: str
    wanted: OwnedObject | None = None
    record: OwnedRecord | None = None
    patch: Mapping[str, Any] = field(default_factory=dict)
    """What differs, as a merge patch, where that is all that may be sent."""
    events: tuple[JobEvent, ...] = ()
    """Emitted once it is done."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All effects of a decision, in the order of the fields.

    The status comes first: a crash after any of the later effects finds a status that already accounts for them,
    so nothing is counted twice and a terminal state is never lost (K-03, K-17). For new jobs (`decide.new_job`) the
    status, its events and its counters follow with the next reconcile, which decides on them again.
    """

    policy: str = field(default="", compare=False)
    """Name of the policy that made the plan, for the log."""
    status: JobStatus | None = None
    """The complete new status, or None to leave it as it is."""
    events: tuple[JobEvent, ...] = ()
    """Emitted once the status is stored."""
    counters: tuple[Counter, ...] = ()
    """Counted once the status is stored."""
    owned_changes: tuple[OwnedChange, ...] = ()
    delete_pods: tuple[PodDeletion, ...] = ()
    delete_services: tuple[ServiceRecord, ...] = ()
    create_services: tuple[Slot, ...] = ()
    create_pods: tuple[NewPod, ...] = ()
    delete_job: bool = False
    requeue_after: float | None = None
    """Seconds until the job is reconciled again even if nothing changes: its nearest deadline (K-02)."""
