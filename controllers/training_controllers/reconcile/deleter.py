"""Deleting pods and services that a job must not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from training_api.conditions import is_finished
from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import EventType, JobEvent, Plan
from training_controllers.model.records import ServiceRecord
from training_controllers.ports import ApiError, Conflict, NotFound, Ports
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.memory import Failures, JobContext
from training_controllers.reconcile.replica_kinds import N, R, ReplicaKind, pod_kind, service_kind
from training_controllers.reconcile.slow_start import slow_start
from training_controllers.reconcile.turn import Turn

DELETE: Final = "delete"
"""Under this name failed deletions wait in the memory of their job."""
TOGETHER: Final = 3
"""So many services of a finished job may be deleted by one request; fewer are not worth a look at the namespace."""


class Deleter:
    """Deletes pods, then services, each with slow start; what no longer exists or terminating is skipped."""

    def __init__(self, ports: Ports, framework: Framework, events: EventDedup) -> None:
        self._ports = ports
        self._events = events
        self._pods, self._services = pod_kind(ports, framework), service_kind(ports)

    async def delete(self, context: JobContext, plan: Plan, turn: Turn) -> None:
        """Delete the pods and services of the plan in this turn, unless deletions of this job back off."""
        now, memory = self._ports.monotonic, context.memory
        if not memory.may_try(DELETE, now()):
            return
        for deletion in plan.delete_pods:
            if deletion.slot is not None and deletion.history is not None:
                memory.history[deletion.slot] = deletion.history
        failures = Failures()
        forced = frozenset(deletion.pod.uid for deletion in plan.delete_pods if deletion.force)
        pods = [deletion.pod for deletion in plan.delete_pods if deletion.force or not deletion.pod.deleting]
        await self._delete_all(context, self._pods, pods, failures, with_events=pods, forced=forced, turn=turn)
        services: Sequence[ServiceRecord] = [each for each in plan.delete_services if not each.deleting]
        with_events = services
        if is_finished(context.job.status):
            # v1 deletes services with their pods, and emits events of these; it keeps the others.
            with_events = [service for service in services if service.name in {pod.name for pod in pods}]
            services = await self._delete_together(context, services, failures, with_events)
        await self._delete_all(context, self._services, services, failures, with_events=with_events, turn=turn)
        memory.tried(DELETE, now(), failures)

    async def _delete_together(
        self,
        context: JobContext,
        services: Sequence[ServiceRecord],
        failures: Failures,
        with_events: Collection[ServiceRecord],
    ) -> Sequence[ServiceRecord]:
        """Delete the services of a finished job by one request, where that is safe; returns those that are left."""
        if len(services) < TOGETHER:
            return services
        try:
            if not await self._ports.services.delete_together(services, flow=context.uid):
                return services
        except (ApiError, OSError) as error:
            self._failed(context, self._services, failures, error)
        else:
            self._emit_deleted(context, self._services, with_events)
        return ()

    async def _delete_all(
        self,
        context: JobContext,
        kind: ReplicaKind[R, N],
        records: Sequence[R],
        failures: Failures,
        *,
        with_events: Collection[R],
        forced: Collection[str] = frozenset(),
        turn: Turn,
    ) -> None:
        """Delete the records, those with uids in `forced` by force, and emit events of those in `with_events`."""
        deleted: set[str] = set()

        async def delete(record: R) -> bool:
            return await self._delete(context, kind, failures, record, deleted, force=record.uid in forced)

        try:
            await slow_start(records, delete, over=turn.is_over)
        finally:
            self._emit_deleted(context, kind, [record for record in with_events if record.uid in deleted])
        if records and not failures.failed:
            self._events.clear_error(context, f"delete {kind.noun}")

    async def _delete(
        self,
        context: JobContext,
        kind: ReplicaKind[R, N],
        failures: Failures,
        record: R,
        deleted: set[str],
        *,
        force: bool,
    ) -> bool:
        """Delete one object, and note that; returns whether that went well enough to continue."""
        try:
            await kind.objects.delete(record, flow=context.uid, force=force, cleanup=is_finished(context.job.status))
        except (NotFound, Conflict):
            # Gone already, perhaps replaced: the watch is about to show it.
            return True
        except (ApiError, OSError) as error:
            return self._failed(context, kind, failures, error)
        deleted.add(record.uid)
        if kind.deleted is not None:
            self._ports.counters.count_object(kind.deleted)
        return True

    def _emit_deleted(self, context: JobContext, kind: ReplicaKind[R, N], deleted: Collection[R]) -> None:
        reason, what, names = f"SuccessfulDelete{kind.name}", f"Deleted {kind.noun}", [each.name for each in deleted]
        self._events.emit(
            context, *(JobEvent(EventType.NORMAL, reason, f"{what}: {name}", about=name) for name in names)
        )

    def _failed(self, context: JobContext, kind: ReplicaKind[R, N], failures: Failures, error: Exception) -> bool:
        failures.fail(error)
        what = f"delete {kind.noun}"
        self._events.emit_error(context, what, f"FailedDelete{kind.name}", f"Error deleting: {error}", error)
        return False
