"""The life of one container: its attempts, one after the other, as its restart policy says."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from training_local.node.environment import ConfigError
from training_local.node.logs import LogWriter
from training_local.node.podspec import Container
from training_local.node.programs import LAST_WORDS_SECONDS
from training_local.node.sandbox.client import Exit, Process, SandboxError
from training_local.node.sandbox.messages import ContainerSpec
from training_local.node.status import ContainerView, Running, State, Terminated, Waiting
from training_local.node.volumes import VolumeError

_START_ERROR = 128
"""Exit code that container runtimes report for a program that could not be executed."""


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


class Host(Protocol):
    """The pod, as one of its containers sees it."""

    async def start(self, container: Container, attempt: int) -> Attempt:
        """Start a container; raises `ConfigError`, `VolumeError` or `SandboxError`."""
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
        """Set as soon as a process of this container has been started."""
        self._host, self._again, self._backoff, self._now = host, again, backoff, now
        self._label = pod_label
        self._stopping = asyncio.Event()
        self._attempt: Attempt | None = None

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
            if self._stopping.is_set() or not self._again(ended.exit_code):
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
        process = self._attempt.process
        if grace > 0 and not process.exited.done():
            process.signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await asyncio.shield(process.exited)
        process.signal(signal.SIGKILL)
        await asyncio.shield(process.exited)

    async def _run_once(self) -> Terminated | None:
        """One attempt; None if it could not be configured yet."""
        name = self.container.name
        try:
            attempt = await self._host.start(self.container, self.view.restarts)
        except (ConfigError, VolumeError) as error:
            await self._wait_for_configuration(str(error))
            return None
        except SandboxError as error:
            self._host.event("Warning", "Failed", f"Error: {error}")
            return self._end(Terminated(_START_ERROR, "StartError", None, self._now(), message=str(error)))
        self._attempt = attempt
        begun = self._now()
        self._show(Running(begun))
        self._host.event("Normal", "Started", f"Started container {name}")
        self.started.set()
        if self._stopping.is_set():
            attempt.process.signal(signal.SIGKILL)
        exit_ = await attempt.process.exited
        await attempt.log.finish(LAST_WORDS_SECONDS)
        self._attempt = None
        return self._end(_terminated(exit_, begun, self._now()))

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
    return Terminated(exit_.code, "Completed" if exit_.code == 0 else "Error", begun, ended, signal=exit_.signal)
