"""The life of one pod on the node, from its first folder until nothing but its logs is left."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal

from training_local.node import environment, status, tools, unsupported, volumes
from training_local.node.container import Arguments, Attempt, Backoff, ContainerLife, as_given
from training_local.node.environment import Facts, Key
from training_local.node.hosts import Service
from training_local.node.logs import LogLimits, LogWriter
from training_local.node.network import Network
from training_local.node.podspec import Container, Pod
from training_local.node.ports import NodeApi
from training_local.node.programs import LAST_WORDS_SECONDS, Program, launch
from training_local.node.publisher import StatusPublisher
from training_local.node.rewrite import Rewriter
from training_local.node.sandbox.client import SandboxError, Supervisor
from training_local.node.sandbox.messages import ContainerSpec
from training_local.node.status import CREATING, INITIALIZING, ContainerView, PodView, Waiting
from training_local.node.volumes import VolumeError, Volumes

HOST_IP = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all pods of a node share."""

    api: NodeApi
    network: Network
    node_name: str
    mode: str
    state: Path
    log_folder: Path
    search_path: str
    working_directory: Path
    capacity: Mapping[str, Fraction]
    entry_points: Mapping[str, Sequence[str]]
    backoff: Backoff
    log_limits: LogLimits
    own_environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def logs(self, pod: Pod) -> Path:
        """The folder of a pod's logs."""
        metadata = pod.metadata
        return self.log_folder / f"{metadata.namespace}_{metadata.name}_{metadata.uid}"

    def work(self, pod: Pod) -> Path:
        """The folder of everything else of a pod."""
        return self.state / "work" / pod.metadata.uid


def _now() -> datetime:
    return datetime.now(UTC)


class PodWorker:
    """Runs one pod."""

    def __init__(self, pod: Pod, around: Surroundings, views: Mapping[str, ContainerView]) -> None:
        self.pod = pod
        self.writers: dict[str, LogWriter] = {}
        """The log in work of each container that runs."""
        self._around = around
        self._folder = around.work(pod)
        self._address = ""
        self._supervisor: Supervisor | None = None
        self._volumes = Volumes({})
        self._objects: dict[Key, Mapping[str, bytes]] = {}
        self._started_at = status.started_at(pod) or _now()
        self._failure: tuple[str, str] | None = None
        self._abandoned = False
        self._deleted = asyncio.Event()
        self._preparing = asyncio.Lock()
        self._events: set[asyncio.Task[None]] = set()
        self._lives = {c.name: self._life(c, views.get(c.name)) for c in pod.containers}
        self._publisher = StatusPublisher(around.api, pod.metadata, self._render)

    def _life(self, container: Container, known: ContainerView | None) -> ContainerLife:
        pod, first = self.pod, not self.pod.spec.init_containers or container == self.pod.spec.init_containers[0]
        return ContainerLife(
            container,
            self,
            again=lambda code: status.restarts(pod, container, code),
            backoff=self._around.backoff,
            now=_now,
            view=known or ContainerView(CREATING if first else INITIALIZING),
            pod_label=f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})",
        )

    def update(self, pod: Pod) -> None:
        """Take note of a newer version of the pod: its deletion, its labels."""
        self.pod = pod
        if pod.metadata.deletion_timestamp:
            self._deleted.set()

    def vanished(self) -> None:
        """Take note that the object has been removed without waiting for us."""
        self._abandoned = True
        self._deleted.set()

    async def shut_down(self, most: float) -> None:
        """End the containers within `most` seconds because the node ends; the stored status stays as it is."""
        self._publisher.mute()
        await self._stop_containers(min(self._grace, most))

    def waiting_reason(self, container: str) -> str:
        """Why a container has not been started yet; empty if it has been."""
        state = self._lives[container].view.state
        return state.reason if isinstance(state, Waiting) else ""

    def attempt(self, container: str) -> int:
        """The number of the current attempt of a container."""
        return self._lives[container].view.restarts

    @property
    def running(self) -> Mapping[str, ContainerLife]:
        """The containers whose process runs, by name."""
        return {name: life for name, life in self._lives.items() if life.attempt}

    async def run(self) -> None:
        """Run the pod to its end, until nothing of it is left but its logs."""
        self.changed()
        if without := "; ".join(unsupported.ignored(self.pod, self._around.mode, os.geteuid())):
            self.event("Warning", "Unsupported", without)
        async with asyncio.TaskGroup() as tasks:
            publishing = tasks.create_task(self._publisher.run())
            ending = tasks.create_task(self._end_when_told())
            try:
                await self._run_containers()
            finally:
                ending.cancel()
                await self._clean_up()
            self._publisher.close()
            await publishing
        if self._events:
            await asyncio.wait(self._events)

    # What its containers ask of it (container.Host).

    def changed(self) -> None:
        """Publish the status, and the pod's names if it has become ready or stopped being so."""
        view = self._view()
        running = status.phase(self.pod, view) == "Running"
        is_ready = running and all(status.ready(view, c) for c in self.pod.spec.containers)
        self._around.network.scope(self.pod).set_ready(self.pod, is_ready)
        self._publisher.changed()

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event in the background."""
        level: Literal["Normal", "Warning"] = "Warning" if kind == "Warning" else "Normal"
        task = asyncio.create_task(self._record(level, reason, message))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _record(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        with suppress(OSError):
            await self._around.api.record(self.pod.metadata, kind, reason, message)

    async def start(self, container: Container, attempt: int) -> Attempt:
        """Start a container in the pod's sandbox, which is made again if it has been lost."""
        async with self._preparing:
            if self._supervisor is None or not self._supervisor.alive:
                await self._make_sandbox()
            supervisor = self._supervisor
        assert supervisor is not None
        spec, arguments = await self._specify(container, attempt)
        log = LogWriter(self._around.logs(self.pod) / container.name, attempt, self._around.log_limits)
        streams = log.pipes()
        try:
            self.event("Normal", "Created", f"Created container: {container.name}")
            process = await supervisor.start(spec, streams)
        except BaseException:
            for stream in streams:
                os.close(stream)
            await log.finish(0)
            raise
        for stream in streams:
            os.close(stream)
        self.writers[container.name] = log
        return Attempt(process, log, spec, arguments)

    async def launch(self, container: str, command: Sequence[str], *, stdin: bool, terminal: bool) -> Program:
        """Start a further program in a running container; raises `SandboxError`."""
        attempt, supervisor = self._lives[container].attempt, self._supervisor
        if attempt is None or supervisor is None:
            raise SandboxError(f"container {container} does not run")
        argv = attempt.arguments(command)
        return await launch(supervisor, attempt.spec, argv, stdin=stdin, terminal=terminal)

    # The stages of its life.

    async def _run_containers(self) -> None:
        if not await self._prepare():
            return
        async with asyncio.TaskGroup() as tasks:
            sidecars = []
            for container in self.pod.spec.init_containers:
                life = self._lives[container.name]
                running = tasks.create_task(life.run())
                if status.restartable(self.pod, container):
                    sidecars.append(life)
                    started = tasks.create_task(life.started.wait())
                    await asyncio.wait([running, started], return_when=asyncio.FIRST_COMPLETED)
                    started.cancel()
                    succeeded = not running.done()
                else:
                    ended = await running
                    succeeded = ended is not None and ended.exit_code == 0
                if not succeeded:
                    break
            else:
                await self._run_main_containers()
            for life in reversed(sidecars):
                await life.stop(self._grace)

    async def _run_main_containers(self) -> None:
        mains = [self._lives[c.name] for c in self.pod.spec.containers]
        for life in mains:
            if life.view.state == INITIALIZING:
                life.view = ContainerView(CREATING)
        async with asyncio.TaskGroup() as tasks:
            for life in mains:
                tasks.create_task(life.run())

    async def _prepare(self) -> bool:
        """Make folders, volumes and sandbox; try again after a failure. False if the pod is deleted first."""
        delay = self._around.backoff.first
        while not self._deleted.is_set():
            try:
                async with self._preparing:
                    await self._make_sandbox()
                return True
            except (VolumeError, environment.ConfigError) as error:
                self._wait_for("FailedMount", f"MountVolume.SetUp failed: {error}")
            except SandboxError as error:
                self._wait_for("FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._deleted.wait()
            delay = min(2 * delay, self._around.backoff.most)
        return False

    def _wait_for(self, reason: str, message: str) -> None:
        first = self._lives[self.pod.containers[0].name]
        if first.view.state != Waiting(reason, message):
            first.view = ContainerView(Waiting(reason, message))
            self.event("Warning", reason, message)
            self.changed()

    async def _make_sandbox(self) -> None:
        around, temporary = self._around, self._folder / "tmp"
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._address = self._address or around.network.new_address()
        for key in volumes.referenced(self.pod):
            await self._fetch(key)
        self._volumes = volumes.prepare(self._facts(), self._folder / "volumes")
        hosts = self._folder / "hosts"
        scope = around.network.scope(self.pod)
        self._supervisor = await scope.add(self.pod, self._address, hosts, self._volumes.memory)

    async def _end_when_told(self) -> None:
        """Stop the containers when the pod is deleted or has run out of its time."""
        try:
            async with asyncio.timeout(self.pod.spec.active_deadline_seconds):
                await self._deleted.wait()
        except TimeoutError:
            self._failure = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
        for container in self.pod.containers:
            if container.name in self.writers:
                self.event("Normal", "Killing", f"Stopping container {container.name}")
        await self._stop_containers(self._grace)

    async def _stop_containers(self, grace: float) -> None:
        sidecars = [c.name for c in self.pod.spec.init_containers if status.restartable(self.pod, c)]
        mains = [life for name, life in self._lives.items() if name not in sidecars]
        await asyncio.gather(*(life.stop(grace) for life in mains))
        await asyncio.gather(*(self._lives[name].stop(grace) for name in sidecars))

    @property
    def _grace(self) -> float:
        if self._abandoned:
            return 0.0
        asked = self.pod.metadata.deletion_grace_period_seconds
        return float(self.pod.spec.termination_grace_period_seconds if asked is None else asked)

    async def _clean_up(self) -> None:
        await self._around.network.leave(self.pod)
        for log in self.writers.values():
            await log.finish(LAST_WORDS_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)

    # What its containers are told.

    def _facts(self) -> Facts:
        around = self._around
        return Facts(self.pod, around.node_name, HOST_IP, self._address, around.capacity, self._objects)

    async def _fetch(self, key: Key) -> None:
        kind, name = key
        plural = "configmaps" if kind == environment.CONFIG_MAP else "secrets"
        try:
            stored = await self._around.api.get(plural, self.pod.metadata.namespace, name)
        except OSError as error:
            raise environment.ConfigError(f'{kind} "{name}" cannot be read: {error}') from error
        if stored is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = environment.data_of(stored, kind)

    async def _specify(self, container: Container, attempt: int) -> tuple[ContainerSpec, Arguments]:
        around = self._around
        for key in environment.referenced(container):
            await self._fetch(key)
        temporary = self._folder / "tmp"
        base = tools.base_environment(around.search_path, temporary, self.pod.hostname, around.own_environment)
        env = environment.build(container, self._facts(), base)
        argv = environment.command_line(container, around.entry_points, env)
        mounts = volumes.mounts(container, self._volumes, env)
        cwd, arguments = container.working_dir or str(around.working_directory), as_given
        if around.mode == "host":
            paths = {mount.target: mount.source for mount in mounts}
            rewriter = await self._rewriter(container)
            # What the pod asks about itself stays true: its name is no address there, though a service has it too.
            own = {variable.name for variable in container.env if variable.value_from and variable.value_from.field_ref}
            rewritten = rewriter.rewrite(argv, env, env.keys() - base.keys() - own, paths)
            argv, env, cwd, mounts = rewritten.argv, rewritten.env, paths.get(cwd, cwd), []
            arguments = partial(rewriter.arguments, paths=paths)
            if rewritten.changes and attempt == 0:
                changes = "; ".join(rewritten.changes)
                self.event("Normal", "HostMode", f"container {container.name} runs without a sandbox: {changes}")
        spec = ContainerSpec(
            id=f"{self.pod.metadata.uid}/{container.name}/{attempt}",
            pod=self.pod.metadata.uid,
            argv=argv,
            env=env,
            cwd=cwd,
            mounts=mounts,
            visible=[str(around.state / "bin"), str(temporary)],
        )
        return spec, arguments

    async def _rewriter(self, container: Container) -> Rewriter:
        network, namespace = self._around.network, self.pod.metadata.namespace
        # Read now: the pod may have been seen before the services that were created first.
        stored = await self._around.api.services(namespace)
        network.set_services(namespace, [Service.parse(service) for service in stored])
        known = network.services(namespace)
        own = next((service.name for service in known if service.selects(self.pod)), self.pod.metadata.name)
        ports = frozenset(p for service in stored for p in _ports(service)) | {
            p.container_port for p in container.ports
        }
        return Rewriter(known, own, ports, network.scope(self.pod).free_port)

    def _view(self) -> PodView:
        return PodView(
            containers={name: life.view for name, life in self._lives.items()},
            started_at=self._started_at,
            address=self._address,
            host_ip=HOST_IP,
            failure=self._failure,
            conditions=self.pod.status.get("conditions") or (),
        )

    def _render(self) -> dict[str, Any]:
        return status.render(self.pod, self._view(), _now())


def _ports(service: Mapping[str, Any]) -> list[int]:
    return [port["port"] for port in (service.get("spec") or {}).get("ports") or ()]
