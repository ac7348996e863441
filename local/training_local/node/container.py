"""The life of one container: its attempts, one after the other, as its restart policy says."""

from __future__ import annotations

import asyncio
import hashlib
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Protocol

from training_local.node.checks import Inside, ask, hook
from training_local.node.environment import ConfigError
from training_local.node.limits import Confinement
from training_local.node.logs import LogWriter
from training_local.node.podspec import Container
from training_local.node.prober import Prober
from training_local.node.probes import Health, killing, probes, unhealthy
from training_local.node.programs import OUTPUT_SECONDS
from training_local.node.sandbox.client import Exit, Process, SandboxError
from training_local.node.sandbox.messages import ContainerSpec
from training_local.node.status import ContainerView, Running, State, Terminated, Waiting
from training_local.node.volumes import VolumeError

_START_ERROR = 128
"""Exit code that container runtimes report for a program that could not be executed."""
_ANY_FAILURE = 1
_SHORTEST_GRACE = 2.0
"""Seconds that a container has after its hook, however long that has taken."""

RUNTIME: Final = "process"
"""What stands for the name of a container runtime."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses between restarts in seconds: none before the first, then `first`, doubled each time up to `most`."""

    first: float = 1.0
    most: float = 10.0
    reset_after: float = 600.0
    """A container that has run this long starts again at the beginning."""

    def delay(self, restarts: int) -> float:
        """The pause before the next restart after this many in a row."""
        return min(self.first * 2 ** min(restarts - 1, 30), self.most) if restarts else 0.0


Arguments = Callable[[Sequence[str]], Sequence[str]]
"""What a command line becomes inside a container: in host mode other names and paths stand in it."""


def as_given(argv: Sequence[str]) -> Sequence[str]:
    """Leave a command line as it is."""
    return argv


@dataclass(frozen=True, slots=True)
class Attempt:
    """A running container."""

    process: Process
    log: LogWriter
    spec: ContainerSpec
    arguments: Arguments
    confinement: Confinement


class Host(Protocol):
    """The pod, as one of its containers sees it."""

    @property
    def grace(self) -> float:
        """The grace period of its containers, in seconds."""
        ...

    async def start(self, container: Container, attempt: int) -> Attempt:
        """Start a container; raises `ConfigError`, `VolumeError` or `SandboxError`."""
        ...

    def inside(self, container: Container) -> Inside:
        """How to reach into a running container."""
        ...

    async def termination_message(self, container: Container, attempt: int, *, failed: bool) -> str:
        """The message that an attempt has left about its end."""
        ...

    def changed(self) -> None:
        """Note that a container's view has changed."""
        ...

    def event(self, kind: str, reason: str, message: str) -> None:
        """Record an event about the pod."""
        ...


class ContainerLife:
    """Runs one container until it has ended for good."""

    def __init__(
        self,
        container: Container,
        host: Host,
        *,
        again: Callable[[int], bool],
        backoff: Backoff,
        now: Callable[[], datetime],
        view: ContainerView,
        pod_label: str,
    ) -> None:
        self.container = container
        self.view = view
        self.started = asyncio.Event()
        """Set as soon as the container has been started and its startup probe, if it has one, has succeeded."""
        self._host, self._again, self._backoff, self._now = host, again, backoff, now
        self._label = pod_label
        self._stopping = asyncio.Event()
        self._attempt: Attempt | None = None
        self._condemned = False

    @property
    def attempt(self) -> Attempt | None:
        """What runs at the moment."""
        return self._attempt

    async def run(self) -> Terminated | None:
        """Start the container, and again after each end for which the policy says so.

        Returns how it ended for good; None if it was stopped while it waited for its start or restart.
        """
        restarts = 0
        while not self._stopping.is_set():
            ended = self.view.state if isinstance(self.view.state, Terminated) else await self._run_once()
            if ended is None:
                continue
            if self._stopping.is_set() or not (ended.restarting or self._again(ended.exit_code)):
                return ended
            if _seconds(ended) >= self._backoff.reset_after:
                restarts = 0
            await self._back_off(restarts)
            restarts += 1
        return self.view.state if isinstance(self.view.state, Terminated) else None

    async def stop(self, grace: float) -> None:
        """Ask the process to end, kill it after `grace` seconds, and let nothing start again."""
        self._stopping.set()
        if self._attempt is None:
            return
        await self._terminate(self._attempt, grace)

    async def _terminate(self, attempt: Attempt, grace: float) -> None:
        process = attempt.process
        if grace > 0 and not process.exited.done():
            grace = await self._before_stop(attempt, grace)
            process.signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await asyncio.shield(process.exited)
        process.signal(signal.SIGKILL)
        await asyncio.shield(process.exited)

    async def _run_once(self) -> Terminated | None:
        """One attempt; None if it could not be configured yet."""
        name, number = self.container.name, self.view.restarts
        try:
            attempt = await self._host.start(self.container, number)
        except (ConfigError, VolumeError) as error:
            await self._wait_for_configuration(str(error))
            return None
        except SandboxError as error:
            self._host.event("Warning", "Failed", f"Error: {error}")
            return self._end(Terminated(_START_ERROR, "StartError", None, self._now(), message=str(error)))
        self._attempt, self._condemned = attempt, False
        begun = self._now()
        self._host.event("Normal", "Started", f"Started container {name}")
        if self._stopping.is_set():
            attempt.process.signal(signal.SIGKILL)
        exit_ = await self._accompany(attempt, begun)
        if attempt.confinement.release():
            exit_ = replace(exit_, reason="OOMKilled")
        await attempt.log.finish(OUTPUT_SECONDS)
        self._attempt = None
        said = await self._host.termination_message(self.container, number, failed=exit_.code != 0)
        ended = _terminated(exit_, begun, self._now())
        return self._end(replace(ended, message=said, container_id=_id(attempt), restarting=self._condemned))

    async def _accompany(self, attempt: Attempt, begun: datetime) -> Exit:
        """Carry out hooks and probes of a running container until it has ended."""
        await self._after_start(attempt)
        health = Health.at_start(self.container)
        if not attempt.process.exited.done():
            self.view = self.view.to(Running(begun, _id(attempt)))
            self._set_health(health)
        probing = asyncio.create_task(self._probe(attempt, health))
        try:
            return await asyncio.shield(attempt.process.exited)
        finally:
            probing.cancel()

    def _set_health(self, health: Health) -> None:
        self.view = replace(self.view, health=health)
        if health.started:
            self.started.set()
        self._host.changed()

    async def _probe(self, attempt: Attempt, health: Health) -> None:
        asked = probes(self.container)
        if not asked:
            return
        inside = self._host.inside(self.container)
        prober = Prober(
            asked,
            health,
            lambda probe: ask(probe.action, inside, probe.timeout),
            changed=self._set_health,
            failed=lambda kind, outcome: self._host.event("Warning", "Unhealthy", unhealthy(kind, outcome)),
        )
        failed = await prober.run()
        if self._stopping.is_set():
            return
        self._condemned = self._again(_ANY_FAILURE)
        said = killing(self.container.name, failed.kind, again=self._condemned)
        self._host.event("Normal", "Killing", said)
        await self._terminate(attempt, self._host.grace if failed.grace is None else failed.grace)

    async def _after_start(self, attempt: Attempt) -> None:
        """The hook postStart: until it has been carried out the container does not count as running."""
        if problem := await self._hook("postStart", attempt):
            self._host.event("Warning", "FailedPostStartHook", f"PostStartHook failed: {problem}")
            self._host.event("Normal", "Killing", "FailedPostStartHook")
            await self._terminate(attempt, self._host.grace)

    async def _before_stop(self, attempt: Attempt, grace: float) -> float:
        """The hook preStop, which takes from the grace period; return what is left of it."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        try:
            async with asyncio.timeout(grace):
                problem = await self._hook("preStop", attempt)
        except TimeoutError:
            problem = f"it did not finish within the grace period of {grace:g}s"
        if problem:
            self._host.event("Warning", "FailedPreStopHook", f"PreStopHook failed: {problem}")
        spent = loop.time() - begun
        return max(grace - spent, min(grace, _SHORTEST_GRACE))

    async def _hook(self, name: str, attempt: Attempt) -> str:
        """Carry out a hook while the container runs; return what was wrong, empty if nothing was."""
        action = (self.container.lifecycle or {}).get(name)
        if not action:
            return ""
        carrying = asyncio.create_task(hook(action, self._host.inside(self.container)))
        try:
            first: list[asyncio.Future[Any]] = [carrying, attempt.process.exited]
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            return carrying.result() if carrying.done() else ""
        finally:
            carrying.cancel()

    def _end(self, ended: Terminated) -> Terminated:
        self._show(ended)
        return ended

    async def _wait_for_configuration(self, problem: str) -> None:
        waiting = Waiting("CreateContainerConfigError", problem)
        if self.view.state != waiting:
            self._show(waiting)
            self._host.event("Warning", "Failed", f"Error: {problem}")
        await self._pause(self._backoff.first)

    async def _back_off(self, restarts: int) -> None:
        delay = self._backoff.delay(restarts)
        if delay:
            what = f"restarting failed container={self.container.name} pod={self._label}"
            self._show(Waiting("CrashLoopBackOff", f"back-off {delay:g}s {what}"))
            self._host.event("Warning", "BackOff", f"Back-off {what}")
            await self._pause(delay)
        if not self._stopping.is_set():
            # Not shown before the next start has succeeded or failed: until then the end is the news.
            self.view = replace(self.view.to(Waiting("ContainerCreating")), restarts=self.view.restarts + 1)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _show(self, state: State) -> None:
        self.view = self.view.to(state)
        self._host.changed()


def _seconds(ended: Terminated) -> float:
    if ended.started_at is None or ended.finished_at is None:
        return 0.0
    return (ended.finished_at - ended.started_at).total_seconds()


def _terminated(exit_: Exit, begun: datetime, ended: datetime) -> Terminated:
    reason = exit_.reason or ("Completed" if exit_.code == 0 else "Error")
    return Terminated(exit_.code, reason, begun, ended, signal=exit_.signal)


def _id(attempt: Attempt) -> str:
    """An id of the form that container runtimes give."""
    return f"{RUNTIME}://{hashlib.sha256(attempt.spec.id.encode()).hexdigest()}"
