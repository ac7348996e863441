"""The shell around the decision: look, decide, write the status, have the effects (new jobs: the other way round)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from training_controllers.engine.announcer import Announcer
from training_controllers.engine.creator import CREATE
from training_controllers.engine.decide import decide, managed_here
from training_controllers.engine.executor import Executor
from training_controllers.engine.expectations import Expectations
from training_controllers.engine.fresh import is_fresh
from training_controllers.engine.injected import judged_by_template
from training_controllers.engine.loading import Loader
from training_controllers.engine.lost_nodes import lost_since
from training_controllers.engine.measures import Standing, measure, standing
from training_controllers.engine.memory import JobMemory, Target
from training_controllers.engine.model import EventType, JobEvent, Plan, Snapshot
from training_controllers.engine.pace import is_rewording
from training_controllers.engine.status_writer import StatusWriter
from training_controllers.engine.templates import changed_types, see
from training_controllers.frameworks.base import Framework
from training_controllers.ports import JobKey, Result, World
from training_controllers.records import JobRecord, PodRecord


class JobReconciler:
    """Brings the jobs of one kind closer to what they ask for, one look at a time."""

    def __init__(self, framework: Framework, world: World, expectations: Expectations) -> None:
        self._framework = framework
        self._world = world
        self._expectations = expectations
        self._loader = Loader(framework.info)
        self._announcer = Announcer(world.events)
        self._statuses = StatusWriter(world.jobs, world.pruned)
        self._executor = Executor(world, framework, expectations, self._announcer)
        self._memory: dict[JobKey, JobMemory] = {}

    async def reconcile(self, key: JobKey) -> Result:
        """Look at the job once. No two calls for one key may run at the same time.

        Raises `ApiError` (often `Conflict`) or `OSError` if the status cannot be stored; then nothing else is done.
        """
        target = self._look(key)
        if target is None:
            return Result()
        if (wait := self._expectations.wait(target.uid)) > 0:
            return Result(wait)
        snapshot = self._snapshot(target)
        plan = decide(snapshot, self._framework)
        if is_fresh(snapshot, plan) and target.memory.may_try(CREATE, self._world.monotonic()):
            await self._execute(target, plan)
            return Result(0.0)  # for the status
        pause = self._pause(target, snapshot, plan)
        if pause > 0 and not _is_rewording(snapshot, plan):
            return Result(pause)  # nothing is done that the stored status does not account for
        if plan.status is not None and pause == 0:
            await self._statuses.write(target, plan.status)
            target.memory.pace.wrote(snapshot.job.status, plan.status, self._world.monotonic())
            self._world.counters.measure(measure(snapshot, plan.status), target.record.namespace)
        target.memory.standing = standing(plan.status or snapshot.job.status)
        self._announce(target, plan)
        await self._execute(target, plan)
        if (target.memory.lacking, target.memory.refused) != (snapshot.lacking, snapshot.refused):
            return Result(0.0)  # to say so in the status
        return Result(self._next_look(target, plan, pause or None))

    def _pause(self, target: Target, snapshot: Snapshot, plan: Plan) -> float:
        """Seconds until the status may be written."""
        if plan.status is None:
            return 0.0
        return target.memory.pace.wait(snapshot.job.status, plan.status, self._world.monotonic())

    def census(self) -> Iterator[tuple[str, Standing]]:
        """Return the namespace of each job that is looked after here, and how it stands."""
        return ((namespace, memory.standing) for (namespace, _), memory in self._memory.items())

    def _look(self, key: JobKey) -> Target | None:
        """Find the job; None if there is nothing to be done for it."""
        record = self._world.jobs.get(key)
        self._forget_predecessor(key, record)
        if record is None:
            return None
        memory = self._memory.setdefault(key, JobMemory(record.uid))
        if memory.raw != record.raw:
            self._loader.forget(memory.raw)
            memory.raw = record.raw
        loaded = self._loader.load(record)
        job = loaded.job
        if job is not None and (job.metadata.deletion_timestamp is not None or not managed_here(job)):
            return None
        if loaded.problem:
            self._refuse(record, memory, loaded.problem)
        if job is None or loaded.problem:
            return None
        memory.begin(job.metadata.generation, self._world.monotonic(), job.status.waiting)
        return Target(record, job, memory)

    def _forget_predecessor(self, key: JobKey, record: JobRecord | None) -> None:
        """Drop what is remembered of a job that is gone, whether another one has its name or not."""
        known = self._memory.get(key)
        if known is not None and (record is None or record.uid != known.uid):
            self._expectations.forget(known.uid)
            self._loader.forget(known.raw)
            del self._memory[key]

    def _refuse(self, record: JobRecord, memory: JobMemory, problem: str) -> None:
        kind = self._framework.info.kind
        if memory.first_time(f"invalid/{problem}"):
            message = f"{kind} failed validation because {problem}"
            self._world.events.record(record, JobEvent(EventType.WARNING, f"{kind}FailedValidation", message))

    def _snapshot(self, target: Target) -> Snapshot:
        """Everything the decision may depend on, read without waiting in between, so that it fits together."""
        world, record = self._world, target.record
        job = self._statuses.completed(target)
        pods = judged_by_template(job, world.pods.of_job(record.uid))
        return Snapshot(
            job=job,
            pods=pods,
            services=world.services.of_job(record.uid),
            now=world.now(),
            companions=[each for sort in world.companions.values() for each in sort.of_job(record.uid)],
            missing=frozenset(kind for kind, sort in world.companions.items() if sort.missing),
            priorities=world.priorities(),
            carried=dict(target.memory.carried),
            lacking=dict(target.memory.lacking),
            lost_nodes=self._lost_nodes(target, pods),
            changed_templates=changed_types(job, target.memory.templates),
            refused=dict(target.memory.refused),
        )

    def _lost_nodes(self, target: Target, pods: Sequence[PodRecord]) -> dict[str, datetime]:
        """The lost nodes of the pods, and when these are given up."""
        nodes, memory = self._world.nodes, target.memory
        if nodes is None:
            return {}
        seen = nodes.lost({pod.node for pod in pods if pod.node})
        memory.lost_nodes = lost_since(seen, memory.lost_nodes, self._world.now())
        return {node: since + nodes.patience for node, since in memory.lost_nodes.items()}

    def _announce(self, target: Target, plan: Plan) -> None:
        for event in plan.events:
            self._announcer.tell(target, event)
        for counter in plan.counters:
            self._world.counters.count_job(counter, target.record.namespace)

    async def _execute(self, target: Target, plan: Plan) -> None:
        """Have the effects, of pods made from the templates as they are now."""
        target.memory.templates = see(target.job, target.memory.templates)
        await self._executor.execute(target, plan)

    def _next_look(self, target: Target, plan: Plan, pause: float | None) -> float | None:
        unseen = self._expectations.wait(target.uid) or None
        waits = (plan.again_after, target.memory.wait(self._world.monotonic()), unseen, pause)
        return min((wait for wait in waits if wait is not None), default=None)


def _is_rewording(snapshot: Snapshot, plan: Plan) -> bool:
    return plan.status is not None and is_rewording(snapshot.job.status, plan.status)
