"""Deleting pods and services that a job must not have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import Plan
from training_controllers.ports import ApiError, Conflict, NotFound, Ports
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.memory import Failures, JobContext
from training_controllers.reconcile.replica_kinds import N, R, ReplicaKind, pod_kind, service_kind
from training_controllers.reconcile.slow_start import slow_start
from training_controllers.reconcile.turn import Turn

DELETE: Final = "delete"
"""Under this name failed deletions wait in the memory of their job."""


class Deleter:
    """Deletes pods, then services, each with slow start; what is gone or terminating is skipped."""

    def __init__(self, ports: Ports, framework: Framework, events: EventDedup) -> None:
        self._ports = ports
        self._events = events
        self._pods, self._services = pod_kind(ports, framework), service_kind(ports)

    async def delete(self, context: JobContext, plan: Plan, turn: Turn) -> None:
        """Delete what the plan asks for in this turn, unless deletions of this job failed a short while ago."""
        now, memory = self._ports.monotonic, context.memory
        if not memory.may_try(DELETE, now()):
            return
        for deletion in plan.delete_pods:
            if deletion.slot is not None and deletion.history is not None:
                memory.history[deletion.slot] = deletion.history
        failures = Failures()
        forced = frozenset(deletion.pod.uid for deletion in plan.delete_pods if deletion.force)
        pods = [deletion.pod for deletion in plan.delete_pods if deletion.force or not deletion.pod.deleting]
        await self._delete_all(context, self._pods, pods, failures, forced, turn=turn)
        services = [service for service in plan.delete_services if not service.deleting]
        await self._delete_all(context, self._services, services, failures, forced, turn=turn)
        memory.tried(DELETE, now(), failures)

    async def _delete_all(
        self,
        context: JobContext,
        kind: ReplicaKind[R, N],
        records: Sequence[R],
        failures: Failures,
        forced: Collection[str],
        *,
        turn: Turn,
    ) -> None:
        await slow_start(records, self._delete, context, kind, failures, forced, over=turn.is_over)
        if records and not failures.failed:
            self._events.clear_error(context, f"delete {kind.noun}")

    async def _delete(
        self, context: JobContext, kind: ReplicaKind[R, N], failures: Failures, forced: Collection[str], record: R
    ) -> bool:
        """Delete one object; returns whether that went well enough to go on."""
        try:
            await kind.objects.delete(record, flow=context.uid, force=record.uid in forced)
        except (NotFound, Conflict):
            # Gone already, perhaps replaced: the watch is about to show it.
            return True
        except (ApiError, OSError) as error:
            return self._failed(context, kind, failures, error)
        self._events.emit_normal(context, f"SuccessfulDelete{kind.name}", f"Deleted {kind.noun}: {record.name}")
        if kind.deleted is not None:
            self._ports.counters.count_object(kind.deleted)
        return True

    def _failed(self, context: JobContext, kind: ReplicaKind[R, N], failures: Failures, error: Exception) -> bool:
        failures.fail(error)
        what = f"delete {kind.noun}"
        self._events.emit_error(context, what, f"FailedDelete{kind.name}", f"Error deleting: {error}", error)
        return False
