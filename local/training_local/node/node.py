"""The node: follows pods, gives each of its own a worker, and hands out their logs."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from training_api import quantity
from training_local.apiserver.errors import bad_request, internal
from training_local.apiserver.exec import Channels, ExecOptions, Execution
from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.apiserver.metrics_api import Measurement
from training_local.apiserver.pods import Lines, LogOptions
from training_local.apiserver.portforward import Dial
from training_local.node import gpus, machine, scratch, stats, status, tools, volumes
from training_local.node.api import Change, TransportApi
from training_local.node.cgroups import Hierarchies, open_hierarchies, own_limits
from training_local.node.claims import Claims
from training_local.node.context import NodeConfig, NodeContext
from training_local.node.egress.mode import NetworkMode
from training_local.node.hosts import Service
from training_local.node.limits import Limits
from training_local.node.log_files import LogFiles, attempts
from training_local.node.logs import LogReader
from training_local.node.network import API_ADDRESS, Network
from training_local.node.placement import Placement
from training_local.node.pod import PodWorker
from training_local.node.podspec import Pod, Wire, parse_pod
from training_local.node.programs import converse
from training_local.node.refreshing import Objects, Refresher
from training_local.node.resolver import resolver_files
from training_local.node.retry import persistently
from training_local.node.sandbox.client import SandboxError
from training_local.node.sandbox.messages import Setup
from training_local.node.status import CREATING
from training_local.node.volumes import VolumeError, safe_name

_log = structlog.get_logger(__name__)

SHUTDOWN_SECONDS = 3.0
"""How long processes may take to end with the node, if their grace period is not shorter."""


class Node:
    """A kubelet: turns the pods of an API server into processes of this machine."""

    def __init__(self, api: TransportApi, config: NodeConfig, endpoint: InClusterEndpoint | None = None) -> None:
        """`endpoint` is how pods reach the API server; without one they do not."""
        self._api, self._config, self._endpoint = api, config, endpoint
        self._workers: dict[str, PodWorker] = {}
        self._placement = Placement(api, config.name, own_networks=config.mode == "netns")
        self._tasks: asyncio.TaskGroup | None = None
        self._meter = stats.Meter(lambda: stats.read(self._workers.values(), config.mode))

    async def run(self) -> None:
        """Work until cancelled; then every process has gone."""
        config, state = self._config, self._config.state
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        state.chmod(0o700)
        for leftover in ("work", "root"):  # of a node that was killed
            shutil.rmtree(state / leftover, ignore_errors=True)
        (state / "root").mkdir()
        hidden = str(config.hidden or state)
        limits = Limits(self._hierarchies(), config.mode)
        devices = gpus.offered(config.gpus, os.environ)
        amounts = machine.offered(machine.capacity(state, len(devices), own_limits()), config.cpus, config.memory)
        resolver = resolver_files(state / "etc", "" if config.network is NetworkMode.NONE else API_ADDRESS)
        setup = Setup(config.mode, str(state / "root"), hidden, resolver, config.cluster)
        self._network = Network(setup, self._endpoint, config.network)
        self._network.prepare()
        self._context = NodeContext(
            api=self._api,
            network=self._network,
            config=config,
            search_path=tools.install(state / "bin", config.python),
            capacity={name: quantity.parse(amount) for name, amount in amounts.items()},
            gpus=gpus.GpuPool(devices),
            limits=limits,
            claims=Claims(config.claims or state / "claims"),
            log_files=LogFiles(config.logs or state / "pods", config.log_limits),
            needed=[Path(os.environ.get("HOME", "/")), *scratch.of_this_program()],
            private=[Path(hidden), *config.private],
            endpoint=self._endpoint,
        )
        try:
            node = machine.node_object(config.name, amounts, config.labels)
            await persistently(lambda: self._api.register(node), f"node {config.name}")
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                tasks.create_task(self._follow_services())
                tasks.create_task(self._follow_nodes())
                tasks.create_task(self._follow_claims())
                tasks.create_task(Refresher(self._api, self._refresh).run())
                tasks.create_task(self._placement.run())
                tasks.create_task(limits.watch())
                tasks.create_task(self._watch_disk())
                tasks.create_task(self._follow_pods())
        finally:
            await self._network.close()
            limits.close()
            shutil.rmtree(state / "work", ignore_errors=True)

    async def _watch_disk(self) -> None:
        while True:
            await asyncio.sleep(self._config.disk_seconds)
            for worker in tuple(self._workers.values()):
                if said := await worker.disk_overrun():
                    worker.evict(said)

    def _hierarchies(self) -> Hierarchies:
        # Those of a killed cluster without a name could not be found again.
        config = self._config
        return open_hierarchies(config.cluster) if config.control_groups and config.cluster else Hierarchies()

    async def shut_down(self) -> None:
        """Ask every process to end, with what is stored left as it is: a node that starts later goes on from there."""
        await asyncio.gather(*(worker.shut_down(SHUTDOWN_SECONDS) for worker in self._workers.values()))

    def lines(self, pod: Wire, options: LogOptions) -> Lines:
        """Return batches of lines of a container's log; raises `ApiError`."""
        known, container = parse_pod(pod), options.container
        name, worker = known.metadata.name, self._workers.get(known.metadata.uid)
        directory = self._context.logs(known) / container
        written = attempts(directory)
        wanted = written[-2:-1] if options.previous else written[-1:]
        if not wanted and options.previous:
            raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        if not wanted:
            reason = worker.waiting_reason(container) if worker else CREATING.reason
            raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {reason}')
        writer = worker.writers.get(container) if worker and not options.previous else None
        return LogReader(directory, wanted[0], writer).read(options)

    def usage(self) -> Measurement:
        """Measure what runs."""
        return self._meter.measure()

    def execution(self, pod: Wire, options: ExecOptions) -> Execution:
        """Return how to execute a program; raises `ApiError` at once."""
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None or options.container not in worker.running:
            raise internal(f'unable to upgrade connection: container not found ("{options.container}")')

        async def execute(streams: Channels) -> int:
            try:
                program = await worker.launch(
                    options.container, options.command, stdin=options.stdin, terminal=options.tty
                )
            except SandboxError as error:
                raise internal(f"error executing command in container: {error}") from error
            return await converse(program, options, streams)

        return execute

    def dial(self, pod: Wire) -> Dial:
        """Return how to reach a pod's ports; raises `ApiError` at once."""
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None or not worker.running:
            raise internal(f"unable to upgrade connection: pod {pod['metadata']['name']} does not run")
        return worker.dial

    async def _follow_services(self) -> None:
        async for change in self._api.follow("services"):
            self._network.put_service(Service.parse(change.object), gone=change.gone)

    async def _follow_nodes(self) -> None:
        async for change in self._api.follow("nodes"):
            self._placement.put_node(change.object, gone=change.gone)

    async def _follow_claims(self) -> None:
        async for change in self._api.follow("persistentvolumeclaims"):
            self._placement.put_claim(change.object, gone=change.gone)
            self._context.claims.put(change.object, gone=change.gone)
            self._remove_unclaimed()
            if not change.gone:
                with suppress(OSError):  # it is seen again with its next change
                    await self._api.bind_claim(change.object)

    def _refresh(self, namespace: str, objects: Objects) -> None:
        for worker in self._workers.values():
            if worker.pod.metadata.namespace == namespace:
                worker.refresh(objects)

    def _remove_unclaimed(self) -> None:
        used = {claim for worker in self._workers.values() for claim in volumes.claims(worker.pod)}
        self._context.claims.remove_orphans(used)

    async def _follow_pods(self) -> None:
        async for change in self._api.follow("pods"):
            try:
                pod = parse_pod(change.object)
                for name in (pod.metadata.namespace, pod.metadata.name, pod.metadata.uid):
                    safe_name(name)
                for container in pod.containers:
                    safe_name(container.name)
            except (ValueError, VolumeError) as error:
                where = change.object.get("metadata", {})
                _log.warning(
                    "pod cannot be decoded", namespace=where.get("namespace"), pod=where.get("name"), error=str(error)
                )
                continue
            self._handle(pod, change)

    def _handle(self, pod: Pod, change: Change) -> None:
        self._placement.put_pod(pod, gone=change.gone)
        worker = self._workers.get(pod.metadata.uid)
        if change.gone:
            self._context.log_files.gone(self._context.logs(pod))
            if worker:
                worker.vanished()
            return
        if pod.spec.node_name == self._config.name:
            if worker:
                worker.update(pod)
            elif not pod.finished:
                self._start(pod)
            elif pod.metadata.deletion_timestamp:
                self._spawn(self._confirm_deletion(pod))

    async def _confirm_deletion(self, pod: Pod) -> None:
        what = f"deletion of pod {pod.metadata.namespace}/{pod.metadata.name}"
        await persistently(lambda: self._api.confirm_deletion(pod.metadata), what)

    def _start(self, pod: Pod) -> None:
        worker = PodWorker(pod, self._context, status.recovered(pod, datetime.now(UTC)))
        self._workers[pod.metadata.uid] = worker
        self._spawn(self._work(worker))

    async def _work(self, worker: PodWorker) -> None:
        if worker.pod.metadata.deletion_timestamp:
            worker.update(worker.pod)
        try:
            await worker.run()
        finally:
            del self._workers[worker.pod.metadata.uid]
            self._remove_unclaimed()
        if worker.pod.metadata.deletion_timestamp:
            await self._confirm_deletion(worker.pod)

    def _spawn(self, work: Any) -> None:
        assert self._tasks is not None
        self._tasks.create_task(_guarded(work))


async def _guarded(work: Any) -> None:
    """Run `work`; a failure concerns one pod only and must not end the node."""
    try:
        await work
    except Exception:
        _log.exception("a pod could not be reconciled")
