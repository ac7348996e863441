"""Carrying out a plan: autoscaler, deletions, creations, and at last the deletion of the job itself."""

from __future__ import annotations

from typing import Any, Final

from training_controllers.engine.announcer import Announcer
from training_controllers.engine.creator import Creator
from training_controllers.engine.deleter import Deleter
from training_controllers.engine.expectations import Expectations
from training_controllers.engine.memory import Outcome, Target
from training_controllers.engine.model import AutoscalerChange, AutoscalerVerb, Counter, Plan
from training_controllers.frameworks.base import Framework
from training_controllers.names import owner_reference
from training_controllers.ports import AlreadyExists, ApiError, Conflict, NotFound, World

AUTOSCALER: Final = "autoscaler"
EXPIRE: Final = "expire"
"""Under these names failed requests wait in the memory of their job."""


class Executor:
    """Has the effects that a plan asks for; what fails is announced, remembered, and tried again later."""

    def __init__(self, world: World, framework: Framework, expectations: Expectations, announcer: Announcer) -> None:
        self._world = world
        self._framework = framework
        self._announcer = announcer
        self._deleter = Deleter(world, expectations, announcer)
        self._creator = Creator(world, framework, expectations, announcer)

    async def execute(self, target: Target, plan: Plan) -> None:
        """Carry out everything of the plan but its status; a part that fails keeps no other from being done."""
        if plan.autoscaler is not None:
            await self._change_autoscaler(target, plan.autoscaler)
        await self._deleter.delete(target, plan)
        await self._creator.create(target, plan)
        if plan.delete_job:
            await self._delete_job(target)

    async def _change_autoscaler(self, target: Target, change: AutoscalerChange) -> None:
        now, memory = self._world.monotonic, target.memory
        if not memory.may_try(AUTOSCALER, now()):
            return
        outcome = Outcome()
        try:
            await self._send_autoscaler(target, change)
            self._announcer.well(target, AUTOSCALER)
        except (Conflict, NotFound):
            # The cache is behind; it will show what is there now.
            outcome.fail()
        except (ApiError, OSError) as error:
            outcome.fail(error)
            message = f"Error on {change.verb} of HorizontalPodAutoscaler {target.record.name}: {error}"
            self._announcer.trouble(target, AUTOSCALER, "FailedAutoscaler", message, error)
        memory.tried(AUTOSCALER, now(), outcome)

    async def _send_autoscaler(self, target: Target, change: AutoscalerChange) -> None:
        autoscalers, namespace, body = self._world.autoscalers, target.record.namespace, _autoscaler(target, change)
        if change.record is None:
            try:
                await autoscalers.create(namespace, body, flow=target.uid)
            except AlreadyExists:
                found = await autoscalers.read(namespace, target.record.name, flow=target.uid)
                if found is not None and (found.owner is None or found.owner.uid != target.uid):
                    raise
        elif change.verb == AutoscalerVerb.REPLACE:
            await autoscalers.replace(change.record, body, flow=target.uid)
        else:
            await autoscalers.delete(change.record, flow=target.uid)

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


def _autoscaler(target: Target, change: AutoscalerChange) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": target.record.name,
            "namespace": target.record.namespace,
            "ownerReferences": [owner_reference(target.job)],
        },
        "spec": change.spec,
    }
