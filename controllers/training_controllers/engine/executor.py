"""Carrying out a plan: companions, deletions, creations, and at last the deletion of the job itself."""

from __future__ import annotations

from typing import Final

from training_controllers.engine.announcer import Announcer
from training_controllers.engine.creator import Creator
from training_controllers.engine.deleter import Deleter
from training_controllers.engine.expectations import Expectations
from training_controllers.engine.keeper import Keeper
from training_controllers.engine.memory import Outcome, Target
from training_controllers.engine.model import Counter, Plan
from training_controllers.frameworks.base import Framework
from training_controllers.ports import ApiError, Conflict, NotFound, World

EXPIRE: Final = "expire"
"""Under this name failed requests wait in the memory of their job."""


class Executor:
    """Has the effects that a plan asks for; what fails is announced, remembered, and tried again later."""

    def __init__(self, world: World, framework: Framework, expectations: Expectations, announcer: Announcer) -> None:
        self._world = world
        self._framework = framework
        self._announcer = announcer
        self._keeper = Keeper(world, announcer)
        self._deleter = Deleter(world, expectations, announcer)
        self._creator = Creator(world, framework, expectations, announcer)

    async def execute(self, target: Target, plan: Plan) -> None:
        """Carry out everything of the plan but its status; a part that fails keeps no other from being done."""
        await self._keeper.keep(target, plan.companions)
        await self._deleter.delete(target, plan)
        await self._creator.create(target, plan)
        if plan.delete_job:
            await self._delete_job(target)

    async def _delete_job(self, target: Target) -> None:
        """Delete the job because its time to live is over; the events are v1's (K-56)."""
        now, memory, name = self._world.monotonic, target.memory, target.record.name
        if not memory.may_try(EXPIRE, now()):
            return
        outcome = Outcome()
        try:
            await self._world.jobs.delete(target.record)
        except (NotFound, Conflict):
            return
        except (ApiError, OSError) as error:
            outcome.fail(error)
            reason = self._framework.job_delete_failed_reason
            self._announcer.trouble(target, EXPIRE, reason, f"Error deleting: {error}", error)
        else:
            # The job may linger, in the cache or for its finalizers, and be deleted again.
            if memory.first_time(EXPIRE):
                self._announcer.done(target, self._framework.job_deleted_reason, f"Deleted job: {name}")
                self._world.counters.count_job(Counter.DELETED, target.record.namespace)
        memory.tried(EXPIRE, now(), outcome)
