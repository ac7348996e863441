"""Jobs, pods and a small world in which plans come true, for tests of the pure core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Self

import msgspec
from e2e.support.every_kind import EVERY_KIND, every_framework

from training_api.constants import ATTEMPT_ANNOTATION, BACKOFF_LEVEL_ANNOTATION, RESTARTS_ANNOTATION
from training_api.decode import decode_job, encode_status
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_api.models.common import JobStatus
from training_controllers.decide.decide import decide
from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import Counter, JobEvent, OwnedVerb, Plan, RestartHistory, Slot, Snapshot
from training_controllers.model.records import ContainerState, OwnedRecord, Owner, PodRecord, ServiceRecord
from training_controllers.observe.injected_sidecars import phases_by_template
from training_controllers.reconcile.builders import build_owned_object, build_pod, build_service

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
UID = "uid-of-job"


@cache
def framework_of(kind: str) -> Framework:
    return every_framework()[kind]


def stored_job(
    kind: str,
    replicas: Mapping[str, int],
    *,
    restart: str | None = None,
    name: str = "sim",
    run_policy: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A job as a user writes it; `restart` is the restart policy of all types."""
    info = EVERY_KIND[kind]
    policy = {} if restart is None else {"restartPolicy": restart}
    template = {"spec": {"containers": [{"name": info.container, "image": "example.com/train:1"}]}}
    types = {name: {"replicas": number, "template": template, **policy} for name, number in replicas.items()}
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": UID, "generation": 1},
        "spec": {info.replica_field: types, "runPolicy": dict(run_policy or {}), **spec},
    }


def load(kind: str, stored: Mapping[str, Any]) -> Job:
    return with_defaults(decode_job(EVERY_KIND[kind], stored))


def make_job(kind: str, replicas: Mapping[str, int], **options: Any) -> Job:
    return load(kind, stored_job(kind, replicas, **options))


def pod(
    replica_type: str,
    index: int,
    phase: str,
    *,
    exit_code: int | None = None,
    container: str = "",
    restarts: int = 0,
    finished: datetime | None = None,
    ran: timedelta = timedelta(seconds=10),
    **fields: Any,
) -> PodRecord:
    """A pod of the job `sim`; with an exit code its main container has ended."""
    name = fields.pop("name", f"sim-{replica_type.lower()}-{index}")
    state = ContainerState(container or "pytorch", restarts=restarts)
    if exit_code is not None:
        ended = finished or START
        reason = "Completed" if exit_code == 0 else "Error"
        state = msgspec.structs.replace(
            state, exit_code=exit_code, finished_at=ended, started_at=ended - ran, reason=reason
        )
    notable = exit_code is not None or restarts > 0
    return PodRecord(
        namespace="ns",
        name=name,
        uid=fields.pop("uid", f"uid-{name}"),
        version="1",
        owner=Owner("PyTorchJob", "sim", UID),
        replica_type=replica_type.lower(),
        index=index,
        phase=phase,
        ready=fields.pop("ready", phase == "Running"),
        containers=fields.pop("containers", (state,) if notable else ()),
        **fields,
    )


def conditions(status: JobStatus | None) -> list[str]:
    """Conditions as `Type=Status`, in their order."""
    assert status is not None
    return [f"{condition.type}={condition.status}" for condition in status.conditions]


def message(status: JobStatus | None, kind: str) -> str:
    assert status is not None
    return next(condition.message for condition in status.conditions if condition.type == kind)


def texts(events: tuple[JobEvent, ...] | list[JobEvent]) -> list[str]:
    return [f"{event.type} {event.reason} {event.message}" for event in events]


@dataclass
class World:
    """A job with its objects; plans come true at once, except that deleted pods may take their time to stop."""

    stored: dict[str, Any]
    kind: str
    lingering: bool = False
    """Whether deleted pods stay, terminating, until `finish_deletions`."""
    status_extensions: bool = True
    """Whether our status fields are kept; v1's own CRDs prune them."""
    now: datetime = START
    status: JobStatus = field(default_factory=JobStatus)
    pods: dict[str, PodRecord] = field(default_factory=dict)
    services: dict[str, ServiceRecord] = field(default_factory=dict)
    owned_objects: dict[tuple[str, str], OwnedRecord] = field(default_factory=dict)
    """Objects beside pods and services, by kind and name."""
    history: dict[Slot, RestartHistory] = field(default_factory=dict)
    events: list[JobEvent] = field(default_factory=list)
    counters: list[Counter] = field(default_factory=list)
    emitted: set[str] = field(default_factory=set)
    deleted: bool = False
    writes: int = 0
    requeue_after: float | None = None

    patches: int = 0
    """Patches of owned objects."""
    bodies: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """What was sent last of each owned object."""
    absent_kinds: frozenset[str] = frozenset()
    """Kinds of owned objects that the API server does not have."""
    own_framework: Framework | None = None
    """Of a kind that only the test knows."""

    @property
    def framework(self) -> Framework:
        return self.own_framework or framework_of(self.kind)

    def snapshot(self) -> Snapshot:
        job = replace(with_defaults(decode_job(self.framework.info, self.stored)), status=self.status)
        return Snapshot(
            job=job,
            pods=phases_by_template(job, tuple(self.pods.values())),
            services=tuple(self.services.values()),
            now=self.now,
            owned_objects=tuple(self.owned_objects.values()),
            absent_kinds=self.absent_kinds,
            history=dict(self.history),
        )

    def decide(self) -> Plan:
        return decide(self.snapshot(), self.framework)

    def step(self) -> Plan:
        """One reconcile of the job, with all its effects."""
        snapshot = self.snapshot()
        plan = decide(snapshot, self.framework)
        if plan.status is not None:
            self._store(plan.status)
        self._emit(plan.events)
        self.counters += plan.counters
        self._apply_owned(plan)
        for event in (each for change in plan.owned_changes for each in change.events):
            self.events.append(event)
        for deletion in plan.delete_pods:
            if deletion.slot is not None and deletion.history is not None:
                self.history[deletion.slot] = deletion.history
            self.delete(deletion.pod.name)
        for service in plan.delete_services:
            del self.services[service.name]
        for slot in plan.create_services:
            body = build_service(snapshot.job, self.framework, slot)
            self.services[body["metadata"]["name"]] = self._service(body, slot)
        for new in plan.create_pods:
            body = build_pod(snapshot.job, self.framework, new)
            name = body["metadata"]["name"]
            assert name not in self.pods, f"{name} is created although it is there"
            self._emit(new.events)
            self.pods[name] = self._pod(body, new.slot)
            self.history.pop(new.slot, None)
        self.deleted |= plan.delete_job
        self.requeue_after = plan.requeue_after
        return plan

    def settle(self, *, limit: int = 10) -> Self:
        """Reconcile until nothing changes any more; fails if that does not happen."""
        for _ in range(limit):
            before = (self.status, dict(self.pods), dict(self.services), dict(self.owned_objects), self.deleted)
            self.step()
            if before == (self.status, self.pods, self.services, dict(self.owned_objects), self.deleted):
                return self
        raise AssertionError("the world does not settle")

    def set_pods(self, phase: str, *names: str, exit_code: int | None = None, restarts: int = 0) -> None:
        """Give these pods (all if none is named) a phase, and their main containers an end and a restart count."""
        for name in names or tuple(self.pods):
            old = self.pods[name]
            container = self.framework.info.container
            new = pod(old.replica_type, old.index, phase, exit_code=exit_code, container=container, restarts=restarts,
                      finished=self.now, name=name)  # fmt: skip
            self.pods[name] = msgspec.structs.replace(
                old, phase=phase, ready=phase == "Running", containers=new.containers
            )

    def report(self, phase: str, *names: str, exit_code: int | None = None, restarts: int = 0) -> Self:
        """Have the kubelet report these pods, as `set_pods` does, and reconcile the job."""
        self.set_pods(phase, *names, exit_code=exit_code, restarts=restarts)
        return self.settle()

    def delete(self, name: str) -> None:
        """Delete a pod as any user could."""
        if self.lingering:
            self.pods[name] = msgspec.structs.replace(self.pods[name], deleting=True)
        else:
            del self.pods[name]

    def finish_deletions(self) -> None:
        self.pods = {name: pod for name, pod in self.pods.items() if not pod.deleting}

    def patch(self, **spec: Any) -> None:
        """Change the job's spec."""
        self.stored["spec"] |= spec
        self.stored["metadata"]["generation"] += 1

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def _emit(self, events: Iterable[JobEvent]) -> None:
        for event in events:
            if event.once is None or event.once not in self.emitted:
                self.events.append(event)
            if event.once is not None:
                self.emitted.add(event.once)

    def _store(self, status: JobStatus) -> None:
        self.writes += 1
        wire = encode_status(status)
        if not self.status_extensions:
            for extension in ("observedGeneration", "waiting", "attempt"):
                wire.pop(extension, None)
            for counters in wire.get("replicaStatuses", {}).values():
                for extension in ("restarts", "ready", "completedIndexes"):
                    counters.pop(extension, None)
        self.status = decode_job(self.framework.info, {**self.stored, "status": wire}).status

    def _apply_owned(self, plan: Plan) -> None:
        for change in plan.owned_changes:
            key = (change.kind, change.name)
            if change.verb is OwnedVerb.DELETE:
                del self.owned_objects[key]
                continue
            assert change.wanted is not None
            body, part = build_owned_object(self.snapshot().job, change.wanted, bytes), change.wanted.kind.content
            wanted = body.get(part)
            if change.verb is OwnedVerb.PATCH:
                wanted = merged(msgspec.json.decode(self.owned_objects[key].content), change.patch[part])
            self.patches += change.verb is OwnedVerb.PATCH
            content = msgspec.json.encode(wanted, order="deterministic")
            phase = self.owned_objects[key].phase if key in self.owned_objects else ""
            self.owned_objects[key] = OwnedRecord(
                change.kind, "ns", change.name, f"uid-{key}", "1", Owner(self.kind, "sim", UID), content, phase=phase
            )
            self.bodies[key] = body

    def _pod(self, body: dict[str, Any], slot: Slot) -> PodRecord:
        annotations = body["metadata"].get("annotations", {})
        return pod(
            slot.replica_type,
            slot.index,
            "Pending",
            name=body["metadata"]["name"],
            uid=f"uid-{body['metadata']['name']}-{self.now.timestamp()}-{len(self.events)}",
            created=self.now,
            restarts_before=int(annotations.get(RESTARTS_ANNOTATION, 0)),
            backoff_level=int(annotations.get(BACKOFF_LEVEL_ANNOTATION, 0)),
            attempt=int(annotations.get(ATTEMPT_ANNOTATION, 0)),
        )

    def _service(self, body: dict[str, Any], slot: Slot) -> ServiceRecord:
        name = body["metadata"]["name"]
        return ServiceRecord(
            "ns", name, f"uid-svc-{name}", "1", Owner(self.kind, "sim", UID), slot.replica_type.lower(), slot.index
        )


def merged(stored: Any, patch: Any) -> Any:
    """What a JSON merge patch (RFC 7386) makes of a value."""
    if not isinstance(patch, Mapping):
        return patch
    kept = dict(stored) if isinstance(stored, Mapping) else {}
    changed = {key: merged(kept.get(key), value) for key, value in patch.items() if value is not None}
    return {key: value for key, value in kept.items() if key not in patch} | changed


def world(kind: str, replicas: Mapping[str, int], **options: Any) -> World:
    return World(stored_job(kind, replicas, **options), kind)
