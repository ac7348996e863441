import asyncio
import random
from collections.abc import Sequence

import pytest

from training_operator.queue import FOLLOW_UP, LOW, MINOR, NORMAL, PROGRESS, Backoff, WorkQueue

pytestmark = pytest.mark.virtual_time


async def taken(queue: WorkQueue[str]) -> str:
    async with asyncio.timeout(0):
        return await queue.get()


async def empty(queue: WorkQueue[str]) -> bool:
    try:
        await taken(queue)
    except TimeoutError:
        return True
    return False


async def test_a_key_is_handed_out_once_however_often_it_was_added() -> None:
    queue = WorkQueue[str]()
    for _ in range(3):
        queue.add("a")
    assert len(queue) == 1
    assert await taken(queue) == "a"
    assert await empty(queue)


async def test_an_add_while_the_key_is_out_is_remembered_and_waits_for_done() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    await taken(queue)
    queue.add("a")
    assert await empty(queue)
    queue.done("a")
    assert await taken(queue) == "a"


async def test_adding_a_key_twice_gives_it_no_advantage_later() -> None:
    queue = WorkQueue[str]()
    queue.add("a")
    queue.add("a")
    queue.done(await taken(queue))
    await asyncio.sleep(1)
    queue.add("b")
    await asyncio.sleep(1)
    queue.add("a")
    assert [await taken(queue) for _ in range(2)] == ["b", "a"]


async def test_a_key_that_becomes_urgent_keeps_the_time_of_its_first_add() -> None:
    queue = WorkQueue[str]()
    queue.add("a", priority=LOW)
    await asyncio.sleep(1)
    queue.add("b")
    queue.add("a")
    assert [await taken(queue) for _ in range(2)] == ["a", "b"]


async def test_new_work_passes_old_objects() -> None:
    queue = WorkQueue[str]()
    for key in ("a", "b", "c"):
        queue.add(key, priority=LOW)
    queue.add("new")
    queue.add("c")  # outbids its own earlier add
    assert [await taken(queue) for _ in range(4)] == ["new", "c", "a", "b"]
    assert await empty(queue)


async def test_a_priority_is_a_limited_head_start() -> None:
    queue = WorkQueue[str]()
    queue.add("old", priority=FOLLOW_UP)
    await asyncio.sleep(-FOLLOW_UP - 1)
    queue.add("in time")
    await asyncio.sleep(2)
    queue.add("too late")
    assert [await taken(queue) for _ in range(3)] == ["in time", "old", "too late"]


async def test_a_key_that_was_out_keeps_the_place_of_its_first_add() -> None:
    queue = WorkQueue[str]()
    queue.add("out")
    await taken(queue)
    queue.add("out", priority=FOLLOW_UP)
    await asyncio.sleep(-FOLLOW_UP + 1)
    queue.add("new")
    queue.done("out")
    assert [await taken(queue) for _ in range(2)] == ["out", "new"]


async def test_an_outbid_entry_does_not_hand_out_a_key_that_is_out() -> None:
    queue = WorkQueue[str]()
    queue.add("a", priority=LOW)
    queue.add("a")
    await taken(queue)
    queue.add("a")
    assert await empty(queue)


async def test_of_several_times_the_earliest_counts() -> None:
    queue, loop = WorkQueue[str](), asyncio.get_running_loop()
    queue.add_after("a", 50)
    queue.add_after("a", 10)
    queue.add_after("a", 20)
    assert await queue.get() == "a"
    assert loop.time() == pytest.approx(10)
    queue.done("a")
    await asyncio.sleep(100)
    assert await empty(queue)


async def test_who_gets_a_key_now_does_not_get_it_again_for_what_was_due_later() -> None:
    queue = WorkQueue[str]()
    queue.add_after("a", 10)
    queue.add("a")
    await taken(queue)
    queue.done("a")
    await asyncio.sleep(100)
    assert await empty(queue)


async def test_time_does_not_pass_for_what_is_due_already() -> None:
    queue = WorkQueue[str]()
    queue.add_after("now", 0)
    queue.add_after("soon", 0.5)
    assert await taken(queue) == "now"
    assert await empty(queue)


async def test_what_is_added_later_has_the_priority_that_it_was_given() -> None:
    queue = WorkQueue[str]()
    queue.add_after("timed", 1, priority=LOW)
    await asyncio.sleep(2)
    queue.add_after("due", 0, priority=FOLLOW_UP)
    queue.add("normal")
    assert [await taken(queue) for _ in range(3)] == ["normal", "due", "timed"]


@pytest.mark.parametrize("order", [(0.1, 0.2), (0.2, 0.1)])
async def test_what_can_wait_delays_nothing_urgent(order: tuple[float, float]) -> None:
    queue = WorkQueue[str](workers=12)
    queue.add("busy")
    await taken(queue)
    for seconds in order:
        queue.add_after("a", seconds, priority=PROGRESS if seconds == 0.1 else NORMAL)
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0.15)
    assert not worker.done()
    await asyncio.sleep(0.1)
    assert worker.done()
    queue.done("a")
    await asyncio.sleep(1)
    assert len(queue) == 0


async def test_waiting_workers_get_one_key_each() -> None:
    queue = WorkQueue[str]()
    workers = [asyncio.create_task(queue.get()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.add("a")
    queue.add_after("b", 0)
    assert {await worker for worker in workers} == {"a", "b"}


async def test_nothing_is_handed_out_after_closing() -> None:
    queue = WorkQueue[str]()
    queue.add("ready")
    queue.add_after("timed", 5)
    queue.close()
    queue.add_after("late", 5)
    await asyncio.sleep(10)
    assert await empty(queue)


async def test_what_is_out_is_shown_with_its_time() -> None:
    queue = WorkQueue[str]()
    await asyncio.sleep(1)
    queue.add("a")
    await taken(queue)
    await asyncio.sleep(3)
    assert queue.working() == [3]
    queue.done("a")
    assert queue.working() == []


async def test_a_key_waits_for_a_worker_only_where_all_are_busy_with_other_keys() -> None:
    queues = [WorkQueue[str](workers=workers) for workers in (1, 2)]
    for queue in queues:
        queue.add("a")
        await taken(queue)
        queue.add("a")
        assert not queue.is_crowded()
        queue.add("b")
    assert [queue.is_crowded() for queue in queues] == [True, False]


def handed_out(workers: Sequence[asyncio.Task[str]]) -> list[str]:
    return [each.result() for each in workers if each.done()]


@pytest.mark.parametrize(("priority", "most"), [(LOW, 4), (MINOR, 4), (PROGRESS, 1)])
async def test_what_changes_no_condition_gets_a_part_of_the_workers(priority: int, most: int) -> None:
    queue = WorkQueue[str](workers=12)
    for number in range(5):
        queue.add(f"minor {number}", priority=priority)
    workers = [asyncio.create_task(queue.get()) for _ in range(12)]
    await asyncio.sleep(0)
    at_once = [f"minor {number}" for number in range(most)]
    assert handed_out(workers) == at_once
    queue.add("follows", priority=FOLLOW_UP)
    await asyncio.sleep(0)
    assert handed_out(workers) == [*at_once, "follows"]
    queue.done("minor 0")
    await asyncio.sleep(0)
    assert len(handed_out(workers)) == most + 1  # as many are still busy
    queue.done("follows")
    await asyncio.sleep(0)
    assert handed_out(workers)[-1] == f"minor {most}"


async def test_what_changes_no_condition_is_handed_out_when_it_has_waited_long_enough() -> None:
    queue = WorkQueue[str](workers=12)
    for number in range(4):
        queue.add(f"long {number}")
    workers = [asyncio.create_task(queue.get()) for _ in range(12)]
    queue.add("progress", priority=PROGRESS)
    await asyncio.sleep(1)
    queue.add("minor", priority=MINOR)
    queue.add("later", priority=MINOR)
    await asyncio.sleep(-MINOR - 0.1)
    assert len(handed_out(workers)) == 4
    await asyncio.sleep(0.2)
    assert handed_out(workers)[4:] == ["minor", "later"]
    queue.done("minor")
    await asyncio.sleep(-PROGRESS + MINOR - 1.2)
    assert len(handed_out(workers)) == 6
    await asyncio.sleep(0.2)
    assert handed_out(workers)[6:] == ["progress"]


async def test_what_has_waited_long_enough_gets_a_sixth_of_the_workers() -> None:
    queue = WorkQueue[str](workers=12)
    for number in range(6):
        queue.add(f"progress {number}", priority=PROGRESS)
    await asyncio.sleep(-PROGRESS + 1)
    for number in range(12):
        queue.add(f"urgent {number}")
    workers = [asyncio.create_task(queue.get()) for _ in range(12)]
    await asyncio.sleep(0)
    out = handed_out(workers)
    assert out == [f"progress {number}" for number in range(3)] + [f"urgent {number}" for number in range(9)]
    for key in ("progress 1", "urgent 0"):  # the first one was handed out while nobody was busy
        queue.done(key)
    assert [await taken(queue), await taken(queue)] == ["progress 3", "urgent 9"]


async def test_what_has_waited_long_enough_passes_newer_urgent_keys() -> None:
    queue = WorkQueue[str](workers=12)
    queue.add("progress", priority=PROGRESS)
    await asyncio.sleep(-PROGRESS + 1)
    queue.add("urgent")
    assert [await taken(queue), await taken(queue)] == ["progress", "urgent"]


async def test_long_work_yields_to_cleanup() -> None:
    queue = WorkQueue[str](workers=3)
    queue.add("long")
    await taken(queue)
    queue.add("minor", priority=MINOR)
    assert queue.is_crowded()


@pytest.mark.parametrize("seed", range(20))
async def test_every_key_is_worked_on_whatever_happens_to_others(seed: int) -> None:
    chance, queue = random.Random(seed), WorkQueue[int](workers=6)
    last_add, last_get = dict[int, float](), dict[int, float]()
    now = asyncio.get_running_loop().time

    async def work() -> None:
        while True:
            key = await queue.get()
            last_get[key] = now()
            await asyncio.sleep(chance.choice((0.1, 0.5, 3)))
            queue.done(key)

    workers = [asyncio.create_task(work()) for _ in range(6)]
    for _ in range(200):
        key = chance.randrange(40)
        last_add[key] = now()
        queue.add(key, priority=chance.choice((NORMAL, FOLLOW_UP, MINOR, PROGRESS, LOW)))
        await asyncio.sleep(chance.choice((0, 0, 0.1, 0.2)))
    await asyncio.sleep(200)
    assert len(queue) == 0
    assert all(last_get[key] >= added for key, added in last_add.items())
    for worker in workers:
        worker.cancel()


async def test_the_queue_measures() -> None:
    log = list[tuple[str, float]]()

    class Metrics:
        def added(self) -> None:
            log.append(("added", 0))

        def started(self, waited: float) -> None:
            log.append(("started", waited))

        def finished(self, worked: float) -> None:
            log.append(("finished", worked))

    queue = WorkQueue[str](metrics=Metrics())
    await asyncio.sleep(1)
    queue.add("a", priority=LOW)
    assert log == [("added", 0)]
    queue.add("a")
    await asyncio.sleep(2)
    await taken(queue)
    await asyncio.sleep(3)
    queue.done("a")
    assert log == [("added", 0), ("started", 2), ("finished", 3)]


@pytest.mark.shows("E-019")
def test_the_back_off_doubles_up_to_its_end_and_starts_again_after_a_success() -> None:
    backoff = Backoff[str]()
    delays = [backoff.next("a") for _ in range(200)]
    assert delays[:4] == [0.005, 0.01, 0.02, 0.04]
    assert delays[-1] == 1000.0
    assert backoff.next("b") == 0.005
    backoff.forget("a")
    backoff.forget("never failed")
    assert backoff.next("a") == 0.005
