"""What `reconcile` needs of the cluster and the process, as protocols; the operator's adapters implement them.

Reads come from caches and never wait. Every write hands its answer to the cache before it returns, so that the next
reconcile sees it. Writes raise `ApiError` if the API server rejects them, and `OSError` (of which `TimeoutError` is
one) if there was no answer: then the write may have been done or not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from training_controllers.decide.measures import Measures
from training_controllers.model.owned_objects import RandomBytes
from training_controllers.model.plan import Counter, JobEvent
from training_controllers.model.records import JobRecord, OwnedRecord, PodRecord, ServiceRecord

T = TypeVar("T")
JobKey = tuple[str, str]
"""Namespace and name of a job; the kind is that of the controller."""


class ApiError(Exception):
    """The API server rejected a request; the text is the server's own message."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        """Seconds of the header Retry-After, if the response had it."""


class NotFound(ApiError):
    """There is no such object, or no such resource."""

    def __init__(self, message: str, *, retry_after: float | None = None, name: str = "") -> None:
        super().__init__(message, retry_after=retry_after)
        self.name = name
        """The object that there is not, as the server names it; empty where it does not have the resource."""


class AlreadyExists(ApiError):
    """An object of this name exists already."""


class Conflict(ApiError):
    """The object is not the one, or not the version, that the request presupposed."""


class Invalid(ApiError):
    """The request or its object breaks a rule (400, 413, 415, 422): sending it again does not help."""


class Forbidden(ApiError):
    """A permission is missing, or a policy of the cluster forbids the object (403); the text names it."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one reconcile. Errors are raised instead: then the key is retried with its back-off."""

    requeue_after: float | None = None
    """Seconds until the next reconcile even if nothing changes; None for none."""


class ObjectCounter(StrEnum):
    """v1's counters of objects, by their metric names (K-25)."""

    PODS_CREATED = "created_pods_total"
    PODS_DELETED = "deleted_pods_total"
    PODS_FAILED = "failed_pods_total"
    SERVICES_CREATED = "succeeded_service_creation_total"
    SERVICES_FAILED = "failed_service_creation_total"
    POD_GROUPS_CREATED = "created_pod_groups_total"
    POD_GROUPS_DELETED = "deleted_pod_groups_total"


class Jobs(Protocol):
    """The jobs of one kind."""

    def get(self, key: JobKey) -> JobRecord | None:
        """The cached job."""
        ...

    async def patch_status(self, job: JobRecord, status: Mapping[str, Any]) -> JobRecord:
        """Send `status` as a merge patch of the status, on condition that `job.version` is still stored.

        Returns what is stored now. Raises `Conflict` for another version, `NotFound` for a job that no longer exists.
        Statuses go before all other requests, those with which jobs end first.
        """
        ...

    async def delete(self, job: JobRecord) -> None:
        """Delete the job with background propagation, on condition that its uid is still `job.uid`."""
        ...


R = TypeVar("R", PodRecord, ServiceRecord, OwnedRecord)


class Dependents(Protocol[R]):
    """The objects of one kind that jobs own. `flow` is the uid of the job for which something is sent."""

    @property
    def absent(self) -> bool:
        """Whether the API server does not have this resource at all."""
        ...

    def of_job(self, namespace: str, uid: str) -> Sequence[R]:
        """The cached objects of a namespace whose controller is the job with this uid."""
        ...

    async def read(self, namespace: str, name: str, *, flow: str) -> R | None:
        """The object as the API server has it now, whatever its labels; None if there is none."""
        ...

    async def create(self, namespace: str, body: Mapping[str, Any], *, flow: str) -> R:
        """Create the object. Raises `AlreadyExists` where the name is taken, whoever took it."""
        ...

    async def replace(self, record: R, body: Mapping[str, Any], *, flow: str) -> R:
        """Replace the object, on condition that it still is `record` in uid and version."""
        ...

    async def patch(self, record: R, patch: Mapping[str, Any], *, flow: str) -> R:
        """Send a merge patch of the object, on condition that it still is `record` in uid and version."""
        ...

    async def delete(self, record: R, *, flow: str, force: bool = False, cleanup: bool = False) -> None:
        """Delete the object, on condition that its uid is still `record.uid` (`Conflict` if not).

        By `force` it has no grace period, and the API server does not wait for its node. A `cleanup` can wait.
        """
        ...

    async def delete_together(self, records: Sequence[R], *, flow: str) -> bool:
        """Delete all these objects of one job by one request, if that deletes nothing else; whether it was sent."""
        ...


class Events(Protocol):
    """Emits events on jobs of one kind; never waits, never fails."""

    def record(self, job: JobRecord, event: JobEvent) -> None:
        """Attach `event` to `job`."""
        ...


class Counters(Protocol):
    """The counters of one kind."""

    def count_job(self, counter: Counter, namespace: str) -> None:
        """Count one job's transition."""
        ...

    def measure(self, measures: Measures, namespace: str) -> None:
        """Record the measures of one stored status."""
        ...

    def count_object(self, counter: ObjectCounter) -> None:
        """Count one object."""
        ...


class Nodes(Protocol):
    """The nodes of the cluster, for operators that delete pods on lost ones by force."""

    @property
    def lost_after(self) -> timedelta:
        """For how long a node has to be lost until its pods count as lost."""
        ...

    def lost(self, names: Collection[str]) -> Mapping[str, datetime | None]:
        """Of these nodes those that are not ready, since when, or gone (None); none while that is not known."""
        ...


class Compute(Protocol):
    """Where long computations are done."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what `work` returns; meanwhile everything else may continue."""
        ...


async def compute_here(work: Callable[[], T]) -> T:
    """Compute in the event loop, which waits."""
    return work()


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything outside the engine that the controller of one kind works with."""

    jobs: Jobs
    pods: Dependents[PodRecord]
    services: Dependents[ServiceRecord]
    owned: Mapping[str, Dependents[OwnedRecord]]
    """By kind: those that the framework of this controller declares."""
    events: Events
    counters: Counters
    now: Callable[[], datetime]
    """Wall clock, in UTC: for what is stored."""
    random_bytes: RandomBytes
    """The source of keys."""
    monotonic: Callable[[], float]
    """Clock of the event loop, in seconds: for how long to wait."""
    priorities: Callable[[], Mapping[str, int]] = dict
    """Values of the priority classes by name, as far as they are known; the default one's under the empty name, too."""
    nodes: Nodes | None = None
    """None unless the operator watches nodes."""
    compute: Compute = compute_here
    """For decisions on jobs with many pods."""
    others_wait: Callable[[], bool] = lambda: False
    """Whether jobs wait for a worker."""
    pruned: Callable[[], None] = lambda: None
    """Called once if the stored CRD of the kind prunes what v1's status does not have."""
