import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs
from unit_tests.operator.memory_api import MemoryApi, Network, now

from training_api.registry import KINDS
from training_controllers.model.plan import EventType, JobEvent
from training_controllers.model.records import JobRecord
from training_operator.events import EventRecorder
from training_operator.kube.transport import Request

pytestmark = pytest.mark.virtual_time
JOB = JobRecord("default", "sim", "uid-1", "7", b"{}")
OTHER = JobRecord("default", "other", "uid-2", "8", b"{}")
PATH = "/api/v1/namespaces/default/events"


def event(message: str = "Created pod: sim-worker-0", reason: str = "SuccessfulCreatePod", **more: Any) -> JobEvent:
    return JobEvent(EventType.NORMAL, reason, message, **more)


class World:
    def __init__(self, api: MemoryApi, network: Network, recorder: EventRecorder) -> None:
        self.api, self.network, self.recorder = api, network, recorder
        self.port = recorder.of(KINDS["PyTorchJob"])

    async def stored(self) -> list[dict[str, Any]]:
        await self.recorder.flush()
        items: list[dict[str, Any]] = (await self.api.read(PATH))["items"]
        return sorted(items, key=lambda item: int(item["metadata"]["resourceVersion"]))


@asynccontextmanager
async def recording() -> AsyncIterator[World]:
    api = MemoryApi()
    network = api.network()
    recorder = EventRecorder(network.client(), now, asyncio.get_running_loop().time)
    task = asyncio.create_task(recorder.run())
    yield World(api, network, recorder)
    task.cancel()
    await asyncio.wait([task])


async def test_an_event_looks_like_v1_s() -> None:
    async with recording() as world:
        await asyncio.sleep(5)
        world.port.record(JOB, event())
        [stored] = await world.stored()
    assert stored["involvedObject"] == {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "namespace": "default",
        "name": "sim",
        "uid": "uid-1",
        "resourceVersion": "7",
    }
    assert (stored["type"], stored["reason"], stored["message"]) == (
        "Normal",
        "SuccessfulCreatePod",
        "Created pod: sim-worker-0",
    )
    assert stored["source"] == {"component": "pytorchjob-controller"}
    assert stored["reportingComponent"] == "pytorchjob-controller"
    assert (stored["count"], stored["firstTimestamp"], stored["lastTimestamp"]) == (
        1,
        "2026-01-01T00:00:05Z",
        "2026-01-01T00:00:05Z",
    )
    name, _, stamp = stored["metadata"]["name"].rpartition(".")
    assert name == "sim"
    assert int(stamp, 16) // 10**9 == int(now().timestamp())


async def test_identical_events_are_counted_up() -> None:
    async with recording() as world:
        for _ in range(3):
            world.port.record(JOB, event())
            await asyncio.sleep(10)
        [stored] = await world.stored()
    assert (stored["count"], stored["firstTimestamp"], stored["lastTimestamp"]) == (
        3,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:20Z",
    )


async def test_events_of_different_jobs_types_and_reasons_are_apart() -> None:
    async with recording() as world:
        for job in (JOB, OTHER):
            world.port.record(job, event())
            world.port.record(job, event(reason="Other"))
            world.port.record(job, JobEvent(EventType.WARNING, "Other", event().message))
        assert [stored["count"] for stored in await world.stored()] == [1] * 6
        assert len({stored["metadata"]["name"] for stored in await world.stored()}) == 6


async def test_many_similar_events_are_combined() -> None:
    async with recording() as world:
        for number in range(15):
            world.port.record(JOB, event(f"Created pod: sim-worker-{number}"))
        stored = await world.stored()
    assert [each["message"] for each in stored[:10]] == [f"Created pod: sim-worker-{n}" for n in range(10)]
    [combined] = stored[10:]
    assert combined["message"] == "(combined from similar events): Created pod: sim-worker-14"
    assert combined["count"] == 5


async def test_a_job_with_many_events_gets_two_of_each_further_reason() -> None:
    async with recording() as world:
        for reason in ("A", "B", "C", "D", "E"):
            for number in range(15):
                world.port.record(JOB, event(f"number {number}", reason=reason))
        reasons = Counter(each["reason"] for each in await world.stored())
    assert reasons == {"A": 11, "B": 11, "C": 9, "D": 2, "E": 2}


async def test_after_ten_quiet_minutes_similar_events_stand_alone_again() -> None:
    async with recording() as world:
        for number in range(11):
            world.port.record(JOB, event(f"Created pod: {number}"))
        await asyncio.sleep(600)
        world.port.record(JOB, event("Created pod: later"))
        assert (await world.stored())[-1]["message"] == "Created pod: later"


async def test_a_flood_is_cut_off_and_trickles() -> None:
    async with recording() as world:
        for _ in range(45):
            world.port.record(JOB, event())
        assert (await world.stored())[0]["count"] == 25
        await asyncio.sleep(300)
        for _ in range(3):
            world.port.record(JOB, event())
        await world.recorder.flush()
        writes = [request for request in world.network.requests if request.method != "GET"]
        assert len(writes) == 26


async def test_a_flood_of_one_reason_does_not_swallow_another() -> None:
    async with recording() as world:
        for number in range(1000):
            world.port.record(JOB, event(f"Created pod: {number}"))
        world.port.record(JOB, event("it failed", reason="PyTorchJobFailed"))
        assert (await world.stored())[-1]["message"] == "it failed"


async def test_an_event_that_has_expired_is_created_again() -> None:
    async with recording() as world:
        world.port.record(JOB, event())
        [stored] = await world.stored()
        await world.network.request(Request("DELETE", f"{PATH}/{stored['metadata']['name']}"))
        world.port.record(JOB, event())
        [again] = await world.stored()
    assert again["count"] == 2


async def test_too_many_waiting_events_are_dropped_with_a_word() -> None:
    async with recording() as world:
        world.network.down = True
        with capture_logs() as logs:
            for number in range(10_010):
                world.port.record(JobRecord("default", f"job-{number}", f"u{number}", "1", b"{}"), event())
        assert sum(line["event"].startswith("event dropped") for line in logs) == 10


async def test_a_rejected_event_is_logged_and_the_next_one_sent() -> None:
    async with recording() as world:
        nowhere = JobRecord("no-such-namespace", "sim", "uid-9", "1", b"{}")
        with capture_logs() as logs:
            world.port.record(nowhere, event())
            world.port.record(JOB, event())
            assert len(await world.stored()) == 1
        assert [line["event"] for line in logs] == ["event not sent"]


async def test_a_slow_answer_holds_up_the_events_of_no_other_job() -> None:
    async with recording() as world:
        world.network.down = True
        world.port.record(JOB, event())
        await asyncio.sleep(0.1)
        world.network.down = False
        for number in range(3):
            world.port.record(OTHER, event(f"Created pod: other-worker-{number}"))
        await asyncio.sleep(0.1)
        stored = (await world.api.read(PATH))["items"]
    in_order = sorted(stored, key=lambda item: int(item["metadata"]["resourceVersion"]))
    assert [item["message"] for item in in_order] == [f"Created pod: other-worker-{number}" for number in range(3)]


async def test_recording_never_waits() -> None:
    async with recording() as world:
        world.network.down = True
        before = asyncio.get_running_loop().time()
        world.port.record(JOB, event())
        assert asyncio.get_running_loop().time() == before
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await world.recorder.flush()
