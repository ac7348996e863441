"""Work on many items by all processors: forked processes, which have the items already and return what they made."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from typing import Any, Final, TypeVar

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

FEWEST: Final = 50
"""Items that are worth a process."""
_TASK: Final[list[Callable[[int], Any]]] = []
"""What forked processes find here, because no function can be sent to them."""


def each(work: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
    """What is made of each, in their order. It has to be picklable; for a few items nothing is forked."""
    processes = min(_processors(), len(items) // FEWEST)
    if processes >= 2:
        _TASK.append(lambda at: work(items[at]))
        try:
            return _forked(processes, len(items))
        except BrokenProcessPool:
            pass  # one was killed, most likely for lack of memory, of which a single process needs less
        finally:
            _TASK.pop()
    return [work(item) for item in items]


def _forked(processes: int, items: int) -> list[Any]:
    # Ctrl-C is for the process that waits for them; it ends the others.
    ignore_interrupts = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(processes, get_context("fork"), signal.signal, ignore_interrupts) as pool:
        try:
            # `pool.map` would cancel its futures when interrupted, over which the pool's own thread stumbles.
            chunks = (range(items)[first : first + FEWEST // 2] for first in range(0, items, FEWEST // 2))
            made = [pool.submit(_made, chunk) for chunk in chunks]
            return [each for chunk in made for each in chunk.result()]
        except KeyboardInterrupt:
            for child in active_children():
                child.terminate()
            raise


def _made(chunk: range) -> list[Any]:
    return [_TASK[-1](at) for at in chunk]


def _processors() -> int:
    """Those that this process may use; one where forking is not safe."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
