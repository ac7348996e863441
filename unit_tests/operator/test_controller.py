import asyncio
from collections import deque

import pytest
from structlog.testing import capture_logs

from training_controllers.ports import ApiError, Conflict, Result
from training_operator.controller import Controller, ResultLabel
from training_operator.queue import WorkQueue

pytestmark = pytest.mark.virtual_time


class Measured:
    def __init__(self) -> None:
        self.outcomes, self.notes = list[tuple[ResultLabel, float]](), list[str]()

    def began(self) -> None:
        self.notes.append("began")

    def ended(self, outcome: ResultLabel, seconds: float) -> None:
        self.outcomes.append((outcome, seconds))

    def crashed(self) -> None:
        self.notes.append("crashed")

    def retried(self) -> None:
        self.notes.append("retried")


class Scripted:
    """Reconciles as scripted: each outcome takes a second, then is returned or raised; afterwards all is well."""

    def __init__(self, *outcomes: Result | Exception, seconds: float = 1.0) -> None:
        self.outcomes, self.seconds = deque(outcomes), seconds
        self.begun, self.out, self.most = list[tuple[str, float]](), list[str](), 0

    async def reconcile(self, key: str) -> Result:
        assert key not in self.out
        self.begun.append((key, asyncio.get_running_loop().time()))
        self.out.append(key)
        self.most = max(self.most, len(self.out))
        await asyncio.sleep(self.seconds)
        self.out.remove(key)
        outcome = self.outcomes.popleft() if self.outcomes else Result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


async def played(reconciler: Scripted, *keys: str, seconds: float = 5000.0, workers: int = 4) -> Measured:
    loop, metrics = asyncio.get_running_loop(), Measured()
    queue = WorkQueue[str]()
    controller = Controller("test", queue, reconciler, metrics, workers=workers, clock=loop.time)
    for key in keys:
        queue.add(key)
    task = asyncio.create_task(controller.run())
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.wait([task])
    return metrics


@pytest.mark.shows("E-020")
async def test_many_keys_at_once_each_by_one_worker() -> None:
    reconciler = Scripted()
    metrics = await played(reconciler, *"abcdefgh", "a", "b")
    assert sorted(key for key, _ in reconciler.begun) == sorted("abcdefgh")
    assert reconciler.most == 4
    assert metrics.outcomes == [(ResultLabel.SUCCESS, 1.0)] * 8


async def test_a_key_is_requeued_after_the_time_in_its_result() -> None:
    reconciler = Scripted(Result(30.0))
    metrics = await played(reconciler, "a")
    assert reconciler.begun == [("a", 0), ("a", 31)]
    assert [outcome for outcome, _ in metrics.outcomes] == [ResultLabel.REQUEUE_AFTER, ResultLabel.SUCCESS]


async def test_what_is_left_of_keys_leaves_most_workers_to_others() -> None:
    """Such as the cleanup of finished jobs, which waits for requests."""
    loop, queue = asyncio.get_running_loop(), WorkQueue[str](workers=6)
    reconciler = Scripted(*[Result(0)] * 6)
    controller = Controller("test", queue, reconciler, Measured(), workers=6, clock=loop.time)
    task = asyncio.create_task(controller.run())
    for key in "abcdef":
        queue.add(key)
    await asyncio.sleep(1.5)
    assert len(reconciler.begun) == 6 + 2
    task.cancel()
    await asyncio.wait([task])


async def test_errors_are_retried_with_a_growing_delay_that_a_success_ends() -> None:
    failures = [ApiError("no"), OSError("broken"), ApiError("no")]
    reconciler = Scripted(*failures, Result(100), ApiError("no"), seconds=0)
    with capture_logs() as logs:
        metrics = await played(reconciler, "a")
    times = [time for _, time in reconciler.begun]
    assert times == pytest.approx([0, 0.005, 0.015, 0.035, 100.035, 100.040])
    assert metrics.notes.count("retried") == 4
    assert [line["log_level"] for line in logs] == ["warning"] * 4
    assert (logs[0]["event"], logs[0]["error"], logs[0]["key"]) == ("reconcile failed", "no", "a")


async def test_the_time_that_the_server_asks_for_wins() -> None:
    reconciler = Scripted(ApiError("busy", retry_after=7), seconds=0)
    await played(reconciler, "a")
    assert [time for _, time in reconciler.begun] == [0, 7]


async def test_a_conflict_is_retried_without_a_word() -> None:
    reconciler = Scripted(Conflict("changed"), seconds=0)
    with capture_logs() as logs:
        metrics = await played(reconciler, "a")
    assert len(reconciler.begun) == 2
    assert [line for line in logs if line["log_level"] != "debug"] == []
    assert metrics.outcomes[0][0] is ResultLabel.ERROR


async def test_a_crash_of_one_key_stops_nobody_and_is_retried() -> None:
    reconciler = Scripted(ZeroDivisionError("oops"), seconds=0)
    with capture_logs() as logs:
        metrics = await played(reconciler, "a", "b", workers=1)
    assert [key for key, _ in reconciler.begun] == ["a", "b", "a"]
    assert metrics.notes.count("crashed") == 1
    assert [line["event"] for line in logs] == ["reconcile crashed"]


async def test_many_keys_that_need_no_waiting_leave_turns_to_others() -> None:
    class Instant:
        async def reconcile(self, key: str) -> Result:
            return Result()

    loop, queue = asyncio.get_running_loop(), WorkQueue[str]()
    controller = Controller("test", queue, Instant(), Measured(), workers=1, clock=loop.time)
    for number in range(100):
        queue.add(str(number))
    task, turns = asyncio.create_task(controller.run()), 0
    while len(queue):
        await asyncio.sleep(0)
        turns += 1
    task.cancel()
    assert turns >= 100
