"""Applying what a plan says about owned objects beside pods and services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from training_controllers.model.owned_objects import OWNED_KINDS, POD_GROUP
from training_controllers.model.plan import OwnedChange, OwnedVerb, WaitingReason
from training_controllers.ports import AlreadyExists, ApiError, Conflict, NotFound, ObjectCounter, Ports
from training_controllers.reconcile.builders import build_owned_object
from training_controllers.reconcile.create_errors import foreign_owner, why_refused
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

    async def apply(self, context: JobContext, changes: tuple[OwnedChange, ...]) -> None:
        """Make all the changes; one that fails keeps no other from being made."""
        for change in changes:
            await self._apply(context, change)

    async def _apply(self, context: JobContext, change: OwnedChange) -> None:
        now, memory, what = self._ports.monotonic, context.memory, f"{change.kind} {change.name}"
        key = (change.kind, change.name)
        if not memory.may_try(what, now()) or key in memory.names_taken or key in memory.created_unwatched:
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
            # The cache is behind; the watch will show what is there now.
            failures.fail()
        except (ApiError, OSError) as error:
            failures.fail(error)
            self._report(context, change, what, error)
        memory.tried(what, now(), failures)

    async def _send(self, context: JobContext, change: OwnedChange) -> None:
        objects, uid = self._ports.owned[change.kind], context.uid
        match change.verb, change.record:
            case OwnedVerb.DELETE, record if record is not None:
                await objects.delete(record, flow=uid)
            case OwnedVerb.PATCH, record if record is not None:
                await objects.patch(record, change.patch, flow=uid)
                return
            case _, record:
                assert change.wanted is not None
                body = build_owned_object(context.job, change.wanted, self._ports.random_bytes)
                if record is not None:
                    await objects.replace(record, body, flow=uid)
                elif not await self._create(context, change, body):
                    return
        if (counter := COUNTERS.get((change.kind, change.verb))) is not None:
            self._ports.counters.count_object(counter)

    async def _create(self, context: JobContext, change: OwnedChange, body: Mapping[str, object]) -> bool:
        """Create the object; returns False if it existed already."""
        kind, objects = OWNED_KINDS[change.kind], self._ports.owned[change.kind]
        created = True
        try:
            await objects.create(context.record.namespace, body, flow=context.uid)
        except AlreadyExists:
            created = False
        if not kind.watched:
            context.memory.created_unwatched.add((kind.name, change.name))
        elif not created and (
            warning := await foreign_owner(context, objects, kind.name, change.name, "the job gets its own")
        ):
            context.memory.names_taken[kind.name, change.name] = self._ports.monotonic() + NAME_TAKEN_RETRY
            if not kind.shared:
                self._events.emit(context, warning)
            if not kind.shared and not kind.optional:
                context.memory.owned_errors[kind.name] = (warning.reason, warning.message)
        return created

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
        elif change.verb is OwnedVerb.CREATE and not kind.optional:
            errors[kind.name] = why_refused(what, error)
        self._events.emit_error(context, what, reason, message, error)
