"""Creating the services and pods that a job lacks (K-01, K-30, K-32, K-34, K-35)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, Final, Generic, TypeVar

from training_controllers.engine.announcer import Announcer
from training_controllers.engine.expectations import Expectations
from training_controllers.engine.memory import TAKEN_RETRY, Outcome, Target
from training_controllers.engine.model import JobEvent, NewPod, Plan, Slot, WaitingReason
from training_controllers.engine.pods import build_pod
from training_controllers.engine.services import build_service
from training_controllers.engine.slow_start import slow_start
from training_controllers.engine.trouble import name_taken, why_refused
from training_controllers.frameworks.base import Framework
from training_controllers.names import replica_name
from training_controllers.pod_spec import CannotBuild
from training_controllers.ports import AlreadyExists, ApiError, Dependents, ObjectCounter, World
from training_controllers.records import Owner, PodRecord, ServiceRecord

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

    def __init__(self, world: World, framework: Framework, expectations: Expectations, announcer: Announcer) -> None:
        self._world = world
        self._framework = framework
        self._expectations = expectations
        self._announcer = announcer
        self._pods = _Sort(PodRecord, "Pod", world.pods, framework.pod_created, ObjectCounter.PODS_CREATED, None)
        self._services = _Sort(
            ServiceRecord,
            "Service",
            world.services,
            service_created,
            ObjectCounter.SERVICES_CREATED,
            ObjectCounter.SERVICES_FAILED,
        )

    async def create(self, target: Target, plan: Plan) -> None:
        """Create what the plan asks for, unless creations of this job failed a short while ago."""
        now, memory = self._world.monotonic, target.memory
        self._forget_unwanted(target, plan)
        if not memory.may_try(CREATE, now()):
            return
        outcome = Outcome()
        services = [_Wanted(slot, self._service(target, slot)) for slot in plan.create_services]
        await self._create_all(target, self._services, services, outcome)
        pods = [_Wanted(new.slot, self._pod(target, new), new.events) for new in plan.create_pods]
        await self._create_all(target, self._pods, pods, outcome)
        memory.tried(CREATE, now(), outcome)

    def _forget_unwanted(self, target: Target, plan: Plan) -> None:
        """What is not to be created any more keeps nobody waiting."""
        pods = [new.slot for new in plan.create_pods]
        wanted = {
            (sort.noun, word)
            for sort, slots in ((self._services, plan.create_services), (self._pods, pods))
            for slot in slots
            for word in (slot.replica_type, replica_name(target.job, slot))
        }
        for key in target.memory.refused.keys() - wanted:
            del target.memory.refused[key]

    def _service(self, target: Target, slot: Slot) -> Callable[[], Mapping[str, Any]]:
        return lambda: build_service(target.job, self._framework, slot)

    def _pod(self, target: Target, new: NewPod) -> Callable[[], Mapping[str, Any]]:
        return lambda: build_pod(target.job, self._framework, new)

    async def _create_all(self, target: Target, sort: _Sort[R], wanted: Sequence[_Wanted], outcome: Outcome) -> None:
        """One type after the other, so that what is wrong with one template stops no other type."""
        for replica_type, group in groupby(wanted, key=lambda each: each.slot.replica_type):
            of_type = Outcome()
            target.memory.refused.pop((sort.noun, replica_type), None)
            await slow_start(list(group), partial(self._create, target, sort, of_type))
            if of_type.failed:
                outcome.add(of_type)
            else:
                self._announcer.well(target, _creation(sort.noun, replica_type))

    async def _create(self, target: Target, sort: _Sort[R], outcome: Outcome, wanted: _Wanted) -> bool:
        """Create one object; whether that went well enough to go on."""
        name = replica_name(target.job, wanted.slot)
        if (sort.noun, name) in target.memory.taken:
            return True
        uid = target.uid
        if self._is_there(target, sort, name):
            self._filled(target, sort, wanted.slot)
            return True
        for event in wanted.events:
            # Before the request: where its answer is lost there is no second one.
            self._announcer.tell(target, event)
        self._expectations.expect_creation(uid, sort.record, name)
        try:
            await sort.dependents.create(target.record.namespace, wanted.build(), flow=uid)
        except AlreadyExists:
            return await self._already_there(target, sort, wanted.slot, name, outcome)
        except (ApiError, CannotBuild) as error:
            self._expectations.withdraw_creation(uid, sort.record, name)
            return self._failed(target, sort, wanted.slot, error, outcome)
        except OSError as error:
            self._expectations.doubt_creation(uid, sort.record, name)
            return self._failed(target, sort, wanted.slot, error, outcome)
        self._announcer.done(target, *sort.created_event(wanted.slot, name))
        self._world.counters.count_object(sort.created)
        self._filled(target, sort, wanted.slot)
        return True

    def _is_there(self, target: Target, sort: _Sort[R], name: str) -> bool:
        """Whether the cache has come to show the object while the status was stored; it would not show it again."""
        shown = sort.dependents.get(target.record.namespace, name)
        return shown is not None and not shown.deleting and shown.owner is not None and shown.owner.uid == target.uid

    def _failed(self, target: Target, sort: _Sort[R], slot: Slot, error: Exception, outcome: Outcome) -> bool:
        outcome.fail(error)
        what = _creation(sort.noun, slot.replica_type)
        name = f"{sort.noun} {replica_name(target.job, slot)}"
        target.memory.refused.setdefault((sort.noun, slot.replica_type), why_refused(name, error))
        self._announcer.trouble(target, what, f"FailedCreate{sort.word}", f"Error creating: {error}", error)
        if sort.failed is not None:
            self._world.counters.count_object(sort.failed)
        return False

    def _filled(self, target: Target, sort: _Sort[R], slot: Slot) -> None:
        target.memory.refused.pop((sort.noun, replica_name(target.job, slot)), None)
        if sort.record is PodRecord:
            target.memory.carried.pop(slot, None)

    async def _already_there(self, target: Target, sort: _Sort[R], slot: Slot, name: str, outcome: Outcome) -> bool:
        """See whose object has the name: ours is as good as created, another's is never touched (K-34)."""
        try:
            found = await sort.dependents.read(target.record.namespace, name, flow=target.uid)
        except (ApiError, OSError) as error:
            self._expectations.doubt_creation(target.uid, sort.record, name)
            outcome.fail(error)
            return False
        owner = found.owner if found is not None else None
        if owner is not None and owner.uid == target.uid:
            self._filled(target, sort, slot)
            return True
        self._expectations.withdraw_creation(target.uid, sort.record, name)
        if found is None or found.deleting or self._is_predecessor(target, owner):
            # On its way out: look again soon, and say nothing.
            outcome.fail()
            return False
        target.memory.taken[(sort.noun, name)] = self._world.monotonic() + TAKEN_RETRY
        event = name_taken(sort.noun, name, owner, "the replica is created")
        target.memory.refused[(sort.noun, name)] = (WaitingReason.NAME_TAKEN, event.message)
        self._announcer.tell(target, event)
        return True

    def _is_predecessor(self, target: Target, owner: Owner | None) -> bool:
        """Whether the owner is an earlier job of the same kind and name, whose objects are being collected."""
        return owner is not None and (owner.kind, owner.name) == (target.job.info.kind, target.record.name)


def _creation(noun: str, replica_type: str) -> str:
    """Under this name troubles with a sort of objects of one type are told once."""
    return f"create {noun} {replica_type}"
