"""What the process remembers of a job beyond what is stored; losing it costs precision, never correctness."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from training_api.kinds import Job
from training_api.models.common import JobStatus, Waiting
from training_controllers.decide.measures import JobPhase
from training_controllers.decide.template_changes import TemplateFingerprints
from training_controllers.model.plan import Cause, RestartHistory, Slot, WaitingReason
from training_controllers.model.records import JobRecord
from training_controllers.reconcile.status_throttle import StatusThrottle

FIRST_RETRY: Final = 1.0
LONGEST_RETRY: Final = 300.0
NAME_TAKEN_RETRY: Final = 60.0
"""Seconds until a name that another client has is tried again."""
MAX_EVENT_KEYS: Final = 5000
"""Event keys kept per job; beyond, the oldest may be emitted again."""


OF_CREATION: Final = frozenset(
    {WaitingReason.INVALID_TEMPLATE, WaitingReason.NAME_TAKEN, WaitingReason.QUOTA, WaitingReason.CREATE_FAILED}
)
"""Reasons to wait that only trying to create something shows."""


@dataclass(slots=True)
class Retry:
    """When requests that failed are sent again: 1 s, 2 s, 4 s ... 5 min after, or as the header Retry-After has it."""

    due: float
    failures: int = 0

    def failed(self, now: float, retry_after: float) -> None:
        """Note one more failure at `now`; times are those of the event loop, in seconds."""
        delay = min(FIRST_RETRY * 2 ** min(self.failures, 20), LONGEST_RETRY)
        self.due = now + max(delay, retry_after)
        self.failures += 1


@dataclass(slots=True)
class JobMemory:
    """The memory of one job, from its first reconcile until it no longer exists.

    There are thousands, mostly empty: frozen sets and tuples share their default, an empty set takes 216 bytes.
    """

    uid: str
    history: dict[Slot, RestartHistory] = field(default_factory=dict)
    """Restart histories for the next pods of slots whose pods were deleted (K-03)."""
    emitted: dict[str, None] = field(default_factory=dict)
    """Keys of events that have been emitted, the oldest first."""
    reported_errors: dict[str, str] = field(default_factory=dict)
    """What fails at present, with the type of its error: emitted when it begins, not on every retry."""
    retries: dict[str, Retry] = field(default_factory=dict)
    """The back-off of failed requests, by what they do."""
    names_taken: dict[tuple[str, str], float] = field(default_factory=dict)
    """Kind and name of objects whose names others have, and when to try again."""
    owned_errors: dict[str, Cause] = field(default_factory=dict)
    """Why owned objects that pods wait for could not be created, by kind."""
    create_errors: dict[tuple[str, str], Cause] = field(default_factory=dict)
    """Why pods and services could not be created at the last attempt, by kind and replica type or name."""
    accepted: frozenset[str] = frozenset()
    """Creations (as `creator` calls them) that went well the last time: the next ones need no slow start."""
    throttle: StatusThrottle = field(default_factory=StatusThrottle)
    created_unwatched: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of existing objects of kinds that are not watched: no cache shows them."""
    _due: tuple[str, ...] = ()
    """What was due when this reconcile began, and has not been tried yet."""
    lost_nodes: dict[str, datetime] = field(default_factory=dict)
    """Nodes of the job's pods that are missing or not ready, and since when."""
    templates: TemplateFingerprints | None = None
    generation: int = 0
    status: JobStatus | None = None
    """The last status written, if the CRD cannot store all of it."""
    phase: JobPhase = field(default_factory=JobPhase)
    """The phase of the job at the last reconcile."""

    def first_time(self, key: str) -> bool:
        """Whether the event with this key has not been emitted yet; afterwards it has."""
        if key in self.emitted:
            return False
        self.emitted[key] = None
        if len(self.emitted) > MAX_EVENT_KEYS:
            del self.emitted[next(iter(self.emitted))]
        return True

    def begin(self, generation: int, now: float, waiting: Waiting | None = None) -> None:
        """Begin a reconcile of the job, with the `status.waiting` that is stored.

        A changed spec may fix what failed, so it is tried at once.
        """
        if self.generation == 0 and waiting is not None and waiting.reason in OF_CREATION:
            # What an earlier process has found holds until this one has tried.
            self.create_errors[("", "")] = (waiting.reason, waiting.message)
        if generation != self.generation:
            self.generation = generation
            self.retries.clear()
            self.names_taken.clear()
        self.names_taken = {key: moment for key, moment in self.names_taken.items() if moment > now}
        self._due = tuple(what for what, retry in self.retries.items() if retry.due <= now)

    def may_try(self, what: str, now: float) -> bool:
        """Whether these requests may be sent, because the last ones went well or their back-off is over."""
        retry = self.retries.get(what)
        return retry is None or retry.due <= now

    def tried(self, what: str, now: float, failures: Failures) -> None:
        """Note how these requests went."""
        self._due = tuple(each for each in self._due if each != what)
        if failures.failed:
            self.retries.setdefault(what, Retry(now)).failed(now, failures.retry_after)
        else:
            self.retries.pop(what, None)

    def wait(self, now: float) -> float | None:
        """End a reconcile: seconds until something is to be tried again; None if nothing is.

        What was due and has not been tried is not wanted any more, and must not cause one reconcile after the other.
        """
        for what in self._due:
            del self.retries[what]
        self._due = ()
        moments = [*(retry.due for retry in self.retries.values()), *self.names_taken.values()]
        return max(min(moments) - now, 0.0) if moments else None


@dataclass(slots=True)
class Failures:
    """Whether any of several requests failed, and the longest Retry-After."""

    failed: bool = False
    retry_after: float = 0.0

    def fail(self, error: Exception | None = None) -> None:
        """Note a failure."""
        self.failed = True
        self.retry_after = max(self.retry_after, getattr(error, "retry_after", None) or 0.0)

    def add(self, other: Failures) -> None:
        """Add the failures of other requests."""
        self.failed |= other.failed
        self.retry_after = max(self.retry_after, other.retry_after)


@dataclass(frozen=True, slots=True)
class JobContext:
    """The job that is being reconciled: as cached, as decoded with defaults, and what is remembered of it."""

    record: JobRecord
    job: Job
    memory: JobMemory

    @property
    def uid(self) -> str:
        """The job's uid; requests made for the job are one flow under it."""
        return self.record.uid
