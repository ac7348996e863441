"""Slow start: batches that double, so that few of many requests are wasted when they are rejected (K-01)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 32
"""Items that are worked on at a time: as many as requests may be in flight. One that ends is followed by the next
without waiting, and little waits in memory, where one pod may be large."""
FAILED_BATCHES: Final = 3
"""After so many failed batches in a row the rest is left for a later reconcile.

More than one, because what fails one replica (a name that is taken) need not concern the next; few, because what fails
three in a row (an exhausted quota) would fail all.
"""


async def slow_start(
    work: Sequence[T],
    do: Callable[..., Coroutine[Any, Any, bool]],
    *context: Any,
    over: Callable[[], bool] = lambda: False,
    first: int = 1,
) -> None:
    """Run `do(*context, item)` for all work in batches of 1, 2, 4 ... 32, then all the rest, 32 at a time.

    The `first` batch is larger where the last requests like these were accepted. Nothing more of a batch is begun after
    one returned False, and the next batch has size 1. Nothing is begun once it is `over`.
    """
    left, size, failed = deque(work), first, 0
    while left and failed < FAILED_BATCHES and not over():
        if await _do_batch(left, size, do, *context, over=over):
            size, failed = 2 * size if 2 * size <= AT_ONCE else len(left), 0
        else:
            size, failed = 1, failed + 1


async def _do_batch(
    left: deque[T], size: int, do: Callable[..., Coroutine[Any, Any, bool]], *context: Any, over: Callable[[], bool]
) -> bool:
    """Work on so many of the items that are `left`, which are taken from it; return whether all went well."""
    succeeded = True

    async def work_off() -> None:
        nonlocal size, succeeded
        while left and size and succeeded and not over():
            size -= 1
            if not await do(*context, left.popleft()):
                succeeded = False

    async with asyncio.TaskGroup() as group:
        for _ in range(min(size, len(left), AT_ONCE)):
            group.create_task(work_off())
    return succeeded
