"""Work on many items by all processors: forked processes, which have the items already and return what they made."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing import get_context
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
    if processes < 2:
        return [work(item) for item in items]
    _TASK.append(lambda at: work(items[at]))
    gc.freeze()  # what all processes share is not collected, which would copy its pages
    try:
        # Ctrl-C is for the process that waits for them; it ends the others.
        with get_context("fork").Pool(processes, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
            return pool.map(_made, range(len(items)), chunksize=FEWEST // 2)
    finally:
        gc.unfreeze()
        _TASK.pop()


def _made(at: int) -> Any:
    return _TASK[-1](at)


def _processors() -> int:
    """Those that this process may use; one where forking is not safe."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
