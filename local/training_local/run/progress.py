"""What is shown of a job and its replicas at one moment, read from the stored objects; no effects."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from training_api.constants import (
    JOB_NAME_LABEL,
    MANAGED_BY_US,
    OPERATOR_NAME_LABEL,
    REPLICA_INDEX_LABEL,
    REPLICA_TYPE_LABEL,
    RESTARTS_ANNOTATION,
)
from training_api.kinds import KindInfo
from training_local.run.endings import Ending, container_ends, moment

RANK_VARIABLES: Final = ("PET_NODE_RANK", "RANK", "PROCESS_ID")
"""Variables in which the frameworks give a replica its rank among the nodes of the job, in order of preference."""

TERMINAL: Final = ("Succeeded", "Failed")

HARMLESS_REASONS: Final = ("", "ContainerCreating", "PodInitializing")
"""What a container waits for in the ordinary course of things."""

CRASH_LOOP: Final = "CrashLoopBackOff"
_BACK_OFF_SECONDS: Final = re.compile(r"back-off (?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)? ")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why something does not run: one word and a sentence, as the API has them."""

    reason: str
    message: str = ""

    @property
    def harmless(self) -> bool:
        """Whether waiting for this is the ordinary course of things."""
        return self.reason in HARMLESS_REASONS

    def __str__(self) -> str:
        return ": ".join(part for part in (self.reason, self.message) if part)


@dataclass(frozen=True, slots=True)
class Replica:
    """One replica as its pod shows it."""

    pod: str
    replica_type: str
    """In lower case, as in the pod's label; empty for a pod of no job."""
    index: int
    phase: str
    """The pod's phase, or `Terminating`."""
    rank: str = "-"
    restarts: int = 0
    """Of its containers, and of the pods that it replaces."""
    attempts: Mapping[str, int] = field(default_factory=dict)
    """The number of the current attempt of each of its containers, 0 for the first."""
    last_end: Ending | None = None
    """How its container (or, without one, its pod) ended last."""
    waiting: Waiting | None = None
    runs: bool = False
    """Whether all its main containers run now; the phase is Running also between two attempts."""
    created_at: datetime | None = None
    changed_at: datetime | None = None
    """The latest of its creation, starts and ends."""

    @property
    def short_name(self) -> str:
        """Replica type and index, as in `worker-0`, or the type alone as in `launcher`; else the pod's name."""
        numbered = f"{self.replica_type}-{self.index}"
        if not self.replica_type:
            return self.pod
        return self.replica_type if self.pod.endswith(f"-{self.replica_type}") else numbered

    @property
    def stands(self) -> str:
        """The phase, but `Waiting` for a pod that counts as running while its container waits to be started again."""
        waits = self.phase == "Running" and self.waiting is not None and not self.waiting.harmless
        return "Waiting" if waits else self.phase

    @property
    def again_at(self) -> datetime | None:
        """When a container in CrashLoopBackOff is started again; None if it is not in it."""
        if self.waiting is None or self.waiting.reason != CRASH_LOOP or self.last_end is None:
            return None
        found = _BACK_OFF_SECONDS.search(self.waiting.message)
        if self.last_end.finished_at is None or found is None:
            return None
        return self.last_end.finished_at + timedelta(minutes=int(found[1] or 0), seconds=float(found[2] or 0))


@dataclass(frozen=True, slots=True)
class JobProgress:
    """What is to be shown of a job at one moment."""

    conditions: tuple[Mapping[str, Any], ...] = ()
    replicas: tuple[Replica, ...] = ()
    gone: bool = False
    """Whether the job existed and has been deleted (by its TTL, for example)."""
    expected: Mapping[str, int] = field(default_factory=dict)
    """How many replicas there are to be, by type in lower case, in the order of the kind."""
    restarts: int = 0
    """What counts against the limit."""
    backoff_limit: int | None = None
    deadline: timedelta | None = None
    """How long the job may be active."""
    time_to_live: timedelta | None = None
    """How long it is kept after its end."""
    started_at: datetime | None = None
    completed_at: datetime | None = None
    suspended: bool = False
    managed_by: str = ""
    """The controller in charge; empty if it is ours."""
    waiting: Waiting | None = None
    """Why the operator makes no progress with it."""

    @property
    def state(self) -> str:
        """Type of the newest condition, as `kubectl get` shows it; empty before the first."""
        return str(self.conditions[-1]["type"]) if self.conditions else ""

    @property
    def message(self) -> str:
        """The newest condition's sentence."""
        return str(self.conditions[-1].get("message", "")) if self.conditions else ""

    @property
    def outcome(self) -> str:
        """`Succeeded` or `Failed` once one of them is True, else empty."""
        for condition in self.conditions:
            if condition["type"] in TERMINAL and condition["status"] == "True":
                return str(condition["type"])
        return ""

    @property
    def whole(self) -> bool:
        """Whether as many replicas run, or have succeeded, as there are to be."""
        fine = sum(r.phase == "Succeeded" or (r.phase == "Running" and r.runs) for r in self.replicas)
        return fine > 0 and fine >= sum(self.expected.values())


@dataclass(frozen=True, slots=True)
class JobRef:
    """The job that is followed."""

    info: KindInfo
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.info.kind} {self.namespace}/{self.name}"

    @property
    def collection(self) -> str:
        """Path of the jobs of this kind and namespace."""
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/{self.info.plural}"

    @property
    def pod_selector(self) -> str:
        """Label selector of the job's pods."""
        return f"{OPERATOR_NAME_LABEL}={self.info.controller_name},{JOB_NAME_LABEL}={self.name}"


def progress_of(
    info: KindInfo, job: Mapping[str, Any], replicas: Sequence[Replica], *, gone: bool = False
) -> JobProgress:
    """Reduce a stored job and its replicas to what is shown of them."""
    spec, status = job.get("spec") or {}, job.get("status") or {}
    policy = spec.get("runPolicy") or {}
    waiting = status.get("waiting") or {}
    managed_by = policy.get("managedBy") or MANAGED_BY_US
    return JobProgress(
        conditions=tuple(status.get("conditions") or ()),
        replicas=in_order(info, replicas),
        gone=gone,
        expected=_expected(info, spec),
        restarts=sum(counts.get("restarts", 0) for counts in (status.get("replicaStatuses") or {}).values()),
        backoff_limit=policy.get("backoffLimit"),
        deadline=_seconds(policy.get("activeDeadlineSeconds")),
        time_to_live=_seconds(policy.get("ttlSecondsAfterFinished")),
        started_at=moment(status.get("startTime")),
        completed_at=moment(status.get("completionTime")),
        suspended=bool(policy.get("suspend")),
        managed_by="" if managed_by == MANAGED_BY_US else managed_by,
        waiting=Waiting(waiting["reason"], waiting.get("message") or "") if waiting else None,
    )


def in_order(info: KindInfo, replicas: Sequence[Replica]) -> tuple[Replica, ...]:
    """Return replicas by type, in the order of the kind, then by index."""
    order = {name.lower(): n for n, name in enumerate(info.replica_types)}
    return tuple(sorted(replicas, key=lambda r: (order.get(r.replica_type, len(order)), r.index, r.pod)))


def _expected(info: KindInfo, spec: Mapping[str, Any]) -> dict[str, int]:
    counts = {
        info.canonical_type(name): info.default_count(name) if replica.get("replicas") is None else replica["replicas"]
        for name, replica in (spec.get(info.replica_field) or {}).items()
    }
    known = [name for name in info.replica_types if name in counts]
    return {name.lower(): counts[name] for name in (*known, *(name for name in counts if name not in known))}


def _seconds(value: int | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def replica_of(pod: Mapping[str, Any]) -> Replica:
    """Reduce a pod to what is shown of it."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    labels = metadata.get("labels") or {}
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    index = labels.get(REPLICA_INDEX_LABEL, "")
    inherited = (metadata.get("annotations") or {}).get(RESTARTS_ANNOTATION, "")
    attempts = {s["name"]: int(s.get("restartCount") or 0) for s in statuses}
    moments = [moment(time) for time in (metadata.get("creationTimestamp"), *_times(statuses))]
    return Replica(
        pod=metadata["name"],
        replica_type=labels.get(REPLICA_TYPE_LABEL, ""),
        index=int(index) if index.isdecimal() else 0,
        phase="Terminating" if metadata.get("deletionTimestamp") else status.get("phase") or "Pending",
        rank=_rank(pod),
        restarts=sum(attempts.values()) + (int(inherited) if inherited.isdecimal() else 0),
        attempts=attempts,
        last_end=_last_end(status),
        waiting=_waiting(status, statuses),
        runs=_runs(status.get("containerStatuses") or ()),
        created_at=moment(metadata.get("creationTimestamp")),
        changed_at=max((m for m in moments if m), default=None),
    )


def _rank(pod: Mapping[str, Any]) -> str:
    values = {e["name"]: e.get("value", "") for c in pod["spec"]["containers"] for e in c.get("env") or ()}
    return next((values[name] for name in RANK_VARIABLES if name in values), "-")


def _states(status: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return status.get("state") or {}, status.get("lastState") or {}


def _times(statuses: Sequence[Mapping[str, Any]]) -> list[Any]:
    contents = (content for s in statuses for state in _states(s) for content in state.values())
    return [content.get(name) for content in contents for name in ("startedAt", "finishedAt")]


def _runs(statuses: Sequence[Mapping[str, Any]]) -> bool:
    return bool(statuses) and all("running" in _states(status)[0] for status in statuses)


def _last_end(status: Mapping[str, Any]) -> Ending | None:
    """The newest failure; without any, the newest end of a main container."""
    ends = container_ends(status)
    failures = [end.ending for end in ends if end.ending.failed]
    if not failures and status.get("phase") == "Failed":
        return Ending(None, status.get("reason") or "", status.get("message") or "")
    found = failures or [end.ending for end in ends if not end.init]
    return max(found, key=lambda ending: ending.finished_at.timestamp() if ending.finished_at else 0.0, default=None)


def _waiting(status: Mapping[str, Any], statuses: Sequence[Mapping[str, Any]]) -> Waiting | None:
    """The most specific reason why it does not run: a container's, else the scheduler's."""
    states = (s.get("state") or {} for s in statuses)
    found = (state["waiting"] for state in states if state.get("waiting") is not None)
    reasons = [Waiting(w.get("reason") or "", w.get("message") or "") for w in found]
    scheduled: Mapping[str, Any] = next((c for c in status.get("conditions") or () if c["type"] == "PodScheduled"), {})
    if scheduled.get("status") == "False":
        reasons.append(Waiting(scheduled.get("reason") or "Unschedulable", scheduled.get("message") or ""))
    return min(reasons, key=lambda w: (w.harmless, w.reason == ""), default=None)
