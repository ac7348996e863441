"""Executing a plan: owned objects, deletions, creations, and at last the deletion of the job itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import Counter, Plan
from training_controllers.ports import ApiError, Conflict, NotFound, Ports
from training_controllers.reconcile.creator import Creator
from training_controllers.reconcile.deleter import Deleter
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.memory import Failures, JobContext
from training_controllers.reconcile.owned_applier import OwnedApplier
from training_controllers.reconcile.turn import Turn

EXPIRE: Final = "expire"
"""Under this name failed requests wait in the memory of their job."""


class Executor:
    """Has the effects of a plan; what fails emits an event, is remembered, and is tried again later."""

    def __init__(self, ports: Ports, framework: Framework, events: EventDedup) -> None:
        self._ports = ports
        self._framework = framework
        self._events = events
        self._owned_applier = OwnedApplier(ports, events)
        self._deleter = Deleter(ports, framework, events)
        self._creator = Creator(ports, framework, events)

    async def execute(self, context: JobContext, plan: Plan) -> bool:
        """Carry out everything of the plan but its status; a part that fails keeps no other from being done.

        But no pod is created that would run with what is not the job's own. Returns False if the job's turn was over
        before everything was tried.
        """
        turn = Turn(self._ports.monotonic, self._ports.others_wait)
        complete = await self._owned_applier.apply(context, plan.owned_changes)
        await self._deleter.delete(context, plan, turn)
        await self._creator.create(context, plan if complete else replace(plan, create_pods=()), turn)
        if plan.delete_job:
            await self._delete_job(context)
        return not turn.is_over()

    async def _delete_job(self, context: JobContext) -> None:
        """Delete the job because `ttlSecondsAfterFinished` is over; the events are v1's (K-56)."""
        now, memory, name = self._ports.monotonic, context.memory, context.record.name
        if not memory.may_try(EXPIRE, now()):
            return
        failures = Failures()
        try:
            await self._ports.jobs.delete(context.record)
        except (NotFound, Conflict):
            return
        except (ApiError, OSError) as error:
            failures.fail(error)
            reason = self._framework.job_delete_failed_reason
            self._events.emit_error(context, EXPIRE, reason, f"Error deleting: {error}", error)
        else:
            # The job may stay for a while, in the cache or for its finalizers, and be deleted again.
            if memory.first_time(EXPIRE):
                self._events.emit_normal(context, self._framework.job_deleted_reason, f"Deleted job: {name}")
                self._ports.counters.count_job(Counter.DELETED, context.record.namespace)
        memory.tried(EXPIRE, now(), failures)
