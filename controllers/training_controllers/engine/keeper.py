"""Carrying out what a plan says about objects beside pods and services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training_controllers.companions import POD_GROUP, SORTS
from training_controllers.engine.announcer import Announcer
from training_controllers.engine.companions import build_companion
from training_controllers.engine.memory import TAKEN_RETRY, Outcome, Target
from training_controllers.engine.model import CompanionChange, CompanionVerb, WaitingReason
from training_controllers.engine.trouble import name_taken, why_refused
from training_controllers.ports import AlreadyExists, ApiError, Conflict, NotFound, ObjectCounter, World

COUNTERS: Final[Mapping[tuple[str, CompanionVerb], ObjectCounter]] = {
    (POD_GROUP.kind, CompanionVerb.CREATE): ObjectCounter.POD_GROUPS_CREATED,
    (POD_GROUP.kind, CompanionVerb.DELETE): ObjectCounter.POD_GROUPS_DELETED,
}


class Keeper:
    """Creates, replaces and deletes such objects one after the other; one that fails is tried again later."""

    def __init__(self, world: World, announcer: Announcer) -> None:
        self._world = world
        self._announcer = announcer

    async def keep(self, target: Target, changes: tuple[CompanionChange, ...]) -> None:
        """Have all the changes; one that fails keeps no other from being made."""
        for change in changes:
            await self._change(target, change)

    async def _change(self, target: Target, change: CompanionChange) -> None:
        now, memory, what = self._world.monotonic, target.memory, f"{change.kind} {change.name}"
        key = (change.kind, change.name)
        if not memory.may_try(what, now()) or key in memory.taken or key in memory.made:
            return
        outcome = Outcome()
        try:
            await self._send(target, change)
            self._announcer.well(target, what)
            if key not in memory.taken:
                memory.lacking.pop(change.kind, None)
            for event in change.events:
                self._announcer.tell(target, event)
        except (Conflict, NotFound):
            # The cache is behind; it will show what is there now.
            outcome.fail()
        except (ApiError, OSError) as error:
            outcome.fail(error)
            reason, message = f"Failed{change.kind}", f"Error on {change.verb} of {what}: {error}"
            if change.verb is CompanionVerb.DELETE and SORTS[change.kind].announced:
                reason, message = f"FailedDelete{change.kind}", f"Error deleting: {error}"
            elif advice := SORTS[change.kind].advice:
                message = f"{message}; {advice}"
                memory.lacking[change.kind] = (f"{change.kind}Missing", message)
            elif change.verb is CompanionVerb.CREATE and SORTS[change.kind].gates:
                memory.lacking[change.kind] = (WaitingReason.GANG_PENDING, f"{what} cannot be created: {error}")
            elif change.verb is CompanionVerb.CREATE and not SORTS[change.kind].optional:
                memory.lacking[change.kind] = why_refused(what, error)
            self._announcer.trouble(target, what, reason, message, error)
        memory.tried(what, now(), outcome)

    async def _send(self, target: Target, change: CompanionChange) -> None:
        objects = self._world.companions[change.kind]
        if change.verb is CompanionVerb.DELETE:
            assert change.record is not None
            await objects.delete(change.record, flow=target.uid)
            self._count(change)
            return
        assert change.wanted is not None
        body = build_companion(target.job, change.wanted, self._world.random_bytes)
        if change.verb is CompanionVerb.PATCH:
            assert change.record is not None
            await objects.patch(change.record, change.patch, flow=target.uid)
            return
        if change.record is not None:
            await objects.replace(change.record, body, flow=target.uid)
            return
        try:
            await objects.create(target.record.namespace, body, flow=target.uid)
        except AlreadyExists:
            if SORTS[change.kind].watched:
                await self._already_there(target, change)
        else:
            self._count(change)
        if not SORTS[change.kind].watched:
            target.memory.made.add((change.kind, change.name))

    def _count(self, change: CompanionChange) -> None:
        counter = COUNTERS.get((change.kind, change.verb))
        if counter is not None:
            self._world.counters.count_object(counter)

    async def _already_there(self, target: Target, change: CompanionChange) -> None:
        """See whose object has the name: ours is as good as created, another's is never touched (K-34)."""
        found = await self._world.companions[change.kind].read(target.record.namespace, change.name, flow=target.uid)
        if found is None or found.deleting:
            raise NotFound(f"{change.kind} {change.name} is about to go")
        if found.owner is not None and found.owner.uid == target.uid:
            return
        if found.owner is not None and (found.owner.kind, found.owner.name) == (
            target.job.info.kind,
            target.record.name,
        ):
            raise NotFound(f"{change.kind} {change.name} goes with an earlier job of this name")
        key = (change.kind, change.name)
        target.memory.taken[key] = self._world.monotonic() + TAKEN_RETRY
        if not SORTS[change.kind].shared:
            event = name_taken(change.kind, change.name, found.owner, "the job gets its own")
            self._announcer.tell(target, event)
            if not SORTS[change.kind].optional:
                target.memory.lacking[change.kind] = (event.reason, event.message)
