"""Applying the changes of owned objects other than pods and services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from training_controllers.model.json_patch import contains
from training_controllers.model.owned_objects import OWNED_KINDS, POD_GROUP, OwnedObject
from training_controllers.model.plan import JobEvent, OwnedChange, OwnedVerb, WaitingReason
from training_controllers.ports import AlreadyExists, ApiError, Conflict, NotFound, ObjectCounter, Ports
from training_controllers.reconcile.builders import build_owned_object
from training_controllers.reconcile.create_errors import own_or_taken, why_rejected
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.memory import NAME_TAKEN_RETRY, Failures, JobContext

COUNTERS: Final[Mapping[tuple[str, OwnedVerb], ObjectCounter]] = {
    (POD_GROUP.name, OwnedVerb.CREATE): ObjectCounter.POD_GROUPS_CREATED,
    (POD_GROUP.name, OwnedVerb.DELETE): ObjectCounter.POD_GROUPS_DELETED,
}


class OwnedApplier:
    """Creates, replaces, patches and deletes owned objects one after the other; each failure is retried on its own."""

    def __init__(self, ports: Ports, events: EventDedup) -> None:
        self._ports = ports
        self._events = events

    async def apply(self, context: JobContext, changes: tuple[OwnedChange, ...]) -> bool:
        """Make all the changes; one that fails keeps no other from being made, but for those that need its object.

        Returns whether everything that pods need is there, is the job's own, and is as it should be.
        """
        for stale in context.memory.owned_errors.keys() - {change.kind for change in changes}:
            del context.memory.owned_errors[stale]
        missing: set[tuple[str, str]] = set()
        for change in changes:
            held = (OWNED_KINDS[change.kind].needs, change.name) in missing
            done = not held and await self._apply(context, change)
            if not done and change.verb is not OwnedVerb.DELETE:
                missing.add((change.kind, change.name))
        return not any(OWNED_KINDS[kind].needed for kind, _ in missing)

    async def _apply(self, context: JobContext, change: OwnedChange) -> bool:
        """Make one change; returns whether the object is as it should be."""
        now, memory, what = self._ports.monotonic, context.memory, f"{change.kind} {change.name}"
        key = (change.kind, change.name)
        if key in memory.created_unwatched:
            return True
        if key in memory.names_taken:
            return change.wanted is not None and change.wanted.shared
        if not memory.may_try(what, now()):
            return False
        done, failures = False, Failures()
        try:
            done = await self._send(context, change)
            self._events.clear_error(context, what)
            if done:
                memory.owned_errors.pop(change.kind, None)
            for event in change.events:
                self._events.emit(context, event)
        except (Conflict, NotFound):
            # The cache is behind; the watch will show what is there now.
            failures.fail()
        except (ApiError, OSError) as error:
            failures.fail(error)
            self._report(context, change, what, error)
        memory.tried(what, now(), failures)
        return done

    async def _send(self, context: JobContext, change: OwnedChange) -> bool:
        """Send the change; returns whether the object is as it should be then."""
        objects, uid = self._ports.owned[change.kind], context.uid
        match change.verb, change.record:
            case OwnedVerb.DELETE, record if record is not None:
                await objects.delete(record, flow=uid)
                self._count(change.kind, change.verb)
            case OwnedVerb.PATCH, record if record is not None:
                await objects.patch(record, change.patch, flow=uid)
            case _, record:
                assert change.wanted is not None
                body = build_owned_object(context.job, change.wanted, self._ports.random_bytes)
                if record is None:
                    return await self._create(context, change.wanted, body)
                await objects.replace(record, body, flow=uid)
        return True

    async def _create(self, context: JobContext, wanted: OwnedObject, body: Mapping[str, object]) -> bool:
        """Create the object; returns whether the job has its own then."""
        kind, objects = wanted.kind, self._ports.owned[wanted.kind.name]
        try:
            await objects.create(context.record.namespace, body, flow=context.uid)
            self._count(kind.name, OwnedVerb.CREATE)
        except AlreadyExists:
            if kind.watched:
                return await self._already_exists(context, wanted, body)
        if not kind.watched:
            context.memory.created_unwatched |= {(kind.name, wanted.name)}
        return True

    async def _already_exists(self, context: JobContext, wanted: OwnedObject, body: Mapping[str, object]) -> bool:
        """Find out whose object has the name: ours is made as it should be, another's is never touched (K-34)."""
        kind, memory, objects = wanted.kind, context.memory, self._ports.owned[wanted.kind.name]
        try:
            found = await own_or_taken(context, objects, kind.name, wanted.name, "the job gets its own")
        except NotFound as error:
            if kind.needed:
                memory.owned_errors[kind.name] = (WaitingReason.TERMINATING, str(error))
            raise
        if isinstance(found, JobEvent):
            memory.names_taken[kind.name, wanted.name] = self._ports.monotonic() + NAME_TAKEN_RETRY
            if not wanted.shared:
                self._events.emit(context, found)
            if not wanted.shared and not kind.optional:
                memory.owned_errors[kind.name] = (WaitingReason.NAME_TAKEN, found.message)
            return wanted.shared
        if found.deleting:
            return False
        if not kind.merged and not contains(msgspec.json.decode(found.content), wanted.content):
            await objects.replace(found, body, flow=context.uid)
        return True

    def _count(self, kind: str, verb: OwnedVerb) -> None:
        if (counter := COUNTERS.get((kind, verb))) is not None:
            self._ports.counters.count_object(counter)

    def _report(self, context: JobContext, change: OwnedChange, what: str, error: Exception) -> None:
        """Emit the error, and remember it as the reason why the job waits if pods need the object."""
        kind, errors = OWNED_KINDS[change.kind], context.memory.owned_errors
        reason, message = f"Failed{kind.name}", f"Error on {change.verb} of {what}: {error}"
        if change.verb is OwnedVerb.DELETE and kind.emits_deletion_events:
            reason, message = f"FailedDelete{kind.name}", f"Error deleting: {error}"
        elif kind.advice:
            message = f"{message}; {kind.advice}"
            errors[kind.name] = (f"{kind.name}Missing", message)
        elif change.verb is OwnedVerb.CREATE and kind.gates:
            errors[kind.name] = (WaitingReason.GANG_PENDING, f"{what} cannot be created: {error}")
        elif change.verb is not OwnedVerb.DELETE and kind.needed:
            errors[kind.name] = why_rejected(what, error, change.verb)
        self._events.emit_error(context, what, reason, message, error)
