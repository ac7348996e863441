"""Reconciling a job: load, decide, write the status, execute the plan (new jobs: the other way round)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

import structlog

from training_controllers.decide.decide import decide, managed_here
from training_controllers.decide.measures import JobPhase, measure, phase
from training_controllers.decide.new_job import creates_pods_first
from training_controllers.decide.template_changes import changed_types, fingerprint_templates
from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import EventType, JobEvent, Plan, Snapshot
from training_controllers.model.records import JobRecord, PodRecord
from training_controllers.observe.injected_sidecars import phases_by_template
from training_controllers.observe.lost_nodes import lost_since
from training_controllers.ports import JobKey, Ports, Result
from training_controllers.reconcile.creator import CREATE
from training_controllers.reconcile.events import EventDedup
from training_controllers.reconcile.executor import Executor
from training_controllers.reconcile.loader import Loader
from training_controllers.reconcile.memory import JobContext, JobMemory
from training_controllers.reconcile.status_throttle import is_recount, is_rewording
from training_controllers.reconcile.status_writer import StatusWriter

LARGE: Final = 500
"""Pods of a job on which is not decided in the event loop: it takes 4 to 50 us for each of them."""


class JobReconciler:
    """Brings the jobs of one kind closer to their specs, one reconcile at a time."""

    def __init__(self, framework: Framework, ports: Ports) -> None:
        self._framework = framework
        self._ports = ports
        self._loader = Loader(framework)
        self._events = EventDedup(ports.events)
        self._statuses = StatusWriter(ports.jobs, self._loader.status, ports.pruned)
        self._executor = Executor(ports, framework, self._events)
        self._memory: dict[JobKey, JobMemory] = {}
        self._log = structlog.get_logger().bind(kind=framework.info.kind)

    async def reconcile(self, key: JobKey) -> Result:
        """Reconcile the job once. No two calls for one key may run at the same time.

        Raises `ApiError` (often `Conflict`) or `OSError` if the status cannot be stored; then nothing else is done.
        """
        context = self._load(key)
        namespace, name = key
        if context is None:
            self._log.debug("reconciled", namespace=namespace, name=name, policy="ignored")
            return Result()
        snapshot, plan = await self._decided(self._snapshot(context))
        result = Result(await self._apply(context, snapshot, plan))
        self._log.debug(
            "reconciled",
            namespace=namespace,
            name=name,
            policy=plan.policy,
            status_changed=plan.status is not None,
            pods=len(snapshot.pods),
            creates=len(plan.create_pods) + len(plan.create_services),
            deletes=len(plan.delete_pods) + len(plan.delete_services),
            owned_changes=len(plan.owned_changes),
            requeue_after=result.requeue_after,
        )
        return result

    async def _decided(self, seen: Snapshot) -> tuple[Snapshot, Plan]:
        """The snapshot with the phases that count, and the plan; what changes meanwhile leads to another reconcile."""
        decision = partial(self._decide, seen)
        return await self._ports.compute(decision) if len(seen.pods) > LARGE else decision()

    def _decide(self, seen: Snapshot) -> tuple[Snapshot, Plan]:
        snapshot = replace(seen, pods=phases_by_template(seen.job, seen.pods))
        return snapshot, decide(snapshot, self._framework)

    async def _apply(self, context: JobContext, snapshot: Snapshot, plan: Plan) -> float | None:
        """Write the status, emit events, execute the plan; returns after how many seconds to requeue."""
        memory, decided = context.memory, self._ports.monotonic()
        untouched = memory.templates is None  # once: pods that no cache shows would be created without end
        if untouched and creates_pods_first(snapshot, plan) and memory.may_try(CREATE, self._ports.monotonic()):
            complete = await self._execute(context, plan) and memory.wait(self._ports.monotonic()) is None
            return None if complete else 0.0  # that the pods are there leads to the next reconcile
        throttled = self._throttled(context, snapshot, plan)
        if throttled > 0 and not _may_stay_unwritten(snapshot, plan):
            return throttled  # nothing is done that the stored status does not account for
        if plan.status is not None and throttled == 0:
            await self._statuses.write(context, plan.status)
            memory.throttle.wrote(snapshot.job.status, plan.status, self._ports.monotonic())
            self._ports.counters.measure(measure(snapshot, plan.status), context.record.namespace)
        memory.phase = phase(plan.status or snapshot.job.status)
        self._emit(context, plan)
        if not await self._execute(context, plan):
            return 0.0  # after those that wait for a worker
        if (memory.owned_errors, memory.create_errors) != (snapshot.owned_errors, snapshot.create_errors):
            return 0.0  # to store the errors in the status
        now = self._ports.monotonic()  # requests may have taken long, and deadlines count from the decision
        waits = [wait - (now - decided) for wait in (plan.requeue_after, throttled or None) if wait is not None]
        if (retry := memory.wait(now)) is not None:
            waits.append(retry)
        return max(min(waits), 0.0) if waits else None

    def _throttled(self, context: JobContext, snapshot: Snapshot, plan: Plan) -> float:
        """Seconds until the status may be written."""
        if plan.status is None:
            return 0.0
        job = snapshot.job
        replicas = sum(map(job.count, job.replicas))
        return context.memory.throttle.wait(job.status, plan.status, self._ports.monotonic(), replicas)

    def job_states(self) -> Iterator[tuple[str, JobPhase]]:
        """Return the namespace of each job that this process reconciles, and its phase."""
        return ((namespace, memory.phase) for (namespace, _), memory in self._memory.items())

    def _load(self, key: JobKey) -> JobContext | None:
        """Find the job; None if there is nothing to be done for it."""
        record = self._ports.jobs.get(key)
        self._forget_predecessor(key, record)
        if record is None:
            return None
        memory = self._memory.setdefault(key, JobMemory(record.uid))
        loaded = self._loader.load(record)
        job = loaded.job
        if job is not None and (job.metadata.deletion_timestamp is not None or not managed_here(job)):
            return None
        if loaded.problem:
            self._reject(record, memory, loaded.problem)
        if job is None or loaded.problem:
            return None
        memory.begin(job.metadata.generation, self._ports.monotonic(), job.status.waiting)
        return JobContext(record, job, memory)

    def _forget_predecessor(self, key: JobKey, record: JobRecord | None) -> None:
        """Drop what is remembered of a job that no longer exists, whether another one has its name or not."""
        known = self._memory.get(key)
        if known is not None and (record is None or record.uid != known.uid):
            self._loader.forget(known.uid)
            del self._memory[key]

    def _reject(self, record: JobRecord, memory: JobMemory, problem: str) -> None:
        kind = self._framework.info.kind
        if memory.first_time(f"invalid/{problem}"):
            message = f"{kind} failed validation because {problem}"
            self._ports.events.record(record, JobEvent(EventType.WARNING, f"{kind}FailedValidation", message))

    def _snapshot(self, context: JobContext) -> Snapshot:
        """Everything the decision may depend on, read without waiting in between, so that it fits together."""
        ports, record = self._ports, context.record
        owner = (record.namespace, record.uid)  # a uid from another namespace is no reference
        job = self._statuses.completed(context)
        pods = ports.pods.of_job(*owner)
        return Snapshot(
            job=job,
            pods=pods,
            services=ports.services.of_job(*owner),
            now=ports.now(),
            owned_objects=[each for objects in ports.owned.values() for each in objects.of_job(*owner)],
            absent_kinds=frozenset(kind for kind, objects in ports.owned.items() if objects.absent),
            priorities=ports.priorities(),
            history=dict(context.memory.history),
            owned_errors=dict(context.memory.owned_errors),
            lost_nodes=self._lost_nodes(context, pods),
            changed_templates=changed_types(job, context.memory.templates),
            create_errors=dict(context.memory.create_errors),
        )

    def _lost_nodes(self, context: JobContext, pods: Sequence[PodRecord]) -> dict[str, datetime]:
        """The lost nodes of the pods, and when these count as lost."""
        nodes, memory = self._ports.nodes, context.memory
        if nodes is None:
            return {}
        seen = nodes.lost({pod.node for pod in pods if pod.node})
        memory.lost_nodes = lost_since(seen, memory.lost_nodes, self._ports.now())
        return {node: since + nodes.lost_after for node, since in memory.lost_nodes.items()}

    def _emit(self, context: JobContext, plan: Plan) -> None:
        self._events.emit(context, *plan.events)
        for counter in plan.counters:
            self._ports.counters.count_job(counter, context.record.namespace)

    async def _execute(self, context: JobContext, plan: Plan) -> bool:
        """Execute the plan, and remember the templates that its pods are created from; False if its turn was over."""
        context.memory.templates = fingerprint_templates(context.job, context.memory.templates)
        return await self._executor.execute(context, plan)


def _may_stay_unwritten(snapshot: Snapshot, plan: Plan) -> bool:
    """Whether the plan may be executed without its status: nothing that is done depends on what is new in that."""
    before, after, deletes = snapshot.job.status, plan.status, plan.delete_pods or plan.delete_services
    return after is None or is_rewording(before, after) or (is_recount(before, after) and not deletes)
