"""Creating the services and pods that a job lacks (K-01, K-30, K-32, K-34, K-35)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

from training_controllers.frameworks.base import Framework
from training_controllers.model.names import replica_name
from training_controllers.model.plan import JobEvent, NewPod, Plan, Slot, WaitingReason
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.model.records import Owner, PodRecord, ServiceRecord
from training_controllers.ports import AlreadyExists, ApiError, Dependents, ObjectCounter, Ports
from training_controllers.reconcile.create_errors import name_taken, why_refused
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.expectations import Expectations
from training_controllers.reconcile.memory import TAKEN_RETRY, Failures, JobContext
from training_controllers.reconcile.pods import build_pod
from training_controllers.reconcile.services import build_service
from training_controllers.reconcile.slow_start import slow_start

CREATE: Final = "create"
"""Under this name failed creations wait in the memory of their job."""

R = TypeVar("R", PodRecord, ServiceRecord)


@dataclass(frozen=True, slots=True)
class _Sort(Generic[R]):
    """What differs between creating pods and creating services."""

    record: type[R]
    word: str
    dependents: Dependents[R]
    created_event: Callable[[Slot, str], tuple[str, str]]
    """Reason and message of the event that tells of the object in a slot, by its name."""
    created: ObjectCounter
    failed: ObjectCounter | None

    @property
    def noun(self) -> str:
        """The sort as written in sentences."""
        return self.word.lower()


def service_created(_slot: Slot, name: str) -> tuple[str, str]:
    """Reason and message of the event that tells of a new service."""
    return "SuccessfulCreateService", f"Created service: {name}"


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One object to be created: for which slot, how to build it, and what is announced then."""

    slot: Slot
    build: Callable[[], Mapping[str, Any]]
    events: tuple[JobEvent, ...] = ()


class Creator:
    """Creates services, then pods, of one replica type after the other, each in batches that begin small."""

    def __init__(self, ports: Ports, framework: Framework, expectations: Expectations, events: EventDedup) -> None:
        self._ports = ports
        self._framework = framework
        self._expectations = expectations
        self._events = events
        self._pods = _Sort(PodRecord, "Pod", ports.pods, framework.pod_created, ObjectCounter.PODS_CREATED, None)
        self._services = _Sort(
            ServiceRecord,
            "Service",
            ports.services,
            service_created,
            ObjectCounter.SERVICES_CREATED,
            ObjectCounter.SERVICES_FAILED,
        )

    async def create(self, context: JobContext, plan: Plan) -> None:
        """Create what the plan asks for, unless creations of this job failed a short while ago."""
        now, memory = self._ports.monotonic, context.memory
        self._forget_unwanted(context, plan)
        if not memory.may_try(CREATE, now()):
            return
        failures = Failures()
        services = [_Wanted(slot, self._service(context, slot)) for slot in plan.create_services]
        await self._create_all(context, self._services, services, failures)
        pods = [_Wanted(new.slot, self._pod(context, new), new.events) for new in plan.create_pods]
        await self._create_all(context, self._pods, pods, failures)
        memory.tried(CREATE, now(), failures)

    def _forget_unwanted(self, context: JobContext, plan: Plan) -> None:
        """What is not to be created any more keeps nobody waiting."""
        pods = [new.slot for new in plan.create_pods]
        wanted = {
            (sort.noun, word)
            for sort, slots in ((self._services, plan.create_services), (self._pods, pods))
            for slot in slots
            for word in (slot.replica_type, replica_name(context.job, slot))
        }
        for key in context.memory.create_errors.keys() - wanted:
            del context.memory.create_errors[key]

    def _service(self, context: JobContext, slot: Slot) -> Callable[[], Mapping[str, Any]]:
        return lambda: build_service(context.job, self._framework, slot)

    def _pod(self, context: JobContext, new: NewPod) -> Callable[[], Mapping[str, Any]]:
        return lambda: build_pod(context.job, self._framework, new)

    async def _create_all(
        self, context: JobContext, sort: _Sort[R], wanted: Sequence[_Wanted], failures: Failures
    ) -> None:
        """One type after the other, so that what is wrong with one template stops no other type."""
        for replica_type, group in groupby(wanted, key=lambda each: each.slot.replica_type):
            of_type = Failures()
            context.memory.create_errors.pop((sort.noun, replica_type), None)
            await slow_start(list(group), partial(self._create, context, sort, of_type))
            if of_type.failed:
                failures.add(of_type)
            else:
                self._events.clear_error(context, _creation(sort.noun, replica_type))

    async def _create(self, context: JobContext, sort: _Sort[R], failures: Failures, wanted: _Wanted) -> bool:
        """Create one object; whether that went well enough to go on."""
        name = replica_name(context.job, wanted.slot)
        if (sort.noun, name) in context.memory.names_taken:
            return True
        uid = context.uid
        if self._is_there(context, sort, name):
            self._filled(context, sort, wanted.slot)
            return True
        for event in wanted.events:
            # Before the request: where its answer is lost there is no second one.
            self._events.emit(context, event)
        self._expectations.expect_creation(uid, sort.record, name)
        try:
            await sort.dependents.create(context.record.namespace, wanted.build(), flow=uid)
        except AlreadyExists:
            return await self._already_there(context, sort, wanted.slot, name, failures)
        except (ApiError, CannotBuild) as error:
            self._expectations.withdraw_creation(uid, sort.record, name)
            return self._failed(context, sort, wanted.slot, error, failures)
        except OSError as error:
            self._expectations.doubt_creation(uid, sort.record, name)
            return self._failed(context, sort, wanted.slot, error, failures)
        self._events.emit_normal(context, *sort.created_event(wanted.slot, name))
        self._ports.counters.count_object(sort.created)
        self._filled(context, sort, wanted.slot)
        return True

    def _is_there(self, context: JobContext, sort: _Sort[R], name: str) -> bool:
        """Whether the cache has come to show the object while the status was stored; it would not show it again."""
        shown = sort.dependents.get(context.record.namespace, name)
        return shown is not None and not shown.deleting and shown.owner is not None and shown.owner.uid == context.uid

    def _failed(self, context: JobContext, sort: _Sort[R], slot: Slot, error: Exception, failures: Failures) -> bool:
        failures.fail(error)
        what = _creation(sort.noun, slot.replica_type)
        name = f"{sort.noun} {replica_name(context.job, slot)}"
        context.memory.create_errors.setdefault((sort.noun, slot.replica_type), why_refused(name, error))
        self._events.emit_error(context, what, f"FailedCreate{sort.word}", f"Error creating: {error}", error)
        if sort.failed is not None:
            self._ports.counters.count_object(sort.failed)
        return False

    def _filled(self, context: JobContext, sort: _Sort[R], slot: Slot) -> None:
        context.memory.create_errors.pop((sort.noun, replica_name(context.job, slot)), None)
        if sort.record is PodRecord:
            context.memory.history.pop(slot, None)

    async def _already_there(
        self, context: JobContext, sort: _Sort[R], slot: Slot, name: str, failures: Failures
    ) -> bool:
        """See whose object has the name: ours is as good as created, another's is never touched (K-34)."""
        try:
            found = await sort.dependents.read(context.record.namespace, name, flow=context.uid)
        except (ApiError, OSError) as error:
            self._expectations.doubt_creation(context.uid, sort.record, name)
            failures.fail(error)
            return False
        owner = found.owner if found is not None else None
        if owner is not None and owner.uid == context.uid:
            self._filled(context, sort, slot)
            return True
        self._expectations.withdraw_creation(context.uid, sort.record, name)
        if found is None or found.deleting or self._is_predecessor(context, owner):
            # On its way out: look again soon, and say nothing.
            failures.fail()
            return False
        context.memory.names_taken[(sort.noun, name)] = self._ports.monotonic() + TAKEN_RETRY
        event = name_taken(sort.noun, name, owner, "the replica is created")
        context.memory.create_errors[(sort.noun, name)] = (WaitingReason.NAME_TAKEN, event.message)
        self._events.emit(context, event)
        return True

    def _is_predecessor(self, context: JobContext, owner: Owner | None) -> bool:
        """Whether the owner is an earlier job of the same kind and name, whose objects are being collected."""
        return owner is not None and (owner.kind, owner.name) == (context.job.info.kind, context.record.name)


def _creation(noun: str, replica_type: str) -> str:
    """Under this name troubles with a sort of objects of one type are told once."""
    return f"create {noun} {replica_type}"
