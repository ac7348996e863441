"""Deleting pods and services that a job must not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from training_controllers.engine.announcer import Announcer
from training_controllers.engine.expectations import Expectations
from training_controllers.engine.memory import Outcome, Target
from training_controllers.engine.model import Plan
from training_controllers.engine.slow_start import slow_start
from training_controllers.ports import ApiError, Conflict, Dependents, NotFound, ObjectCounter, World
from training_controllers.records import PodRecord, ServiceRecord

DELETE: Final = "delete"
"""Under this name failed deletions wait in the memory of their job."""

R = TypeVar("R", PodRecord, ServiceRecord)


@dataclass(frozen=True, slots=True)
class _Sort(Generic[R]):
    """What differs between deleting pods and deleting services."""

    word: str
    dependents: Dependents[R]
    deleted: ObjectCounter | None

    @property
    def noun(self) -> str:
        """The sort as written in sentences."""
        return self.word.lower()


class Deleter:
    """Deletes pods, then services, each in batches that begin small; what is gone or going is left alone."""

    def __init__(self, world: World, expectations: Expectations, announcer: Announcer) -> None:
        self._world = world
        self._expectations = expectations
        self._announcer = announcer
        self._pods = _Sort("Pod", world.pods, ObjectCounter.PODS_DELETED)
        self._services = _Sort("Service", world.services, None)

    async def delete(self, target: Target, plan: Plan) -> None:
        """Delete what the plan asks for, unless deletions of this job failed a short while ago."""
        now, memory = self._world.monotonic, target.memory
        if not memory.may_try(DELETE, now()):
            return
        for deletion in plan.delete_pods:
            if deletion.slot is not None and deletion.carried is not None:
                memory.carried[deletion.slot] = deletion.carried
        outcome = Outcome()
        forced = frozenset(deletion.pod.uid for deletion in plan.delete_pods if deletion.force)
        pods = [deletion.pod for deletion in plan.delete_pods if deletion.force or not deletion.pod.deleting]
        await self._delete_all(target, self._pods, pods, outcome, forced)
        services = [service for service in plan.delete_services if not service.deleting]
        await self._delete_all(target, self._services, services, outcome)
        memory.tried(DELETE, now(), outcome)

    async def _delete_all(
        self, target: Target, sort: _Sort[R], doomed: Sequence[R], outcome: Outcome, forced: Collection[str] = ()
    ) -> None:
        await slow_start(doomed, lambda each: self._delete(target, sort, each, outcome, force=each.uid in forced))
        if doomed and not outcome.failed:
            self._announcer.well(target, f"delete {sort.noun}")

    async def _delete(self, target: Target, sort: _Sort[R], record: R, outcome: Outcome, *, force: bool) -> bool:
        """Delete one object; whether that went well enough to go on."""
        shown = sort.dependents.get(record.namespace, record.name)
        if shown is None or shown.uid != record.uid:
            return True  # it went while the status was stored: nothing more of it will be seen
        self._expectations.expect_deletion(target.uid, record.uid)
        try:
            await sort.dependents.delete(record, flow=target.uid, force=force)
        except (NotFound, Conflict):
            # Gone already, perhaps replaced: the cache is about to see it.
            return True
        except ApiError as error:
            self._expectations.withdraw_deletion(target.uid, record.uid)
            return self._failed(target, sort, error, outcome)
        except OSError as error:
            self._expectations.doubt_deletion(target.uid, record.uid)
            return self._failed(target, sort, error, outcome)
        self._announcer.done(target, f"SuccessfulDelete{sort.word}", f"Deleted {sort.noun}: {record.name}")
        if sort.deleted is not None:
            self._world.counters.count_object(sort.deleted)
        return True

    def _failed(self, target: Target, sort: _Sort[R], error: Exception, outcome: Outcome) -> bool:
        outcome.fail(error)
        what = f"delete {sort.noun}"
        self._announcer.trouble(target, what, f"FailedDelete{sort.word}", f"Error deleting: {error}", error)
        return False
