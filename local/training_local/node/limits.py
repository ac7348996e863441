"""Holding containers to their limits of memory and processors, by the kernel where it can, else by watching."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from math import ceil

import structlog

from training_api import quantity
from training_local.node.cgroups import Group, Hierarchies
from training_local.node.podspec import Container, amounts
from training_local.node.processes import ProcessTable
from training_local.node.sandbox.client import Process

_log = structlog.get_logger(__name__)

_SAMPLING_SECONDS = 0.5
BY_GROUPS = "Memory and CPU limits are enforced by cgroups; exceeding the memory limit kills the container."
BY_MEMORY_GROUPS = "Memory limits are enforced by cgroups; CPU limits have no effect."
BY_WATCHING = (
    "Memory limits are enforced twice a second, because cgroups cannot be created on this machine; "
    "CPU limits have no effect."
)


class Confinement:
    """What holds one attempt of a container."""

    def __init__(
        self, group: Group | None, memory: int | None, released: Callable[[Confinement], None] = lambda _: None
    ) -> None:
        self.group, self.memory, self._released = group, memory, released
        self.process: Process | None = None
        """Set once it runs."""
        self.killed = False
        """Whether the watcher has ended it."""

    @property
    def entrances(self) -> tuple[str, ...]:
        """Files to which the container's first process writes 0 before it becomes the program."""
        return tuple(self.group.entrances) if self.group else ()

    def release(self) -> bool:
        """Give up what held the container, which has ended; returns whether it has overrun its memory."""
        self._released(self)
        overrun = self.killed or (self.group is not None and self.group.ran_out())
        if self.group:
            self.group.remove()
        return overrun


class Limits:
    """Confines the containers of a node."""

    def __init__(self, hierarchies: Hierarchies, mode: str) -> None:
        self._hierarchies, self._mode = hierarchies, mode
        self._watched: set[Confinement] = set()
        self._busy = asyncio.Event()

    @property
    def sentence(self) -> str:
        """How limits are enforced, for people."""
        folders = self._hierarchies.folders
        return (BY_GROUPS if "cpu" in folders else BY_MEMORY_GROUPS) if folders else BY_WATCHING

    def confine(self, name: str, container: Container) -> Confinement:
        """Prepare for an attempt of a container; `name` is unique to it."""
        limits = container.resources.limits
        memory = ceil(quantity.parse(str(limits["memory"]))) if "memory" in limits else None
        group = self._group(name)
        if group:
            group.limit(memory, amounts(limits).get("cpu"))
        confinement = Confinement(group, memory, self._forget)
        if memory is not None and group is None:
            self._watched.add(confinement)
            self._busy.set()
        return confinement

    def _group(self, name: str) -> Group | None:
        if not self._hierarchies.folders:
            return None
        try:
            return self._hierarchies.group(name)
        except OSError as error:
            _log.warning("no cgroup for a container: its memory is polled", container=name, error=str(error))
            return None

    def _forget(self, confinement: Confinement) -> None:
        self._watched.discard(confinement)
        if not self._watched:
            self._busy.clear()

    async def watch(self) -> None:
        """End watched containers that overrun their memory, until cancelled; sleeps while there are none."""
        while True:
            await self._busy.wait()
            await asyncio.sleep(_SAMPLING_SECONDS)
            self.enforce(ProcessTable())

    def enforce(self, table: ProcessTable) -> None:
        """End the watched containers that use more than they may, as one look at the process table shows it."""
        for confinement in self._watched:
            process, most = confinement.process, confinement.memory
            if process is None or most is None or process.exited.done():
                continue
            supervisor, inner = process.place
            pids = table.of_supervisor(supervisor, self._mode).get(inner, [])
            # What several processes share is counted once only where the cheap upper bound is beyond the limit.
            if table.resident_bytes(pids) > most and table.memory_bytes(pids) > most:
                confinement.killed = True
                process.signal(signal.SIGKILL)

    def close(self) -> None:
        """Remove all groups; the containers have ended."""
        self._hierarchies.close()
