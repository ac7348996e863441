"""The life of one pod on the node, from its first folder until nothing but its logs is left."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

from training_local.node import environment, ephemeral_storage, status, unsupported
from training_local.node.checks import Inside
from training_local.node.container import Attempt, ContainerLife
from training_local.node.container_spec import ContainerSpecBuilder
from training_local.node.context import HOST_IP, NodeContext
from training_local.node.dialling import dial
from training_local.node.gpus import GpuError
from training_local.node.logs import LogWriter
from training_local.node.podspec import Container, Pod
from training_local.node.programs import OUTPUT_SECONDS, Program, launch
from training_local.node.publisher import StatusPublisher
from training_local.node.refreshing import Objects
from training_local.node.sandbox.client import SandboxError, Supervisor
from training_local.node.status import CREATING, INITIALIZING, ContainerView, PodView, Waiting
from training_local.node.termination_message import termination_message
from training_local.node.volumes import VolumeError
from training_local.relay import TcpEnd

_EVICTION_GRACE = 1.0
"""Seconds that a kubelet gives a pod which it evicts for its use of the disk."""


def _now() -> datetime:
    return datetime.now(UTC)


class PodWorker:
    """Runs one pod."""

    def __init__(self, pod: Pod, context: NodeContext, views: Mapping[str, ContainerView]) -> None:
        self.pod = pod
        self.writers: dict[str, LogWriter] = {}
        """The log in work of each container that runs."""
        self._context = context
        self._specs = ContainerSpecBuilder(pod, context, self.event)
        self._supervisor: Supervisor | None = None
        self._started_at = status.started_at(pod) or _now()
        self._failure: tuple[str, str] | None = None
        self._abandoned = False
        self._end_requested = asyncio.Event()
        self._preparing = asyncio.Lock()
        self._events: set[asyncio.Task[None]] = set()
        self._lives = {c.name: self._life(c, views.get(c.name)) for c in pod.containers}
        self._publisher = StatusPublisher(context.api, pod.metadata, self._render)

    def _life(self, container: Container, known: ContainerView | None) -> ContainerLife:
        pod, first = self.pod, not self.pod.spec.init_containers or container == self.pod.spec.init_containers[0]
        return ContainerLife(
            container,
            self,
            again=lambda code: status.restarts(pod, container, code),
            backoff=self._context.config.backoff,
            now=_now,
            view=known or ContainerView(CREATING if first else INITIALIZING),
            pod_label=f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})",
        )

    def update(self, pod: Pod) -> None:
        """Take note of a newer version of the pod: its deletion, its labels."""
        self.pod = pod
        if pod.metadata.deletion_timestamp:
            self._end_requested.set()

    def refresh(self, objects: Objects) -> None:
        """Bring volumes up to date with config maps and secrets of the namespace that have changed."""
        self._specs.refresh(objects)

    def vanished(self) -> None:
        """Take note that the object has been removed without waiting for us."""
        self._abandoned = True
        self._end_requested.set()

    def evict(self, message: str) -> None:
        """End the pod as Failed because it takes too much of the node."""
        if self._failure is None:
            self._failure = (status.EVICTED, message)
            self.event("Warning", *self._failure)
            self._end_requested.set()

    async def disk_overrun(self) -> str:
        """What is said of the pod if it uses more of the disk than it may; empty if not."""
        if not ephemeral_storage.limited(self.pod):
            return ""
        volumes, writable = self._specs.volumes.paths, self._specs.writable
        # In a thread: there can be many files.
        return await asyncio.to_thread(ephemeral_storage.overrun, self.pod, volumes, writable)

    async def shut_down(self, most: float) -> None:
        """End the containers within `most` seconds because the node ends; the stored status stays as it is."""
        self._publisher.mute()
        await self._stop_containers(min(self.grace, most))

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
        for without in unsupported.messages(unsupported.ignored(self.pod, self._context.config.mode, os.geteuid())):
            self.event("Warning", "Unsupported", without)
        async with asyncio.TaskGroup() as tasks:
            publishing = tasks.create_task(self._publisher.run())
            ending = tasks.create_task(self._end_on_request())
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
        phase = status.phase(self.pod, view)
        if phase in status.ENDS:
            # Before the end is published, so that the next pod finds them free.
            self._context.gpus.free(self.pod.metadata.uid)
        running = phase == "Running"
        is_ready = running and all(status.ready(view, c) for c in self.pod.spec.containers)
        self._context.network.scope(self.pod).set_ready(self.pod, is_ready)
        self._publisher.changed()

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event in the background."""
        level: Literal["Normal", "Warning"] = "Warning" if kind == "Warning" else "Normal"
        task = asyncio.create_task(self._record(level, reason, message))
        self._events.add(task)
        task.add_done_callback(self._events.discard)

    async def _record(self, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        with suppress(OSError):
            await self._context.api.record(self.pod.metadata, kind, reason, message)

    async def start(self, container: Container, attempt: int) -> Attempt:
        """Start a container in the pod's sandbox, which is made again if it has been lost."""
        try:
            return await self._start(container, attempt)
        except OSError as error:  # the disk is full, too many files are open
            raise SandboxError(str(error)) from error

    async def _start(self, container: Container, attempt: int) -> Attempt:
        async with self._preparing:
            if self._supervisor is None or not self._supervisor.alive:
                await self._make_sandbox()
            supervisor = self._supervisor
        assert supervisor is not None
        spec, arguments = await self._specs.specify(container, attempt)
        confinement = self._context.limits.confine(spec.id, container)
        spec = spec._replace(cgroups=confinement.entrances)
        try:
            log = LogWriter(self._context.log_files, self._context.logs(self.pod) / container.name, attempt)
            streams = log.pipes()
        except OSError:
            confinement.release()
            raise
        try:
            self.event("Normal", "Created", f"Created container: {container.name}")
            process = await supervisor.start(spec, streams)
        except BaseException:
            for stream in streams:
                os.close(stream)
            await log.finish(0)
            confinement.release()
            raise
        for stream in streams:
            os.close(stream)
        self.writers[container.name] = log
        confinement.process = process
        return Attempt(process, log, spec, arguments, confinement)

    async def launch(self, container: str, command: Sequence[str], *, stdin: bool, terminal: bool) -> Program:
        """Start a further program in a running container; raises `SandboxError`."""
        attempt, supervisor = self._lives[container].attempt, self._supervisor
        if attempt is None or supervisor is None:
            raise SandboxError(f"container {container} does not run")
        argv = attempt.arguments(command)
        return await launch(supervisor, attempt.spec, argv, stdin=stdin, terminal=terminal)

    def inside(self, container: Container) -> Inside:
        """How to reach into a running container."""
        launching = partial(self.launch, container.name, stdin=False, terminal=False)
        return Inside(container, self._specs.address, launching, self._open_socket)

    async def dial(self, port: int) -> TcpEnd:
        """Connect with a program that listens on a port of the pod's `localhost`; raises `OSError`."""
        return await dial(self._open_socket, self._specs.listening_ports(port), f"pod {self.pod.metadata.name}")

    async def _open_socket(self, family: int = socket.AF_INET) -> socket.socket:
        if self._supervisor is None:
            raise SandboxError("the pod has no sandbox")
        return await self._supervisor.open_socket(self.pod.metadata.uid, family)

    async def termination_message(self, container: Container, attempt: int, *, failed: bool) -> str:
        """The message that an attempt has left about its end."""
        file, logs = self._specs.message_file(container, attempt), self._context.logs(self.pod) / container.name
        sharing = len(self.pod.containers)
        return await termination_message(container, file, logs, attempt, failed=failed, sharing=sharing)

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
                await life.stop(self.grace)

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
        delay = self._context.config.backoff.first
        while not self._end_requested.is_set():
            try:
                async with self._preparing:
                    await self._make_sandbox()
                return True
            except (VolumeError, environment.ConfigError) as error:
                self._wait_for("FailedMount", f"MountVolume.SetUp failed: {error}")
            except (SandboxError, GpuError, OSError) as error:
                self._wait_for("FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._end_requested.wait()
            delay = min(2 * delay, self._context.config.backoff.most)
        return False

    def _wait_for(self, reason: str, message: str) -> None:
        first = self._lives[self.pod.containers[0].name]
        if first.view.state != Waiting(reason, message):
            first.view = ContainerView(Waiting(reason, message))
            self.event("Warning", reason, message)
            self.changed()

    async def _make_sandbox(self) -> None:
        specs, scope = self._specs, self._context.network.scope(self.pod)
        await specs.prepare()
        self._supervisor = await scope.add(self.pod, specs.address, specs.hosts, specs.volumes.memory)

    async def _end_on_request(self) -> None:
        """Stop the containers when the pod is deleted or has run out of its time."""
        deadline = self.pod.spec.active_deadline_seconds
        try:
            async with asyncio.timeout(None if deadline is None else deadline - self._age):
                await self._end_requested.wait()
        except TimeoutError:
            self._failure = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
            self.event("Normal", *self._failure)
        for name in self.running:
            self.event("Normal", "Killing", f"Stopping container {name}")
        await self._stop_containers(self.grace)

    async def _stop_containers(self, grace: float) -> None:
        sidecars = [c.name for c in self.pod.spec.init_containers if status.restartable(self.pod, c)]
        mains = [life for name, life in self._lives.items() if name not in sidecars]
        await asyncio.gather(*(life.stop(grace) for life in mains))
        await asyncio.gather(*(self._lives[name].stop(grace) for name in sidecars))

    @property
    def _age(self) -> float:
        """Seconds since the pod was first seen, by an earlier node perhaps."""
        return (_now() - self._started_at).total_seconds()

    @property
    def grace(self) -> float:
        """The grace period of its containers, in seconds."""
        if self._abandoned:
            return 0.0
        if self._failure and self._failure[0] == status.EVICTED:
            return _EVICTION_GRACE
        asked = self.pod.metadata.deletion_grace_period_seconds
        return float(self.pod.spec.termination_grace_period_seconds if asked is None else asked)

    async def _clean_up(self) -> None:
        await self._context.network.leave(self.pod)
        self._specs.forget()
        self._context.gpus.free(self.pod.metadata.uid)
        for log in self.writers.values():
            await log.finish(OUTPUT_SECONDS)
        # In a thread: volumes can be large, and a busy disk slow.
        await asyncio.to_thread(shutil.rmtree, self._context.work(self.pod), ignore_errors=True)

    def _view(self) -> PodView:
        return PodView(
            containers={name: life.view for name, life in self._lives.items()},
            started_at=self._started_at,
            address=self._specs.address,
            host_ip=HOST_IP,
            failure=self._failure,
            conditions=self.pod.status.get("conditions") or (),
        )

    def _render(self) -> dict[str, Any]:
        return status.render(self.pod, self._view(), _now())
