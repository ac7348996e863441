"""Supervisors started in advance, so that the first pod of a job need not wait for an interpreter to start."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from training_local.node.sandbox.client import SandboxError, Supervisor
from training_local.node.sandbox.messages import Setup

_PAUSE_SECONDS = 0.2
"""How long none must have been taken before the next is started: pods that start go first."""


class SupervisorPool:
    """Keeps one supervisor ready."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._spare: asyncio.Task[Supervisor] | None = None
        self._next: asyncio.TimerHandle | None = None

    def prepare(self) -> None:
        """Start a spare one if there is none."""
        if self._spare is None or not _usable(self._spare):
            self._spare = asyncio.create_task(Supervisor.launch(self._setup))

    def take(self) -> asyncio.Task[Supervisor]:
        """A supervisor that is ready or about to be."""
        self.prepare()
        taken, self._spare = self._spare, None
        assert taken is not None
        if self._next:
            self._next.cancel()
        self._next = asyncio.get_running_loop().call_later(_PAUSE_SECONDS, self.prepare)
        return taken

    async def close(self) -> None:
        """End the spare one."""
        if self._next:
            self._next.cancel()
        if self._spare:
            with suppress(SandboxError):
                await (await self._spare).close()


def _usable(launch: asyncio.Task[Supervisor]) -> bool:
    """Whether it is on its way or alive."""
    return not launch.done() or (not launch.cancelled() and launch.exception() is None and launch.result().alive)
