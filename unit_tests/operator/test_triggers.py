"""Which change makes which job be reconciled, how soon, and what is counted."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from training_api.registry import KINDS
from training_controllers.model.records import JobRecord, OwnedRecord, Owner, PodRecord, ServiceRecord
from training_controllers.ports import JobKey
from training_operator.cache.store import Store
from training_operator.metrics import Metrics
from training_operator.queue import FOLLOW_UP, NORMAL, WorkQueue
from training_operator.triggers import BATCH_SECONDS, KindQueue, Triggers

pytestmark = pytest.mark.virtual_time
JOB = JobRecord("ns", "sim", "uid-of-job", "1", b"{}")
KEY = ("ns", "sim")
OURS = Owner("JAXJob", "sim", "uid-of-job")


def pod(version: int, phase: str = "Pending", *, owner: Owner | None = OURS, deleting: bool = False) -> PodRecord:
    return PodRecord("ns", "sim-worker-0", "uid-of-pod", str(version), owner, "worker", 0, phase, deleting=deleting)


class World:
    """One kind with one cached job, which has been reconciled."""

    def __init__(self) -> None:
        self.jobs, self.pods, self.services = Store[JobRecord](), Store[PodRecord](), Store[ServiceRecord]()
        self.queue = WorkQueue[JobKey]()
        self.metrics = Metrics()
        self.triggers = Triggers(self.metrics)
        self.jobs.observe(JOB)
        self.triggers.watch_jobs(KindQueue(KINDS["JAXJob"], self.jobs, self.queue))
        self.triggers.watch_pods(self.pods)
        self.triggers.watch_dependents(self.services)

    async def enqueued(self) -> float | None:
        """After how many seconds the job is handed out; None if it is not."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        try:
            async with asyncio.timeout(100):
                key = await self.queue.get()
        except TimeoutError:
            return None
        self.queue.done(key)
        assert key == KEY
        return clock() - begun

    async def before(self, other: JobKey, priority: int = NORMAL) -> bool:
        """Whether the job, enqueued before, is handed out before `other`, which comes a moment later."""
        await asyncio.sleep(2 * BATCH_SECONDS)
        self.queue.add(other, priority=priority)
        first = await self.queue.get()
        self.queue.done(first)
        self.queue.done(await self.queue.get())
        return first == KEY

    def counted(self, name: str) -> float:
        lines = self.metrics.exposition().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


async def test_a_job_is_reconciled_soon_after_its_pods_change_and_once_for_many() -> None:
    world = World()
    world.pods.observe(pod(1))
    world.services.observe(ServiceRecord("ns", "sim-worker-0", "s", "1", OURS, "worker", 0))
    assert await world.enqueued() == pytest.approx(BATCH_SECONDS)
    assert await world.enqueued() is None
    world.pods.remove(pod(2))
    assert await world.enqueued() == pytest.approx(BATCH_SECONDS)


async def test_changes_of_a_large_job_are_batched_for_longer_because_each_decision_takes_longer() -> None:
    world = World()
    world.pods.replace([msgspec.structs.replace(pod(1), name=f"sim-worker-{index}") for index in range(10_000)], "1")
    await world.enqueued()
    world.pods.observe(pod(2, "Running"))
    assert await world.enqueued() == pytest.approx(1.0)


@pytest.mark.shows("E-016")
@pytest.mark.parametrize(
    "owner", [None, Owner("JAXJob", "sim", "uid-of-predecessor"), Owner("TFJob", "sim", "uid-of-job")]
)
async def test_pods_of_others_concern_no_job(owner: Owner | None) -> None:
    world = World()
    world.triggers.leading = True
    world.pods.observe(pod(1, "Running", owner=owner))
    world.pods.observe(pod(2, "Failed", owner=owner))
    assert await world.enqueued() is None
    assert world.counted("failed_pods_total") == 0


async def test_a_pod_that_changes_its_owner_concerns_both_jobs() -> None:
    world = World()
    world.jobs.observe(msgspec.structs.replace(JOB, name="next", uid="uid-of-next"))
    assert await world.queue.get() == ("ns", "next")
    world.queue.done(("ns", "next"))
    world.pods.observe(pod(1))
    world.pods.observe(pod(2, owner=Owner("JAXJob", "next", "uid-of-next")))
    assert {await world.queue.get(), await world.queue.get()} == {KEY, ("ns", "next")}


async def test_a_change_of_what_nobody_uses_concerns_no_job() -> None:
    world = World()
    world.pods.observe(pod(1))
    await world.enqueued()
    world.pods.observe(pod(2))
    assert await world.enqueued() is None


@pytest.mark.parametrize(
    ("change", "urgent"),
    [
        (pod(2, "Running"), False),
        (pod(2, "Failed"), True),
        (pod(2, "Succeeded"), True),
        (pod(2, "Running", deleting=True), True),
    ],
)
async def test_the_end_of_a_pod_is_urgent_and_its_beginning_is_not(change: PodRecord, urgent: bool) -> None:
    world = World()
    world.pods.observe(pod(1))
    await world.enqueued()
    world.pods.observe(change)
    assert await world.before(("ns", "other")) is urgent


@pytest.mark.parametrize(("phase", "first"), [("Pending", False), ("", False), ("Running", True), (None, False)])
async def test_pods_that_run_are_counted_before_new_pods_and_services(phase: str | None, first: bool) -> None:
    """Of many jobs, those whose pods run get their status first, Created and Running with one write."""
    world = World()
    if phase is None:
        world.services.observe(ServiceRecord("ns", "sim-worker-0", "s", "1", OURS, "worker", 0))
    else:
        world.pods.observe(pod(1, phase))
    assert await world.before(("ns", "other"), FOLLOW_UP) is first


@pytest.mark.parametrize(("status", "first"), [(b"{}", True), (b'{"conditions":[{"type":"Running"}]}', False)])
async def test_pods_of_a_job_that_runs_only_change_its_counts(status: bytes, first: bool) -> None:
    world = World()
    world.jobs.put(msgspec.structs.replace(JOB, version="8", status=status), expected=True)
    world.pods.observe(pod(1, "Running"))
    assert await world.before(("ns", "other"), FOLLOW_UP) is first


async def test_a_gang_is_not_behind_new_pods() -> None:
    """Its pods may wait for what has changed."""
    world, gangs = World(), Store[OwnedRecord]()
    world.triggers.watch_dependents(gangs)
    gangs.observe(OwnedRecord("PodGroup", "ns", "sim", "g", "1", OURS, b"null", phase="Pending"))
    assert await world.before(("ns", "other"), FOLLOW_UP)


@pytest.mark.parametrize("other", [NORMAL, FOLLOW_UP])
async def test_the_end_of_a_pod_of_a_job_that_has_ended_can_wait(other: int) -> None:
    world = World()
    world.jobs.put(msgspec.structs.replace(JOB, version="2", status=b'{"completionTime":"..."}'), expected=True)
    world.pods.observe(pod(1))
    await world.enqueued()
    world.pods.observe(pod(2, "Succeeded"))
    assert not await world.before(("ns", "other"), other)


@pytest.mark.parametrize("seconds", [0, 2 * BATCH_SECONDS])
@pytest.mark.parametrize(("status", "urgent"), [(b"{}", True), (b'{"completionTime":"..."}', False)])
async def test_pods_that_end_before_the_end_of_their_job_is_stored_can_wait(
    seconds: float, status: bytes, urgent: bool
) -> None:
    """Whether their batch is complete or not: what is left is to clean up."""
    world = World()
    world.pods.observe(pod(1))
    await world.queue.get()
    world.pods.observe(pod(2, "Succeeded"))
    await asyncio.sleep(seconds)
    world.jobs.put(msgspec.structs.replace(JOB, version="2", status=status), expected=True)
    world.queue.done(KEY)
    assert await world.before(("ns", "other"), FOLLOW_UP) is urgent


@pytest.mark.parametrize(("status", "after"), [(b"{}", BATCH_SECONDS), (b'{"completionTime":"..."}', None)])
async def test_that_a_service_goes_after_the_end_of_its_job_causes_no_reconcile(
    status: bytes, after: float | None
) -> None:
    world, service = World(), ServiceRecord("ns", "sim-worker-0", "s", "1", OURS, "worker", 0)
    world.jobs.put(msgspec.structs.replace(JOB, version="2", status=status), expected=True)
    world.services.observe(service)
    await world.enqueued()
    world.services.remove(msgspec.structs.replace(service, version="2"))
    assert await world.enqueued() == (pytest.approx(after) if after else None)


@pytest.mark.parametrize(("raw", "urgent"), [(b"{}", False), (b'{"spec":1}', True)])
async def test_a_job_whose_status_alone_has_changed_can_wait(raw: bytes, urgent: bool) -> None:
    world = World()
    world.jobs.observe(msgspec.structs.replace(JOB, version="2", raw=raw))
    assert await world.before(("ns", "other")) is urgent


@pytest.mark.parametrize(("raw", "after"), [(JOB.raw, None), (b'{"spec":1}', 0)])
async def test_the_status_that_a_reconcile_has_written_causes_no_other_one(raw: bytes, after: float | None) -> None:
    """A spec that came with the answer does: it was read after an attempt without one."""
    world = World()
    world.jobs.put(msgspec.structs.replace(JOB, version="2", raw=raw, status=b"{}"), expected=True)
    assert await world.enqueued() == after


async def test_what_is_listed_can_wait_longest() -> None:
    world = World()
    world.jobs.replace([msgspec.structs.replace(JOB, version="2", raw=b'{"spec":1}')], "9")
    await asyncio.sleep(59)
    assert not await world.before(("ns", "other"))
    world.pods.replace([pod(1, "Failed")], "9")
    await asyncio.sleep(59)
    assert not await world.before(("ns", "other"))


async def test_a_job_that_is_gone_is_reconciled_for_the_last_time() -> None:
    world = World()
    world.jobs.remove(msgspec.structs.replace(JOB, version="2"))
    assert await world.enqueued() == 0


async def test_all_jobs_can_be_enqueued_and_those_of_some_pods() -> None:
    world = World()
    world.triggers.enqueue_all()
    assert not await world.before(("ns", "other"))
    world.triggers.enqueue_owners([pod(1), pod(1, owner=None)])
    assert await world.before(("ns", "other"))


@pytest.mark.parametrize("leading", [False, True])
async def test_a_leader_counts_each_pod_that_fails_once(leading: bool) -> None:
    world = World()
    world.triggers.leading = leading
    world.pods.observe(pod(1, "Running"))
    world.pods.observe(pod(2, "Failed"))
    world.pods.observe(pod(3, "Failed", deleting=True))
    assert world.counted("failed_pods_total") == leading
