"""A limit on what the processor does for a piece of a test, so that a hang is a failure and not a wait."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Slow(Exception):
    """It takes too long."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise Slow where the program is when it has had the processor for so long."""

    def slow(number: int, frame: object) -> None:
        raise Slow(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGVTALRM, slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
