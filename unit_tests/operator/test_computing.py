"""What is computed beside the event loop, by a real thread."""

from __future__ import annotations

import asyncio
import threading

import pytest

from training_operator.computing import Beside


async def test_the_event_loop_goes_on_meanwhile() -> None:
    going_on = threading.Event()
    computing = asyncio.create_task(Beside()(lambda: going_on.wait(60)))
    await asyncio.sleep(0)
    going_on.set()
    assert await computing


async def test_one_computation_follows_the_other() -> None:
    beside, running = Beside(), threading.Lock()

    def alone() -> bool:
        if not running.acquire(blocking=False):
            return False
        sum(range(100_000))
        running.release()
        return True

    assert all(await asyncio.gather(*(beside(alone) for _ in range(20))))


async def test_what_it_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await Beside()(lambda: 1 // 0)
