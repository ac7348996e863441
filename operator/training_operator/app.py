"""The wiring of the operator: caches, queues, controllers; what starts and stops in which order.

Start: probes and metrics, caches, leadership, controllers. Stop: not ready any more, nothing is watched,
queues hand out nothing, nothing more is sent for jobs, requests on the way are answered, events are sent, the lease is
given back, connections close.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

import structlog

from training_api.constants import JOB_NAME_LABEL
from training_api.kinds import KindInfo
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.plugins import plugins
from training_controllers.frameworks.registry import frameworks
from training_controllers.model.owned_objects import OwnedKind, RandomBytes
from training_controllers.model.records import JobRecord, OwnedRecord, PriorityClassRecord
from training_controllers.ports import Compute, JobKey, Ports, compute_here
from training_controllers.reconcile.reconciler import JobReconciler
from training_operator.adapters import CachedDependents, CachedJobs, CachedServices, UnwatchedDependents
from training_operator.cache.labelled import Labelled
from training_operator.cache.reflector import OwnerCheck, Reflector
from training_operator.cache.store import Store
from training_operator.controller import Controller
from training_operator.events import EventRecorder
from training_operator.framework_options import framework_options
from training_operator.health import metric_routes, probe_routes, serving
from training_operator.kube.client import KubeClient
from training_operator.kube.flow import FairGate, TokenBucket
from training_operator.kube.foreign_crd import why_foreign
from training_operator.kube.resources import (
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SERVICES,
    Cacheable,
    Resource,
    jobs,
    owned_resource,
)
from training_operator.kube.transport import Transport
from training_operator.leader import LeaderElector, LeaseName
from training_operator.metrics import Metrics
from training_operator.nodes import NodeCache
from training_operator.queue import WorkQueue
from training_operator.settings import Settings
from training_operator.triggers import KindQueue, Triggers

GRACE_SECONDS: Final = 8.0
"""For answers to requests on the way at the end; below the 10 s that v1's manifest gives the pod."""
FLUSH_SECONDS: Final = 0.15
"""For events at the end: another leader waits meanwhile, and is to work within a second."""
OUTSIDE: Final = "kubeflow"
"""Namespace of the lease for a process that is in none."""
SILENCE_SECONDS: Final = 1200.0
"""A reflector that has done nothing for so long is stuck: twice the longest watch."""

D = TypeVar("D", bound=Cacheable)


@dataclass(frozen=True, slots=True)
class Kind:
    """What belongs to one job kind."""

    info: KindInfo
    store: Store[JobRecord]
    reflector: Reflector[JobRecord]
    queue: WorkQueue[JobKey]
    controller: Controller[JobKey]


@dataclass(frozen=True, slots=True)
class OwnedCache:
    """The cache of one kind of owned objects next to pods and services."""

    resource: Resource[OwnedRecord]
    store: Store[OwnedRecord]
    reflector: Reflector[OwnedRecord]


class App:
    """The whole operator on one API server; lives in the event loop that is running when it is made."""

    def __init__(
        self,
        settings: Settings,
        transport: Transport,
        *,
        rng: random.Random | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        random_bytes: RandomBytes = os.urandom,
        identity: str = "",
        compute: Compute = compute_here,
    ) -> None:
        self._settings, self._now, self._random_bytes, self._compute = settings, now, random_bytes, compute
        self._rng = rng or random.Random()
        self._clock = asyncio.get_running_loop().time
        self._stopping = False
        self._reflector_tasks: list[asyncio.Task[None]] = []
        self.metrics = Metrics()
        bucket = TokenBucket(settings.kube_api_qps, settings.kube_api_burst) if settings.kube_api_qps else None
        self._elector = self._make_elector(transport, identity) if settings.leader_elect else None
        self._gate = FairGate(bucket=bucket)
        self._client = KubeClient(transport, self._gate, self._rng, self.metrics.count_request, fence=self._elector)
        self._events = EventRecorder(self._client, now, self._clock)
        self._triggers = Triggers(self.metrics)
        self._pods, self._pod_reflector = self._cache(PODS, JOB_NAME_LABEL)
        self._services, self._service_reflector = self._cache(SERVICES, JOB_NAME_LABEL)
        self._labelled = Labelled(self._services)
        known = frameworks(framework_options(settings))
        for problem in plugins().problems:
            structlog.get_logger().error("a framework cannot be loaded", error=problem)
        chosen = [known[kind] for kind in settings.kinds]
        watched = {each.name: each for framework in chosen for each in framework.owned_kinds if each.watched}
        self._owned_caches = {name: self._cache_owned_kind(kind) for name, kind in watched.items()}
        gang = any(framework.gang and framework.gang.pod_group for framework in chosen)
        self._priority_classes = self._cache_priority_classes() if gang else None
        self._nodes = self._cache_nodes()
        self._kinds = {framework.info.kind: self._build_controller(framework) for framework in chosen}
        self._subscribe_triggers()

    async def wait_synced(self) -> None:
        """Wait until all caches have been filled, or are known to be of resources that the server does not have."""
        for reflector in self._reflectors:
            await reflector.settled.wait()

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then end in good order.

        Raises `CannotListen` for an address that cannot be served, and `LeadershipLost`, in a group, at once.
        """
        async with AsyncExitStack() as stack:
            settings, flag = self._settings, "--health-probe-bind-address"
            probes = probe_routes(self._unhealthy, self._unready)
            await stack.enter_async_context(serving(settings.health_probe_bind_address, probes, flag))
            scrape = metric_routes(self.metrics.exposition)
            await stack.enter_async_context(serving(settings.metrics_bind_address, scrape, "--metrics-bind-address"))
            await self._work(stop)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run inside the context, and end in good order with it."""
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.run(stop))
            try:
                yield
            finally:
                stop.set()

    async def _work(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._start_reflectors(tasks)
            sending = tasks.create_task(self._events.run())
            reporting = tasks.create_task(self._log_missing_crds())
            acting = tasks.create_task(self._lead_and_reconcile(tasks))
            await stop.wait()
            self._stopping = True
            await self._drain()
            acting.cancel()
            await asyncio.wait([acting])
            if self._elector is not None:
                await self._elector.release()
            for task in (*self._reflector_tasks, sending, reporting):
                task.cancel()

    def _start_reflectors(self, tasks: asyncio.TaskGroup) -> None:
        self._reflector_tasks = [tasks.create_task(each.run()) for each in self._reflectors]

    async def _log_missing_crds(self) -> None:
        """Log once, at the start, how the CRDs of all kinds without one are installed."""
        for kind in self._kinds.values():
            await kind.reflector.settled.wait()
        if missing := [kind.info.kind for kind in self._kinds.values() if kind.reflector.absent]:
            command = "training-operator crds | kubectl apply --server-side -f -"
            structlog.get_logger().warning(
                "CRDs are missing: jobs of these kinds do not run", kinds=missing, run=command
            )

    async def _relist(self, tasks: asyncio.TaskGroup) -> None:
        """Fill all caches from what the server has now: what they hold may be older than what the last leader did."""
        for task in self._reflector_tasks:
            task.cancel()
        await asyncio.wait(self._reflector_tasks)
        for reflector in self._reflectors:
            reflector.forget()
        self._start_reflectors(tasks)

    async def _lead_and_reconcile(self, following: asyncio.TaskGroup) -> None:
        """Lead, with leader election, and run the controllers while leading."""
        if self._elector is not None:
            await self._elector.acquire()
            await self._relist(following)
        self._triggers.leading = True
        async with asyncio.TaskGroup() as tasks:
            if self._elector is not None:
                tasks.create_task(self._elector.keep())
            for kind in self._kinds.values():
                tasks.create_task(self._run_controller(kind))

    async def _run_controller(self, kind: Kind) -> None:
        """Wait for the caches that decisions of this kind need; those of other kinds are not waited for."""
        needed: tuple[Reflector[Any], ...] = (kind.reflector, self._pod_reflector, self._service_reflector)
        for reflector in (*needed, *self._cluster_wide):
            await reflector.settled.wait()
        await kind.controller.run()

    async def _drain(self) -> None:
        """Begin nothing more, have an answer to all that has been sent, and send the events.

        Reconciles end where they are: what comes next is decided from what is stored, as after a crash.
        """
        for task in self._reflector_tasks:
            task.cancel()
        for kind in self._kinds.values():
            kind.queue.close()
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self._gate.close()
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._events.flush()
        except TimeoutError:
            structlog.get_logger().warning("stopped before all work was finished")

    @property
    def _reflectors(self) -> tuple[Reflector[Any], ...]:
        of_kinds = (kind.reflector for kind in self._kinds.values())
        of_owned = (owned.reflector for owned in self._owned_caches.values())
        return (*of_kinds, self._pod_reflector, self._service_reflector, *of_owned, *self._cluster_wide)

    @property
    def _cluster_wide(self) -> tuple[Reflector[Any], ...]:
        of_classes = () if self._priority_classes is None else (self._priority_classes[1],)
        return of_classes if self._nodes is None else (*of_classes, self._nodes.reflector)

    def _cache(
        self,
        resource: Resource[D],
        selector: str = "",
        keep: Callable[[D], bool] = lambda record: True,
        on_change: Callable[[], None] = lambda: None,
        foreign_crd: OwnerCheck | None = None,
        *,
        namespaced: bool = True,
        optional: bool = False,
    ) -> tuple[Store[D], Reflector[D]]:
        store = Store[D]()
        reflector = Reflector(
            self._client,
            resource,
            store,
            rng=self._rng,
            namespace=self._settings.namespace if namespaced else "",
            selector=selector,
            keep=keep,
            on_change=on_change,
            undecodable=self.metrics.undecodable(resource.qualified),
            foreign_crd=foreign_crd,
            optional=optional,
        )
        return store, reflector

    def _cache_priority_classes(self) -> tuple[Store[PriorityClassRecord], Reflector[PriorityClassRecord]]:
        """Optional: v1's roles do not allow to list them, and gangs are scheduled without them as well (K-11)."""
        return self._cache(PRIORITY_CLASSES, namespaced=False, optional=True)

    def _cache_nodes(self) -> NodeCache | None:
        """Only if a flag enables to replace pods on lost nodes: v1's roles do not allow to list nodes."""
        lost_after = self._settings.replace_pods_on_lost_nodes_after
        if lost_after is None:
            return None
        return NodeCache(
            self._client,
            lost_after,
            rng=self._rng,
            now=self._now,
            undecodable=self.metrics.undecodable(NODES.qualified),
            on_change=self._enqueue_jobs_on_node,
        )

    def _enqueue_jobs_on_node(self, name: str) -> None:
        """Enqueue the jobs that have pods on a node."""
        self._triggers.enqueue_owners([pod for pod in self._pods if pod.node == name])

    def _priorities(self) -> dict[str, int]:
        records = () if self._priority_classes is None else tuple(self._priority_classes[0])
        values = {each.name: each.value for each in records}
        defaults = [each.value for each in records if each.default]
        return values | {"": max(defaults)} if defaults else values

    def _of_our_kind(self, record: OwnedRecord) -> bool:
        return record.owner is not None and record.owner.kind in self._settings.kinds

    def _cache_owned_kind(self, kind: OwnedKind) -> OwnedCache:
        resource = owned_resource(kind)
        store, reflector = self._cache(
            resource, kind.label, self._of_our_kind, self._triggers.enqueue_all, optional=True
        )
        return OwnedCache(resource, store, reflector)

    def _dependents(self, kind: OwnedKind) -> CachedDependents[OwnedRecord]:
        if not kind.watched:
            return UnwatchedDependents(self._client, owned_resource(kind))
        known = self._owned_caches[kind.name]
        return CachedDependents(self._client, known.resource, known.store, lambda: known.reflector.absent)

    def _build_controller(self, framework: Framework) -> Kind:
        info, settings = framework.info, self._settings
        resource = jobs(info)
        foreign = partial(why_foreign, self._client, resource)
        # Without the permission to list jobs of one kind the operator serves the others.
        store, reflector = self._cache(resource, foreign_crd=foreign, optional=True)
        name, workers = info.controller_name, settings.controller_threads
        queue = WorkQueue[JobKey](self._clock, self.metrics.queue(name, lambda: queue), workers)
        ports = Ports(
            jobs=CachedJobs(self._client, resource, store),
            pods=CachedDependents(self._client, PODS, self._pods),
            services=CachedServices(self._client, self._services, self._labelled),
            owned={kind.name: self._dependents(kind) for kind in framework.owned_kinds},
            events=self._events.of(info),
            counters=self.metrics.job_counters(info),
            now=self._now,
            random_bytes=self._random_bytes,
            monotonic=self._clock,
            priorities=self._priorities,
            nodes=self._nodes,
            compute=self._compute,
            others_wait=queue.is_crowded,
            pruned=partial(_warn_of_old_crd, resource),
        )
        reconciler = JobReconciler(framework, ports)
        self.metrics.jobs(info, reconciler.job_states)
        controller = Controller(
            name,
            queue,
            reconciler,
            self.metrics.controller(name, workers),
            workers=workers,
            clock=self._clock,
            describe=lambda key: {"kind": info.kind, "namespace": key[0], "name": key[1]},
        )
        return Kind(info, store, reflector, queue, controller)

    def _subscribe_triggers(self) -> None:
        """Subscribe the triggers to all caches."""
        for kind in self._kinds.values():
            self._triggers.watch_jobs(KindQueue(kind.info, kind.store, kind.queue))
        self._triggers.watch_pods(self._pods)
        self._triggers.watch_dependents(self._services)
        for owned in self._owned_caches.values():
            self._triggers.watch_dependents(owned.store)

    def _make_elector(self, transport: Transport, identity: str) -> LeaderElector:
        """Its requests pass a gate of their own, so that a renewal waits for nothing, not even writes that hang."""
        settings = self._settings
        return LeaderElector(
            KubeClient(transport, FairGate(), self._rng, self.metrics.count_request),
            LeaseName(settings.operator_namespace or OUTSIDE, settings.leader_election_id),
            identity or f"{socket.gethostname()}_{uuid.UUID(int=self._rng.getrandbits(128))}",
            clock=self._clock,
            now=self._now,
            rng=self._rng,
            observe=self.metrics.leader(settings.leader_election_id),
        )

    def _unhealthy(self) -> str:
        silent = [each.name for each in self._reflectors if self._clock() - each.progress > SILENCE_SECONDS]
        return f"no watch events of {', '.join(silent)} for {SILENCE_SECONDS:g} s" if silent else ""

    def _unready(self) -> str:
        if self._stopping:
            return "stopping"
        waiting = [each for each in self._reflectors if not each.settled.is_set()]
        # Two caches may be of one resource, with different labels.
        reasons = "; ".join(dict.fromkeys(f"{each.name}: {each.last_error or 'being listed'}" for each in waiting))
        return f"caches are not filled: {reasons}" if waiting else ""


def _warn_of_old_crd(resource: Resource[JobRecord]) -> None:
    structlog.get_logger().warning(
        "the CRD of this kind is older than the operator: restart counts and waiting reasons are kept in "
        "memory only, and are lost with the leader; apply crds/ to store them in the status",
        resource=resource.qualified,
    )
