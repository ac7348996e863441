"""Cached objects reduced to what decisions need: small, immutable, without cycles."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Owner(msgspec.Struct, gc=False, frozen=True):
    """The controlling owner of an object."""

    kind: str
    name: str
    uid: str
    group: str = "kubeflow.org"


class ContainerState(msgspec.Struct, gc=False, frozen=True):
    """What is notable about one container: it has ended, it waits for a reason, or it has restarted."""

    name: str
    init: bool = False
    restarts: int = 0
    exit_code: int | None = None
    """Exit code of the terminated state; None while it has not ended (or is being restarted)."""
    finished_at: datetime | None = None
    started_at: datetime | None = None
    reason: str = ""
    """Reason of the terminated or waiting state (`OOMKilled`, `ImagePullBackOff`, ...)."""
    message: str = ""
    waiting: bool = False


class PodRecord(msgspec.Struct, gc=False, frozen=True):
    """A pod of a job."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    replica_type: str
    """Value of the replica-type label: lower case; empty if absent."""
    index: int
    """Value of the replica-index label; -1 if absent or not a number of at least 0."""
    phase: str
    deleting: bool = False
    stops_by: datetime | None = None
    """Of a pod that is being deleted: when its grace period ends; None once it has been deleted by force."""
    ready: bool = False
    reason: str = ""
    """Reason of the pod's own status (`Evicted`, `NodeLost`, ...)."""
    message: str = ""
    disrupted: bool = False
    """Whether condition DisruptionTarget is True."""
    disruption: str = ""
    """Reason of that condition (`EvictionByEvictionAPI`, `PreemptionByScheduler` ...)."""
    condition_reason: str = ""
    """Reason of the condition that changed last, if its status is not True and no container status exists."""
    condition_message: str = ""
    containers: tuple[ContainerState, ...] = ()
    """Only containers with something notable."""
    restarts_before: int = 0
    """Restarts of this slot before this pod existed, from its annotation (K-03)."""
    backoff_level: int = 0
    """Consecutive recreations of this slot that led to this pod, from its annotation (K-03)."""
    attempt: int = 0
    """Attempt that the pod belongs to, from its annotation; 0 if absent."""
    node: str = ""
    ip: str = ""
    created: datetime | None = None
    """Creation timestamp; of two pods in one slot the older one stays (K-12)."""
    template_ended_at: datetime | None = None
    """When the containers of its template ended, if injected ones still run; see `observe.injected_sidecars`."""


class ServiceRecord(msgspec.Struct, gc=False, frozen=True):
    """A service of a job."""

    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    replica_type: str
    index: int
    deleting: bool = False
    job_label: str = ""
    """Value of the job-name label, by which it is selected, whoever owns it."""


class OwnedRecord(msgspec.Struct, gc=False, frozen=True):
    """Another object of a job: an autoscaler, a config map, a role ..."""

    kind: str
    namespace: str
    name: str
    uid: str
    version: str
    owner: Owner | None
    content: bytes
    """The part that depends on the job, as canonical JSON to be compared; `null` for kinds without."""
    deleting: bool = False
    phase: str = ""
    """Of kinds whose phase matters; empty while it has none."""


class JobRecord(msgspec.Struct, gc=False, frozen=True):
    """A job of any kind as stored: its JSON is decoded when the job is reconciled, not when it changes."""

    namespace: str
    name: str
    uid: str
    version: str
    raw: bytes
    """The object as JSON without its status, its version and `metadata.managedFields`: the same for all versions
    between which only the status has changed."""
    status: bytes = b"null"
    """The status as JSON."""
    owner: Owner | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def has_run(self) -> bool:
        """Whether the status has condition Running, true or not."""
        return b'"type":"Running"' in self.status

    @property
    def ended(self) -> bool:
        """Whether the status has the time of the job's end; v1 has left it out in some of those that failed."""
        return b'"completionTime"' in self.status


class NodeRecord(msgspec.Struct, gc=False, frozen=True):
    """A node, as far as it matters to pods that are on it already."""

    name: str
    uid: str
    version: str
    unready_since: datetime | None = None
    """Since when condition Ready is not True; None while it is, and while the node has no such condition."""
    namespace: str = ""
    owner: Owner | None = None


class PriorityClassRecord(msgspec.Struct, gc=False, frozen=True):
    """How urgent the pods of a class are."""

    name: str
    uid: str
    version: str
    value: int
    default: bool = False
    """Whether pods without any class are of this one."""
    namespace: str = ""
    owner: Owner | None = None


Record = PodRecord | ServiceRecord | OwnedRecord | JobRecord
