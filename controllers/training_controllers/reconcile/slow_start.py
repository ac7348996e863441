"""Slow start: batches that double, so that few of many requests are wasted when they are rejected (K-01)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

LARGEST_BATCH: Final = 500
AT_ONCE: Final = 40
"""Items of a batch that are worked on at a time: some more than requests may be in flight. What waits for its turn is
in memory, and one pod may be large."""
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
) -> None:
    """Run `do(*context, item)` for all work in batches of 1, 2, 4 ... 500; begin nothing more once it is `over`.

    After a batch in which one returned False the next one has size 1 again.
    """
    done, size, failed = 0, 1, 0
    while done < len(work) and failed < FAILED_BATCHES and not over():
        batch = work[done : done + size]
        done += len(batch)
        if await _do_all(batch, do, *context, over=over):
            size, failed = min(2 * size, LARGEST_BATCH), 0
        else:
            size, failed = 1, failed + 1


async def _do_all(
    batch: Sequence[T], do: Callable[..., Coroutine[Any, Any, bool]], *context: Any, over: Callable[[], bool]
) -> bool:
    """Whether all went well."""
    results: list[bool] = []
    left = iter(batch)

    async def work_off() -> None:
        for item in left:
            results.append(await do(*context, item))
            if over():
                return

    async with asyncio.TaskGroup() as group:
        for _ in range(min(len(batch), AT_ONCE)):
            group.create_task(work_off())
    return all(results)
