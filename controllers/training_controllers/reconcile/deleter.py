"""Deleting pods and services that a job must not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from training_controllers.model.plan import Plan
from training_controllers.model.records import PodRecord, ServiceRecord
from training_controllers.ports import ApiError, Conflict, Dependents, NotFound, ObjectCounter, Ports
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.expectations import Expectations
from training_controllers.reconcile.memory import Failures, JobContext
from training_controllers.reconcile.slow_start import slow_start

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

    def __init__(self, ports: Ports, expectations: Expectations, events: EventDedup) -> None:
        self._ports = ports
        self._expectations = expectations
        self._events = events
        self._pods = _Sort("Pod", ports.pods, ObjectCounter.PODS_DELETED)
        self._services = _Sort("Service", ports.services, None)

    async def delete(self, context: JobContext, plan: Plan) -> None:
        """Delete what the plan asks for, unless deletions of this job failed a short while ago."""
        now, memory = self._ports.monotonic, context.memory
        if not memory.may_try(DELETE, now()):
            return
        for deletion in plan.delete_pods:
            if deletion.slot is not None and deletion.history is not None:
                memory.history[deletion.slot] = deletion.history
        failures = Failures()
        forced = frozenset(deletion.pod.uid for deletion in plan.delete_pods if deletion.force)
        pods = [deletion.pod for deletion in plan.delete_pods if deletion.force or not deletion.pod.deleting]
        await self._delete_all(context, self._pods, pods, failures, forced)
        services = [service for service in plan.delete_services if not service.deleting]
        await self._delete_all(context, self._services, services, failures)
        memory.tried(DELETE, now(), failures)

    async def _delete_all(
        self, context: JobContext, sort: _Sort[R], doomed: Sequence[R], failures: Failures, forced: Collection[str] = ()
    ) -> None:
        await slow_start(doomed, lambda each: self._delete(context, sort, each, failures, force=each.uid in forced))
        if doomed and not failures.failed:
            self._events.clear_error(context, f"delete {sort.noun}")

    async def _delete(self, context: JobContext, sort: _Sort[R], record: R, failures: Failures, *, force: bool) -> bool:
        """Delete one object; whether that went well enough to go on."""
        shown = sort.dependents.get(record.namespace, record.name)
        if shown is None or shown.uid != record.uid:
            return True  # it went while the status was stored: nothing more of it will be seen
        self._expectations.expect_deletion(context.uid, record.uid)
        try:
            await sort.dependents.delete(record, flow=context.uid, force=force)
        except (NotFound, Conflict):
            # Gone already, perhaps replaced: the cache is about to see it.
            return True
        except ApiError as error:
            self._expectations.withdraw_deletion(context.uid, record.uid)
            return self._failed(context, sort, error, failures)
        except OSError as error:
            self._expectations.doubt_deletion(context.uid, record.uid)
            return self._failed(context, sort, error, failures)
        self._events.emit_normal(context, f"SuccessfulDelete{sort.word}", f"Deleted {sort.noun}: {record.name}")
        if sort.deleted is not None:
            self._ports.counters.count_object(sort.deleted)
        return True

    def _failed(self, context: JobContext, sort: _Sort[R], error: Exception, failures: Failures) -> bool:
        failures.fail(error)
        what = f"delete {sort.noun}"
        self._events.emit_error(context, what, f"FailedDelete{sort.word}", f"Error deleting: {error}", error)
        return False
