"""An event loop in which waiting costs nothing: when nobody can run, its clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors

MOST_TURNS = 10_000
"""Turns of the loop at one moment; the creation of a thousand pods takes less than a hundred."""


class _JumpingSelector(selectors.SelectSelector):
    now = 0.0
    turns = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        self.turns += 1
        if ready or timeout == 0:
            if self.turns > MOST_TURNS:
                raise RuntimeError("livelock: something is always ready, and time does not pass")
            return ready
        self.turns = 0
        if timeout is None:
            raise RuntimeError("deadlock: nothing is ready and nothing is scheduled")
        self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own, for tests without sockets, threads and processes."""

    def __init__(self) -> None:
        self._virtual = _JumpingSelector()
        super().__init__(self._virtual)

    def time(self) -> float:
        """Return the seconds that have passed in the tests' world."""
        return self._virtual.now
