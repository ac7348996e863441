"""Creating the services and pods that a job lacks (K-01, K-30, K-32, K-34, K-35)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from sys import intern
from typing import Final

from training_controllers.frameworks.base import Framework
from training_controllers.model.names import replica_name
from training_controllers.model.plan import EventType, JobEvent, NewPod, Plan, Slot, WaitingReason
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.ports import AlreadyExists, ApiError, Ports
from training_controllers.reconcile.create_errors import own_or_taken, why_rejected
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.memory import NAME_TAKEN_RETRY, Failures, JobContext
from training_controllers.reconcile.replica_kinds import N, R, ReplicaKind, pod_kind, service_kind
from training_controllers.reconcile.slow_start import slow_start
from training_controllers.reconcile.turn import Turn

CREATE: Final = "create"
"""Under this name failed creations wait in the memory of their job."""


class Creator:
    """Creates services, then pods, of one replica type after the other, each with slow start."""

    def __init__(self, ports: Ports, framework: Framework, events: EventDedup) -> None:
        self._ports = ports
        self._framework = framework
        self._events = events
        self._pods, self._services = pod_kind(ports, framework), service_kind(ports)

    async def create(self, context: JobContext, plan: Plan, turn: Turn) -> None:
        """Create the services and pods of the plan in this turn, unless creations of this job back off."""
        now, memory = self._ports.monotonic, context.memory
        self._drop_stale_errors(context, plan)
        if not memory.may_try(CREATE, now()):
            return
        failures = Failures()
        await self._create_all(context, self._services, plan.create_services, failures, turn)
        await self._create_all(context, self._pods, plan.create_pods, failures, turn)
        memory.tried(CREATE, now(), failures)

    def _drop_stale_errors(self, context: JobContext, plan: Plan) -> None:
        """What is not to be created any more does not keep the job waiting."""
        if not context.memory.create_errors:
            return
        planned = {
            (noun, word)
            for noun, slots in (
                (self._services.noun, plan.create_services),
                (self._pods.noun, [new.slot for new in plan.create_pods]),
            )
            for slot in slots
            for word in (slot.replica_type, replica_name(context.job, slot))
        }
        for key in context.memory.create_errors.keys() - planned:
            del context.memory.create_errors[key]

    async def _create_all(
        self, context: JobContext, kind: ReplicaKind[R, N], planned: Sequence[N], failures: Failures, turn: Turn
    ) -> None:
        """One type after the other, so that what is wrong with one template stops no other type."""
        memory, created = context.memory, list[JobEvent]()
        try:
            for replica_type, group in groupby(planned, key=lambda new: _slot(new).replica_type):
                of_type, what, new = Failures(), _creation(kind.noun, replica_type), list(group)
                memory.create_errors.pop((kind.noun, replica_type), None)
                first = len(new) if what in memory.accepted else 1
                await slow_start(new, self._create, context, kind, of_type, created, over=turn.is_over, first=first)
                if of_type.failed:
                    memory.accepted -= {what}
                    failures.add(of_type)
                else:
                    memory.accepted |= {what}
                    self._events.clear_error(context, what)
        finally:
            self._events.emit(context, *created)

    async def _create(
        self, context: JobContext, kind: ReplicaKind[R, N], failures: Failures, created: list[JobEvent], new: N
    ) -> bool:
        """Create one object, and note the event; returns whether that went well enough to continue."""
        slot = _slot(new)
        name = replica_name(context.job, slot)
        if (kind.noun, name) in context.memory.names_taken:
            return True
        for event in new.events if isinstance(new, NewPod) else ():
            # Before the request: where its answer is lost there is no second one.
            self._events.emit(context, event)
        try:
            body = kind.build(context.job, self._framework, new)
            await kind.objects.create(context.record.namespace, body, flow=context.uid)
        except AlreadyExists:
            return await self._already_exists(context, kind, failures, new, name)
        except (ApiError, OSError, CannotBuild) as error:
            return self._failed(context, kind, failures, slot, error)
        created.append(JobEvent(EventType.NORMAL, *kind.created_event(slot, name), about=name))
        self._ports.counters.count_object(kind.created)
        return self._created(context, kind, new, name)

    async def _already_exists(
        self, context: JobContext, kind: ReplicaKind[R, N], failures: Failures, new: N, name: str
    ) -> bool:
        """Find out whose object has the name: ours is as good as created, another's is never touched (K-34)."""
        key = (kind.noun, name)
        try:
            found = await own_or_taken(context, kind.objects, kind.noun, name, "the replica is created")
        except (ApiError, OSError) as error:
            # Not known, or on its way out (`NotFound`): try again soon, without an event.
            failures.fail(error)
            return False
        if not isinstance(found, JobEvent):
            return self._created(context, kind, new, name)
        context.memory.names_taken[key] = self._ports.monotonic() + NAME_TAKEN_RETRY
        context.memory.create_errors[key] = (WaitingReason.NAME_TAKEN, found.message)
        self._events.emit(context, found)
        return True

    def _created(self, context: JobContext, kind: ReplicaKind[R, N], new: N, name: str) -> bool:
        context.memory.create_errors.pop((kind.noun, name), None)
        if isinstance(new, NewPod):
            context.memory.history.pop(new.slot, None)
        return True

    def _failed(
        self, context: JobContext, kind: ReplicaKind[R, N], failures: Failures, slot: Slot, error: Exception
    ) -> bool:
        failures.fail(error)
        name = f"{kind.noun} {replica_name(context.job, slot)}"
        context.memory.create_errors.setdefault((kind.noun, slot.replica_type), why_rejected(name, error))
        what = _creation(kind.noun, slot.replica_type)
        self._events.emit_error(context, what, f"FailedCreate{kind.name}", f"Error creating: {error}", error)
        if kind.create_failed is not None:
            self._ports.counters.count_object(kind.create_failed)
        return False


def _slot(new: NewPod | Slot) -> Slot:
    return new.slot if isinstance(new, NewPod) else new


def _creation(noun: str, replica_type: str) -> str:
    """Under this name errors with objects of one type are reported once; shared by all jobs, which remember it."""
    return intern(f"create {noun} {replica_type}")
