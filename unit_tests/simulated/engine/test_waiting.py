"""`status.waiting` says why a job makes no progress: each reason, since when, and that it goes with its cause."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, elastic, jax, pytorch
from e2e.support.simulation.process import Process

pytestmark = pytest.mark.virtual_time

SETTLED = 3.0
BEGINNING = "2026-01-01T00:00:00Z"
EXCEEDED = 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'
FINALIZER = "example.com/hold"


async def waiting(world: Cluster, kind: str = "JAXJob", name: str = "jx") -> Json:
    """What the job waits for; empty if for nothing."""
    found: Json = (await world.job(kind, name)).get("status", {}).get("waiting", {})
    return found


async def reason(world: Cluster, kind: str = "JAXJob", name: str = "jx") -> str:
    return str((await waiting(world, kind, name)).get("reason", ""))


def reject_pods(process: Process, code: int, word: str, message: str) -> None:
    process.transport.reject = rejecting(status(code, word, message), "pods", method="POST")


async def set_pod_status(world: Cluster, name: str, **fields: Any) -> None:
    """What scheduler and kubelet say of a pod."""
    await world.api.patch("Pod", name, {"status": fields}, "status")


def container(waits: str = "", message: str = "", *, restarts: int = 0, **state: Any) -> list[Json]:
    state = state or {"waiting": {"reason": waits, "message": message}}
    return [{"name": "jax", "image": "i", "imageID": "", "ready": False, "restartCount": restarts, "state": state}]


def not_placed(message: str, why: str = "Unschedulable") -> list[Json]:
    return [{"type": "PodScheduled", "status": "False", "reason": why, "message": message}]


@pytest.mark.shows("K-65")
@pytest.mark.parametrize(
    ("code", "word", "words", "expected"),
    [
        (403, "Forbidden", EXCEEDED, "Quota"),
        (403, "Forbidden", 'pods "x" is forbidden: failed quota: q: must specify limits.cpu for: jax', "Quota"),
        (422, "Invalid", 'Pod "x" is invalid: spec.containers[0].image: Required value', "InvalidTemplate"),
        (403, "Forbidden", 'pods "x" is forbidden: violates PodSecurity "restricted:latest"', "InvalidTemplate"),
        (400, "BadRequest", "Pod in version v1 cannot be handled as a Pod", "InvalidTemplate"),
        (403, "Forbidden", 'pods is forbidden: User "o" cannot create resource "pods" in API group ""', "CreateFailed"),
        (403, "Forbidden", "unable to create new content in namespace x because it is being terminated", "Terminating"),
        (500, "InternalError", 'failed calling webhook "w": connection refused', "CreateFailed"),
    ],
)
async def test_a_rejected_pod_is_a_cause_until_it_is_created(code: int, word: str, words: str, expected: str) -> None:
    async with cluster_with_operator() as (world, process):
        reject_pods(process, code, word, words)
        await world.api.create(jax())
        await asyncio.sleep(100)
        found = await waiting(world)
        assert (found["reason"], found["since"]) == (expected, BEGINNING)
        assert found["message"] == f"pod jx-worker-0 cannot be created: {words}"
        assert len(await world.events("FailedCreatePod")) == 1
        process.transport.reject = lambda _request: None
        await asyncio.sleep(130)
        assert (len(await world.pods()), await waiting(world)) == (2, {})


async def test_a_cause_outlives_the_operator() -> None:
    async with cluster() as world:
        for _ in range(2):
            process = world.operator()
            reject_pods(process, 403, "Forbidden", EXCEEDED)
            if not await world.api.list("JAXJob"):
                await world.api.create(jax())
            await asyncio.sleep(30)
            assert (await waiting(world))["since"] == BEGINNING
            await process.kill()


async def test_a_cause_of_an_earlier_operator_goes_when_it_is_another_one_now() -> None:
    async with cluster() as world:
        first = world.operator()
        reject_pods(first, 422, "Invalid", "the template is wrong")
        await world.api.create(jax())
        await asyncio.sleep(SETTLED)
        assert await reason(world) == "InvalidTemplate"
        await first.kill()
        reject_pods(world.operator(), 403, "Forbidden", EXCEEDED)
        await asyncio.sleep(SETTLED)
        assert await reason(world) == "Quota"


async def test_what_is_not_wanted_any_more_is_no_cause() -> None:
    async with cluster_with_operator() as (world, process):
        await world.api.create(jax(workers=1))
        await asyncio.sleep(SETTLED)
        reject_pods(process, 403, "Forbidden", EXCEEDED)
        for workers, expected in ((2, "Quota"), (1, "")):
            await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": workers}}}})
            await asyncio.sleep(SETTLED)
            assert await reason(world) == expected


async def test_other_words_for_the_same_cause_are_not_written_all_the_time() -> None:
    async with cluster_with_operator(jax(workers=1)) as (world, process):
        for second in range(300):
            await set_pod_status(world, "jx-worker-0", conditions=not_placed(f"0/{second} nodes are available"))
            await asyncio.sleep(1)
        patches = [r for r in process.transport.sent if r.method == "PATCH" and r.path.endswith("/status")]
        assert len(patches) <= 1 + 1 + 300 / 60 + 1
        found = await waiting(world)
        assert found["message"].endswith(" nodes are available")
        assert found["since"] == "2026-01-01T00:00:03Z"
        await asyncio.sleep(70)
        assert (await waiting(world))["message"] == "pod jx-worker-0 cannot be scheduled: 0/299 nodes are available"


async def test_an_autoscaler_that_cannot_be_made_keeps_no_pod_waiting() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", EXCEEDED), "horizontalpodautoscalers")
        await world.api.create(elastic())
        await asyncio.sleep(SETTLED)
        assert len(await world.events("FailedHorizontalPodAutoscaler")) == 1
        assert await waiting(world, "PyTorchJob", "pt") == {}


async def test_pods_that_cannot_be_placed() -> None:
    async with cluster_with_operator(jax(workers=3)) as (world, _):
        for index, why in ((1, "Unschedulable"), (2, "SchedulingGated")):
            await set_pod_status(world, f"jx-worker-{index}", conditions=not_placed("no room", why))
        await asyncio.sleep(SETTLED)
        found = await waiting(world)
        assert found["reason"] == "Unschedulable"
        text = "pod jx-worker-1 cannot be scheduled: no room; 1 more pod(s) wait for the same reason"
        assert found["message"] == text
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(SETTLED)
        assert await waiting(world) == {}


@pytest.mark.parametrize("word", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
async def test_images_that_cannot_be_pulled(word: str) -> None:
    async with cluster_with_operator(jax(workers=1)) as (world, _):
        await set_pod_status(world, "jx-worker-0", containerStatuses=container(word, "no such image"))
        await asyncio.sleep(SETTLED)
        message = f"pod jx-worker-0, container jax: its image cannot be pulled: {word}: no such image"
        assert await waiting(world) == {"reason": "ImagePull", "message": message, "since": "2026-01-01T00:00:03Z"}
        await world.kubelet.running("jx-worker-0")
        await asyncio.sleep(SETTLED)
        assert await waiting(world) == {}


@pytest.mark.shows("K-57")
async def test_a_replica_whose_replacement_has_to_wait() -> None:
    async with cluster_with_operator(jax(workers=1)) as (world, _):
        for _ in range(3):
            await world.kubelet.running("jx-worker-0")
            await world.kubelet.ended("jx-worker-0", 137)
            await asyncio.sleep(2 * SETTLED)
            first = await waiting(world)
            await asyncio.sleep(25)
        text = "Pod jx-worker-0: container jax exited with code 137 (SIGKILL, Error); it is replaced at 00:01:25 UTC"
        assert (first["reason"], first["message"]) == ("CrashLoop", text)
        assert await waiting(world) == {}


async def test_a_pod_that_does_not_go() -> None:
    async with cluster_with_operator(jax(workers=1)) as (world, _):
        await world.api.patch("Pod", "jx-worker-0", {"metadata": {"finalizers": [FINALIZER]}})
        await world.kubelet.running("jx-worker-0")
        await world.api.delete("Pod", "jx-worker-0")
        await asyncio.sleep(SETTLED)
        text = "pod jx-worker-0 was deleted but still exists: a finalizer or a lost node may block its deletion"
        found = await waiting(world)
        assert (found["reason"], found["message"]) == ("Terminating", text)
        await world.api.patch("Pod", "jx-worker-0", {"metadata": {"finalizers": None}})
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await waiting(world)) == (["jx-worker-0"], {})


async def test_a_pod_on_its_way_out_is_no_cause_until_its_time_is_over() -> None:
    async with cluster_with_operator(jax(workers=1)) as (world, _):
        await world.kubelet.running("jx-worker-0")
        world.kubelet._grace = 1000.0
        await world.api.delete("Pod", "jx-worker-0")
        await asyncio.sleep(39)
        assert await reason(world) == ""
        await asyncio.sleep(3)  # 30 s of grace, and 10 s in which it should go
        assert await reason(world) == "Terminating"


async def test_of_several_causes_the_same_one_is_in_the_status_whatever_came_first() -> None:
    for order in ((0, 1, 2), (2, 1, 0)):
        async with cluster() as world:
            world.operator()
            await world.api.create(jax(workers=3))
            await asyncio.sleep(SETTLED)
            statuses = (
                {"conditions": not_placed("no room")},
                {"containerStatuses": container("ImagePullBackOff", "no image")},
                {"containerStatuses": container("CrashLoopBackOff", "crash", restarts=2)},
            )
            for index in order:
                await set_pod_status(world, f"jx-worker-{index}", **statuses[index])
                await asyncio.sleep(SETTLED)
            assert await reason(world) == "Unschedulable"
            for index, left in ((0, "ImagePull"), (1, "CrashLoop"), (2, "")):
                await world.kubelet.running(f"jx-worker-{index}")
                await asyncio.sleep(SETTLED)
                assert await reason(world) == left


@pytest.mark.parametrize("ends", ["Suspended", "Succeeded"])
async def test_a_job_that_is_not_active_waits_for_nothing(ends: str) -> None:
    async with cluster_with_operator(pytorch(workers=1, policy="Never")) as (world, _):
        await set_pod_status(world, "pt-worker-0", conditions=not_placed("no room"))
        await asyncio.sleep(SETTLED)
        assert await reason(world, "PyTorchJob", "pt") == "Unschedulable"
        if ends == "Suspended":
            await world.api.patch("PyTorchJob", "pt", {"spec": {"runPolicy": {"suspend": True}}})
        else:
            await world.kubelet.ended("pt-master-0")
        await asyncio.sleep(SETTLED)
        assert await waiting(world, "PyTorchJob", "pt") == {}
        assert list(conditions(await world.job("PyTorchJob", "pt")))[-1] == ends
