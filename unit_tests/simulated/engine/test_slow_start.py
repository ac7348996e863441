from __future__ import annotations

import asyncio
from collections.abc import Collection

from training_controllers.reconcile.slow_start import AT_ONCE, slow_start


class Work:
    """Notes how many items run at once and which were tried."""

    def __init__(self, bad: Collection[int] = ()) -> None:
        self.bad = bad
        self.tried: list[int] = []
        self.batches: list[int] = []
        self.most = 0
        self._running = 0

    async def do(self, item: int) -> bool:
        self.tried.append(item)
        self._running += 1
        if self._running == 1:
            self.batches.append(0)
        self.batches[-1] += 1
        self.most = max(self.most, self._running)
        await asyncio.sleep(0.01)
        self._running -= 1
        return item not in self.bad


async def test_batches_double_up_to_32_then_all_the_rest_is_one() -> None:
    work = Work()
    await slow_start(range(2000), work.do)
    assert work.batches == [1, 2, 4, 8, 16, 32, 1937]
    assert work.tried == list(range(2000))


async def test_so_many_are_worked_on_at_a_time() -> None:
    work = Work()
    await slow_start(range(2000), work.do)
    assert work.most == AT_ONCE == 32


async def test_a_failure_wastes_as_many_requests_as_are_on_their_way() -> None:
    work = Work(bad=range(1000, 2000))
    await slow_start(range(2000), work.do)
    assert work.batches[:6] == [1, 2, 4, 8, 16, 32]
    assert 1000 < len(work.tried) <= 1000 + AT_ONCE + 2


async def test_nothing_to_do() -> None:
    work = Work()
    await slow_start([], work.do)
    assert work.tried == []


async def test_a_failed_batch_begins_again_with_one() -> None:
    work = Work(bad={4})
    await slow_start(range(14), work.do)
    assert work.batches == [1, 2, 4, 1, 2, 4]
    assert work.tried == list(range(14))


async def test_gives_up_after_three_failed_batches() -> None:
    work = Work(bad=set(range(3, 1000)))
    await slow_start(range(1000), work.do)
    assert work.batches == [1, 2, 4, 1, 1]
    work = Work(bad=range(1000))
    await slow_start(range(1000), work.do)
    assert work.batches == [1, 1, 1]


async def test_one_bad_item_stops_no_other() -> None:
    work = Work(bad={0})
    await slow_start(range(5), work.do)
    assert work.tried == list(range(5))


async def test_nothing_is_begun_once_it_is_over() -> None:
    work = Work()
    await slow_start(range(1000), work.do, over=lambda: len(work.tried) >= 150)
    assert 150 <= len(work.tried) <= 150 + AT_ONCE
