"""Carrying out what a plan says about objects beside pods and services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training_controllers.decide.owned_changes import build_owned_object
from training_controllers.model.owned_objects import OWNED_KINDS, POD_GROUP
from training_controllers.model.plan import OwnedChange, OwnedVerb, WaitingReason
from training_controllers.ports import AlreadyExists, ApiError, Conflict, NotFound, ObjectCounter, Ports
from training_controllers.reconcile.create_errors import name_taken, why_refused
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.memory import TAKEN_RETRY, Failures, JobContext

COUNTERS: Final[Mapping[tuple[str, OwnedVerb], ObjectCounter]] = {
    (POD_GROUP.name, OwnedVerb.CREATE): ObjectCounter.POD_GROUPS_CREATED,
    (POD_GROUP.name, OwnedVerb.DELETE): ObjectCounter.POD_GROUPS_DELETED,
}


class OwnedApplier:
    """Creates, replaces and deletes such objects one after the other; one that fails is tried again later."""

    def __init__(self, ports: Ports, events: EventDedup) -> None:
        self._ports = ports
        self._events = events

    async def keep(self, context: JobContext, changes: tuple[OwnedChange, ...]) -> None:
        """Have all the changes; one that fails keeps no other from being made."""
        for change in changes:
            await self._change(context, change)

    async def _change(self, context: JobContext, change: OwnedChange) -> None:
        now, memory, what = self._ports.monotonic, context.memory, f"{change.kind} {change.name}"
        key = (change.kind, change.name)
        if not memory.may_try(what, now()) or key in memory.names_taken or key in memory.made:
            return
        failures = Failures()
        try:
            await self._send(context, change)
            self._events.clear_error(context, what)
            if key not in memory.names_taken:
                memory.owned_errors.pop(change.kind, None)
            for event in change.events:
                self._events.emit(context, event)
        except (Conflict, NotFound):
            # The cache is behind; it will show what is there now.
            failures.fail()
        except (ApiError, OSError) as error:
            failures.fail(error)
            reason, message = f"Failed{change.kind}", f"Error on {change.verb} of {what}: {error}"
            if change.verb is OwnedVerb.DELETE and OWNED_KINDS[change.kind].announced:
                reason, message = f"FailedDelete{change.kind}", f"Error deleting: {error}"
            elif advice := OWNED_KINDS[change.kind].advice:
                message = f"{message}; {advice}"
                memory.owned_errors[change.kind] = (f"{change.kind}Missing", message)
            elif change.verb is OwnedVerb.CREATE and OWNED_KINDS[change.kind].gates:
                memory.owned_errors[change.kind] = (WaitingReason.GANG_PENDING, f"{what} cannot be created: {error}")
            elif change.verb is OwnedVerb.CREATE and not OWNED_KINDS[change.kind].optional:
                memory.owned_errors[change.kind] = why_refused(what, error)
            self._events.emit_error(context, what, reason, message, error)
        memory.tried(what, now(), failures)

    async def _send(self, context: JobContext, change: OwnedChange) -> None:
        objects = self._ports.owned[change.kind]
        if change.verb is OwnedVerb.DELETE:
            assert change.record is not None
            await objects.delete(change.record, flow=context.uid)
            self._count(change)
            return
        assert change.wanted is not None
        body = build_owned_object(context.job, change.wanted, self._ports.random_bytes)
        if change.verb is OwnedVerb.PATCH:
            assert change.record is not None
            await objects.patch(change.record, change.patch, flow=context.uid)
            return
        if change.record is not None:
            await objects.replace(change.record, body, flow=context.uid)
            return
        try:
            await objects.create(context.record.namespace, body, flow=context.uid)
        except AlreadyExists:
            if OWNED_KINDS[change.kind].watched:
                await self._already_there(context, change)
        else:
            self._count(change)
        if not OWNED_KINDS[change.kind].watched:
            context.memory.made.add((change.kind, change.name))

    def _count(self, change: OwnedChange) -> None:
        counter = COUNTERS.get((change.kind, change.verb))
        if counter is not None:
            self._ports.counters.count_object(counter)

    async def _already_there(self, context: JobContext, change: OwnedChange) -> None:
        """See whose object has the name: ours is as good as created, another's is never touched (K-34)."""
        found = await self._ports.owned[change.kind].read(context.record.namespace, change.name, flow=context.uid)
        if found is None or found.deleting:
            raise NotFound(f"{change.kind} {change.name} is about to go")
        if found.owner is not None and found.owner.uid == context.uid:
            return
        if found.owner is not None and (found.owner.kind, found.owner.name) == (
            context.job.info.kind,
            context.record.name,
        ):
            raise NotFound(f"{change.kind} {change.name} goes with an earlier job of this name")
        key = (change.kind, change.name)
        context.memory.names_taken[key] = self._ports.monotonic() + TAKEN_RETRY
        if not OWNED_KINDS[change.kind].shared:
            event = name_taken(change.kind, change.name, found.owner, "the job gets its own")
            self._events.emit(context, event)
            if not OWNED_KINDS[change.kind].optional:
                context.memory.owned_errors[change.kind] = (event.reason, event.message)
