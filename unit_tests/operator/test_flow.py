import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest
from unit_tests.operator.scripted_api import ScriptedApi, answer, pod

from training_operator.kube.client import KubeClient
from training_operator.kube.errors import NotFound
from training_operator.kube.flow import (
    BESIDE_STATUSES,
    FEWEST,
    IN_FLIGHT,
    PASSES,
    RESERVED,
    AdaptiveLimit,
    FairGate,
    Lane,
    TokenBucket,
)
from training_operator.kube.resources import PODS
from training_operator.kube.transport import Request, Response

pytestmark = pytest.mark.virtual_time


@contextlib.asynccontextmanager
async def turn(gate: FairGate, flow: str = "", *, tenant: str = "", lane: Lane = Lane.WORK) -> AsyncIterator[None]:
    await gate.enter(flow, tenant=tenant, lane=lane)
    try:
        yield
    finally:
        gate.leave(lane)


async def through(
    gate: FairGate, flow: str, log: list[str], *, tenant: str = "", lane: Lane = Lane.WORK, seconds: float = 1.0
) -> None:
    async with turn(gate, flow, tenant=tenant, lane=lane):
        log.append(flow)
        await asyncio.sleep(seconds)


async def test_a_small_flow_passes_a_large_one() -> None:
    gate, log = FairGate(AdaptiveLimit(2, 2)), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(50):
            tasks.create_task(through(gate, "large", log))
        for _ in range(5):
            tasks.create_task(through(gate, "small", log))
    assert len(log) == 55
    last_small = max(place for place, flow in enumerate(log) if flow == "small")
    assert last_small < 2 + 2 * 5


async def test_of_many_flows_the_one_that_came_first_has_its_turn_first() -> None:
    gate, log = FairGate(AdaptiveLimit(1, 1)), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for flow in ("a", "b", "c", "a", "b"):
            tasks.create_task(through(gate, flow, log))
    assert log == ["a", "b", "c", "a", "b"]


async def test_never_more_in_flight_than_the_limit() -> None:
    gate, most = FairGate(AdaptiveLimit(3, 3)), 0

    async def one(flow: int) -> None:
        nonlocal most
        async with turn(gate, str(flow)):
            most = max(most, gate.in_flight)
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as tasks:
        for number in range(20):
            tasks.create_task(one(number % 4))
    assert most == 3
    assert gate.in_flight == 0


async def test_statuses_have_reserved_places() -> None:
    gate, log = FairGate(AdaptiveLimit(1, 1)), list[str]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(through(gate, "job", log))
        await asyncio.sleep(0)
        for _ in range(RESERVED + 1):
            tasks.create_task(through(gate, "status", log, lane=Lane.STATUS))
        await asyncio.sleep(0.5)
        assert log == ["job", *["status"] * RESERVED]


async def test_cleaning_up_makes_room_for_statuses() -> None:
    gate, log = FairGate(), list[str]()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(through(gate, "status", log, lane=Lane.STATUS))
        for _ in range(BESIDE_STATUSES + 3):
            tasks.create_task(through(gate, "rest", log, lane=Lane.CLEANUP))
        await asyncio.sleep(0.5)
        assert log == ["status", *["rest"] * BESIDE_STATUSES]
        await asyncio.sleep(1)
        assert log.count("rest") == BESIDE_STATUSES + 3


async def test_what_waits_in_a_later_lane_is_let_through_once_it_is_overdue() -> None:
    gate = FairGate(AdaptiveLimit(1, 1))
    await gate.enter("job")
    waiting = asyncio.create_task(gate.enter("cleanup", lane=Lane.CLEANUP))
    await asyncio.sleep(0)
    for number in range(PASSES):
        await gate.enter("status", lane=Lane.STATUS)
        assert gate.in_flight == 1 + number + 1
    await gate.enter("status", lane=Lane.STATUS)
    assert gate.in_flight == 1 + PASSES + 1 + 1
    await waiting


async def in_order(*waiting: Lane) -> list[Lane]:
    """The order in which requests of these lanes get the one place that all of them wait for."""
    gate, log = FairGate(AdaptiveLimit(1, 1)), list[Lane]()
    free = asyncio.Event()

    async def hold() -> None:
        async with turn(gate, lane=Lane.STATUS):
            await free.wait()

    async def one(lane: Lane) -> None:
        async with turn(gate, lane=lane):
            log.append(lane)
            await asyncio.sleep(1)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(RESERVED):
            tasks.create_task(hold())
        tasks.create_task(one(Lane.FINAL))
        await asyncio.sleep(0.5)
        for lane in waiting:
            tasks.create_task(one(lane))
        await asyncio.sleep(len(waiting) + 1)
        free.set()
    return log[1:]


async def test_lanes_have_their_order() -> None:
    mixed = (Lane.CLEANUP, Lane.STATUS, Lane.WORK, Lane.FINAL, Lane.BACKGROUND, Lane.FINAL)
    assert await in_order(*mixed) == [Lane.FINAL, Lane.FINAL, Lane.STATUS, Lane.WORK, Lane.CLEANUP, Lane.BACKGROUND]


@pytest.mark.parametrize("lane", [Lane.STATUS, Lane.WORK, Lane.CLEANUP, Lane.BACKGROUND])
async def test_no_lane_is_passed_by_more_than_so_many_requests(lane: Lane) -> None:
    order = await in_order(lane, lane, *[Lane.FINAL] * 3 * PASSES)
    assert [number for number, each in enumerate(order) if each is lane] == [PASSES, 2 * PASSES + 1]


async def test_a_cancelled_waiter_neither_takes_nor_loses_a_place() -> None:
    gate, log = FairGate(AdaptiveLimit(1, 1)), list[str]()
    first = asyncio.create_task(through(gate, "first", log))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(through(gate, "waiting", log)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await first
    await waiting[1]
    assert log == ["first", "waiting"]
    assert gate.in_flight == 0


async def test_a_place_given_to_a_waiter_that_is_cancelled_at_that_moment_is_free_again() -> None:
    gate = FairGate(AdaptiveLimit(1, 1))
    await gate.enter("a")
    waiter = asyncio.create_task(gate.enter("b"))
    await asyncio.sleep(0)
    gate.leave(Lane.WORK)  # the place is given to the waiter, which has not run since
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert gate.in_flight == 0
    async with asyncio.timeout(1), turn(gate, "c"):
        pass


async def test_the_flows_of_one_tenant_get_no_more_than_the_one_of_another() -> None:
    gate, log = FairGate(AdaptiveLimit(1, 1)), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for tenant, flow in (("a", "a1"), ("a", "a2"), ("a", "a3"), ("a", "a1"), ("b", "b1"), ("b", "b1")):
            tasks.create_task(through(gate, flow, log, tenant=tenant))
    assert log == ["a1", "a2", "b1", "a3", "b1", "a1"]


class Server(ScriptedApi):
    """Gives one answer, to so many requests at a time; and a client of it."""

    def __init__(self, seconds: float, status: int = 200, at_once: int = 1) -> None:
        super().__init__()
        self._seconds, self._answer, self._places = seconds, answer(status, pod("a", "5")), asyncio.Semaphore(at_once)
        self.limit = AdaptiveLimit()
        self._client = KubeClient(self, FairGate(self.limit), random.Random(1))

    async def request(self, request: Request) -> Response:
        async with self._places:
            await asyncio.sleep(self._seconds)
        return self._answer

    async def ask(self, flow: str) -> float:
        """Return how long it took from the wish to send until the answer."""
        clock = asyncio.get_running_loop().time
        wished = clock()
        with contextlib.suppress(NotFound):
            await self._client.get(PODS, "ns", "a", flow=flow)
        return clock() - wished


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize(("seconds", "at_most", "limit_then"), [(0.02, 0.38, FEWEST), (0.001, 0.04, IN_FLIGHT)])
async def test_requests_wait_here_rather_than_at_a_slow_server(
    seconds: float, at_most: float, limit_then: int, status: int
) -> None:
    """A small flow's then come after those that are at the server only, at which no time is lost."""
    server, clock = Server(seconds, status), asyncio.get_running_loop().time
    await server.ask("small")
    large = [asyncio.create_task(server.ask("large")) for _ in range(1000)]
    await asyncio.sleep(500 * seconds)
    took = [await server.ask("small") for _ in range(5)]
    assert max(took) < at_most
    assert limit_then <= server.limit.now <= limit_then + 2
    await asyncio.gather(*large)
    assert clock() == pytest.approx(1006 * seconds)


async def test_a_server_that_is_always_slow_gets_as_many_requests_as_ever() -> None:
    server = Server(0.5, at_once=1000)
    for batch in (1, 2, 4, 500):
        await asyncio.gather(*(server.ask("job") for _ in range(batch)))
    assert server.limit.now == IN_FLIGHT


def test_a_round_that_takes_much_longer_than_usual_lowers_the_limit_by_a_quarter() -> None:
    limit = AdaptiveLimit()
    for _ in range(IN_FLIGHT):
        limit.succeeded("create pods", 0.1, 0)
    assert limit.now == IN_FLIGHT
    for _ in range(IN_FLIGHT):
        limit.succeeded("create pods", 1.0, IN_FLIGHT)
    assert limit.now == IN_FLIGHT * 3 // 4


def test_the_limit_grows_by_one_per_round_and_halves_on_overload() -> None:
    limit = AdaptiveLimit(largest=6, start=4)
    for now in (4, 4, 4, 5, 5, 5, 5, 5, 6):
        limit.succeeded()
        assert limit.now == now
    for _ in range(100):
        limit.succeeded()
    assert limit.now == 6
    limit.succeeded()
    limit.overloaded()
    for now in (3, 3, 4):
        assert limit.now == 3
        limit.succeeded()
        assert limit.now == now
    limit.overloaded()
    assert limit.now == 2
    for _ in range(5):
        limit.overloaded()
    assert limit.now == 1


@pytest.mark.shows("E-150")
async def test_a_rate_is_kept_in_the_long_run() -> None:
    gate, loop = FairGate(bucket=TokenBucket(20, 30)), asyncio.get_running_loop()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(130):
            tasks.create_task(through(gate, "job", [], seconds=0))
    assert loop.time() == pytest.approx(5.0)


async def test_a_rate_after_a_break_is_the_rate_and_no_more_than_the_burst() -> None:
    gate, loop = FairGate(bucket=TokenBucket(4, 2)), asyncio.get_running_loop()
    await asyncio.sleep(100)
    times = list[float]()
    async with asyncio.TaskGroup() as tasks:
        for pause in (0, 0, 0.1, 0):
            await asyncio.sleep(pause)
            task = tasks.create_task(through(gate, "job", [], seconds=0))
            task.add_done_callback(lambda _: times.append(loop.time() - 100))
    assert times == pytest.approx([0, 0, 0.25, 0.5])


async def test_urgent_requests_do_not_wait_for_the_rate_but_count() -> None:
    gate, loop = FairGate(bucket=TokenBucket(1, 1)), asyncio.get_running_loop()
    for _ in range(3):
        await through(gate, "lease", [], lane=Lane.STATUS, seconds=0)
    assert loop.time() == 0
    await through(gate, "job", [], seconds=0)
    assert loop.time() == pytest.approx(3.0)


async def test_requests_in_the_background_go_one_by_one_while_others_are_at_work() -> None:
    gate, log = FairGate(AdaptiveLimit(8, 8)), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for flow in ("a", "b", "c", "d"):
            tasks.create_task(through(gate, flow, log))
        for _ in range(3):
            tasks.create_task(through(gate, "event", log, lane=Lane.BACKGROUND))
        await asyncio.sleep(0.5)
        assert log == ["a", "b", "c", "d", "event"]
        await asyncio.sleep(1)
        assert log[5:] == ["event", "event"]


async def test_requests_in_the_background_share_an_idle_gate_and_keep_to_its_limit() -> None:
    gate, log = FairGate(AdaptiveLimit(8, 8)), list[str]()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(9):
            tasks.create_task(through(gate, "event", log, lane=Lane.BACKGROUND))
        await asyncio.sleep(0.5)
        assert len(log) == 8
    assert (len(log), gate.in_flight) == (9, 0)


async def test_a_gate_that_closes_waits_for_what_is_in_flight_and_lets_only_the_background_through() -> None:
    gate, log = FairGate(AdaptiveLimit(2, 2)), list[str]()
    clock = asyncio.get_running_loop().time
    jobs = [asyncio.create_task(through(gate, "job", log, seconds=3)) for _ in range(5)]
    await asyncio.sleep(1)
    status = asyncio.create_task(through(gate, "job", log, lane=Lane.STATUS, seconds=4))
    await asyncio.sleep(0)
    closing = asyncio.create_task(gate.close())
    late = asyncio.create_task(through(gate, "job", log, lane=Lane.STATUS))
    events = [asyncio.create_task(through(gate, "event", log, lane=Lane.BACKGROUND)) for _ in range(3)]
    await closing
    assert clock() == 5
    await asyncio.gather(*events)
    assert log == ["job"] * 3 + ["event"] * 3
    assert [task.done() for task in (*jobs, status, late)] == [True, True, False, False, False, True, False]
    for task in (*jobs, late):
        task.cancel()


async def test_a_gate_with_nothing_in_flight_closes_at_once() -> None:
    gate = FairGate()
    await through(gate, "job", [])
    await gate.close()
    assert asyncio.get_running_loop().time() == 1
