"""Gangs with the whole operator: PodGroups on an API server that may lack them, reject them, or belong to others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.gang import install, set_phase, uninstall
from e2e.support.simulation.jobs import conditions, extended, jax, mpi, paddle, pytorch
from e2e.support.simulation.process import SETTINGS, Process

pytestmark = pytest.mark.virtual_time

VOLCANO = SETTINGS.model_copy(update={"gang_scheduler_name": "Volcano"})
COSCHEDULING = SETTINGS.model_copy(update={"gang_scheduler_name": "scheduler-plugins-scheduler"})
SETTLED = 3.0
FOUND = 15.0
"""Seconds within which an API that has appeared is found."""
WATCHED = 700.0
"""Seconds within which every watch has ended once."""


@asynccontextmanager
async def volcano(job: Json | None = None) -> AsyncIterator[tuple[Cluster, Process]]:
    """A cluster with Volcano's API, and an operator that uses it; the job has been there for a while."""
    async with cluster() as world:
        await install(world.api)
        process = world.operator(settings=VOLCANO)
        if job is not None:
            await world.api.create(job)
            await asyncio.sleep(SETTLED)
        yield world, process


async def group(world: Cluster, name: str = "jx", kind: str = "PodGroup") -> Json:
    return await world.get(kind, name)


async def waits(world: Cluster, kind: str = "JAXJob", name: str = "jx") -> str | None:
    waiting = (await world.job(kind, name)).get("status", {}).get("waiting")
    return None if waiting is None else str(waiting["reason"])


def sent(process: Process, *methods: str, what: str = "/podgroups") -> list[tuple[str, str]]:
    return [(r.method, r.path) for r in process.transport.sent if r.method in methods and what in r.path]


@pytest.mark.shows("E-120", "INT-072")
@pytest.mark.parametrize("job", [jax("j"), pytorch("j"), paddle("j"), mpi("j")], ids=lambda job: str(job["kind"]))
async def test_the_pod_group_comes_first_and_pods_when_it_is_let_in(job: Json) -> None:
    async with volcano({**job, "metadata": {**job["metadata"], "annotations": {"team": "a"}}}) as (world, process):
        assert (await world.pods(), await waits(world, job["kind"], "j")) == ([], "GangPending")
        assert (await group(world, "j"))["metadata"]["annotations"] == {"team": "a"}
        await set_phase(world.api, "j", "Inqueue")
        await asyncio.sleep(SETTLED)
        pods = await world.api.list("Pod")
        assert len(pods) == (await group(world, "j"))["spec"]["minMember"]
        assert {pod["spec"]["schedulerName"] for pod in pods} == {"volcano"}
        assert await waits(world, job["kind"], "j") is None
        posts = [request.path.rpartition("/")[2] for request in process.transport.sent if request.method == "POST"]
        own = [plural for plural in posts if plural in ("podgroups", "pods")]
        assert own == ["podgroups", *["pods"] * len(pods)]


async def test_a_resumed_gang_is_not_let_in_by_a_pod_group_that_is_gone() -> None:
    """Although the watch still shows it: the server has answered 404 to its deletion."""
    async with volcano(jax()) as (world, process):
        await set_phase(world.api, "jx", "Inqueue")
        await asyncio.sleep(SETTLED)
        process.transport.frozen = lambda request: request.path.endswith("/podgroups")
        await world.api.delete("PodGroup", "jx")
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(SETTLED)
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"suspend": False}}})
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await waits(world)) == ([], "GangPending")
        assert (await group(world))["spec"]["minMember"] > 0


@pytest.mark.shows("K-46", "INT-081", "INT-083")
async def test_scheduler_plugins_without_delay_and_without_touching_the_status() -> None:
    async with cluster() as world:
        await install(world.api, "CoschedulingPodGroup")
        process = world.operator(settings=COSCHEDULING)
        await world.api.create(jax(workers=3, schedulingPolicy={"scheduleTimeoutSeconds": 5}))
        await asyncio.sleep(SETTLED)
        made = await group(world, kind="CoschedulingPodGroup")
        assert made["spec"] == {"minMember": 3, "minResources": {}, "scheduleTimeoutSeconds": 5}
        assert len(await world.pods()) == 3
        path = world.api.path("CoschedulingPodGroup", "jx", "status")
        await world.api.send("PUT", path, {**made, "status": {"phase": "Running"}})
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}})
        await asyncio.sleep(SETTLED)
        made = await group(world, kind="CoschedulingPodGroup")
        assert (made["spec"]["minMember"], made["status"]) == (2, {"phase": "Running"})
        assert sent(process, "PUT", "PATCH", "POST", what="podgroups/jx/status") == []


@pytest.mark.shows("K-28", "INT-067", "INT-068")
async def test_a_steady_gang_is_never_written_and_the_schedulers_words_stay() -> None:
    async with volcano(jax()) as (world, process):
        for phase in ("Pending", "Inqueue", "Running"):
            await set_phase(world.api, "jx", phase)
            await asyncio.sleep(SETTLED)
        await world.kubelet.running(*await world.pods())
        version = (await group(world))["metadata"]["resourceVersion"]
        await asyncio.sleep(600)
        assert (await group(world))["metadata"]["resourceVersion"] == version
        assert sent(process, "PUT", "PATCH") == []
        await world.api.patch("PodGroup", "jx", {"spec": {"networkTopology": {"mode": "hard"}}})
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 1}}}})
        await asyncio.sleep(SETTLED)
        made = await group(world)
        assert (made["spec"]["minMember"], made["spec"]["networkTopology"]) == (1, {"mode": "hard"})
        assert made["status"] == {"phase": "Running"}
        assert len(sent(process, "PATCH")) == 1


@pytest.mark.shows("K-49", "INT-121")
async def test_the_api_may_appear_later_and_go_and_come_again() -> None:
    async with cluster_with_operator(settings=VOLCANO) as (world, process):
        await world.api.create(jax("jx"))
        await world.api.create(extended(jax("out"), "gang-scheduling", "false"))
        await asyncio.sleep(60)
        assert await waits(world) == "ApiMissing"
        assert await world.pods() == ["out-worker-0", "out-worker-1"]
        assert sent(process, "POST") == []
        await install(world.api)
        await asyncio.sleep(FOUND)
        assert await waits(world) == "GangPending"
        await set_phase(world.api, "jx", "Inqueue")
        await asyncio.sleep(SETTLED)
        assert len(await world.pods()) == 4
        await uninstall(world.api)
        await world.api.create(jax("two"))
        await asyncio.sleep(WATCHED)
        assert await waits(world, name="two") == "ApiMissing"
        assert len(await world.pods()) == 4
        await install(world.api)
        await asyncio.sleep(FOUND)
        assert {(await group(world, name))["spec"]["minMember"] for name in ("jx", "two")} == {2}
        assert process.alive


@pytest.mark.shows("INT-060", "INT-121")
async def test_without_the_flag_nobody_asks_for_pod_groups() -> None:
    async with cluster_with_operator(jax()) as (world, process):
        assert len(await world.pods()) == 2
        assert sent(process, "GET", what="podgroups") + sent(process, "GET", what="priorityclasses") == []


@pytest.mark.shows("K-34", "K-47")
async def test_a_pod_group_of_somebody_else_is_never_touched() -> None:
    async with cluster() as world:
        await install(world.api)
        theirs = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": "jx"}}
        await world.api.create({**theirs, "spec": {"minMember": 7}, "status": {"phase": "Running"}})
        process = world.operator(settings=VOLCANO)
        await world.api.create(jax())
        await asyncio.sleep(200)
        assert (await group(world))["spec"] == {"minMember": 7}
        assert sent(process, "PUT", "PATCH", "DELETE") == []
        assert (await world.pods(), await waits(world)) == ([], "NameTaken")
        assert (await world.job("JAXJob", "jx"))["status"]["waiting"]["since"] == "2026-01-01T00:00:00Z"
        [text] = await world.events("NameTaken")
        assert "PodGroup jx already exists" in text
        await world.api.delete("PodGroup", "jx")
        await asyncio.sleep(100)
        assert (await group(world))["spec"]["minMember"] == 2
        assert await waits(world) == "GangPending"


@pytest.mark.shows("K-44", "INT-072")
async def test_a_rejected_pod_group_is_tried_again_and_no_pod_is_created_meanwhile() -> None:
    async with volcano() as (world, process):
        rejection = status(403, "Forbidden", "queue default is closed")
        process.transport.reject = rejecting(rejection, "podgroups", method="POST")
        await world.api.create(jax())
        await asyncio.sleep(60)
        assert (await world.pods(), await waits(world)) == ([], "GangPending")
        waiting = (await world.job("JAXJob", "jx"))["status"]["waiting"]
        assert waiting["message"] == "PodGroup jx cannot be created: queue default is closed"
        assert await world.events("FailedPodGroup") == ["Error on create of PodGroup jx: queue default is closed"]
        process.transport.reject = lambda request: None
        await asyncio.sleep(60)
        assert (await group(world))["spec"]["minMember"] == 2


@pytest.mark.shows("K-64")
async def test_a_pod_group_that_cannot_be_deleted_emits_one_event_and_is_tried_again() -> None:
    async with volcano(jax()) as (world, process):
        process.transport.reject = rejecting(status(500, "InternalError", "not now"), "podgroups", method="DELETE")
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(30)
        assert conditions(await world.job("JAXJob", "jx"))["Suspended"] == "True"
        assert await world.events("FailedDeletePodGroup") == ["Error deleting: not now"]
        assert await world.events("JobTerminated") == []
        process.transport.reject = lambda request: None
        await asyncio.sleep(60)
        assert await world.api.get("PodGroup", "jx") is None
        assert await world.events("SuccessfulDeletePodGroup") == ["Deleted PodGroup: jx"]
        assert await world.events("JobTerminated") == ["Job has been terminated. Deleting PodGroup"]


@pytest.mark.shows("K-25")
async def test_pod_groups_are_counted() -> None:
    async with volcano() as (world, process):

        def counted() -> tuple[Any, Any]:
            sample = process.app.metrics.registry.get_sample_value
            return sample("created_pod_groups_total"), sample("deleted_pod_groups_total")

        assert counted() == (0, 0)
        await world.api.create(jax())
        await asyncio.sleep(SETTLED)
        await world.api.delete("PodGroup", "jx")
        await asyncio.sleep(SETTLED)
        await world.api.patch("JAXJob", "jx", {"spec": {"runPolicy": {"suspend": True}}})
        await asyncio.sleep(SETTLED)
        assert counted() == (2, 1)


@pytest.mark.shows("K-11")
async def test_priorities_are_read_where_that_is_permitted() -> None:
    async with cluster() as world:
        await install(world.api)
        path = "/apis/scheduling.k8s.io/v1/priorityclasses"
        for name, value in (("low", 1), ("high", 1000)):
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            await world.api.send("POST", path, {**kind, "metadata": {"name": name}, "value": value})
        blind = world.operator(settings=VOLCANO)
        blind.transport.reject = rejecting(status(403, "Forbidden", "not for you"), "priorityclasses")
        job = pytorch(schedulingPolicy={"minAvailable": 1})
        for replica_type, cpus in (("Master", "1"), ("Worker", "4")):
            spec = job["spec"]["pytorchReplicaSpecs"][replica_type]["template"]["spec"]
            spec["containers"][0]["resources"] = {"requests": {"cpu": cpus, "memory": "1Gi"}}
            spec["priorityClassName"] = {"Master": "low", "Worker": "high"}[replica_type]
        await world.api.create(job)
        await asyncio.sleep(SETTLED)
        assert (await group(world, "pt"))["spec"]["minResources"] == {"cpu": "1", "memory": "1Gi"}
        await blind.app.wait_synced()
        await blind.stop()
        world.operator(settings=VOLCANO)
        await asyncio.sleep(SETTLED)
        assert (await group(world, "pt"))["spec"]["minResources"] == {"cpu": "4", "memory": "1Gi"}


@pytest.mark.shows("INT-093")
async def test_pod_groups_of_others_are_not_even_kept() -> None:
    async with cluster() as world:
        await install(world.api)
        theirs = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "spec": {"minMember": 1}}
        for number in range(3):
            await world.api.create({**theirs, "metadata": {"name": f"podgroup-{number}"}})
        process = world.operator(settings=VOLCANO)
        await asyncio.sleep(SETTLED)
        assert len(process.app._owned_caches["PodGroup"].store) == 0


@pytest.mark.shows("INT-118")
async def test_under_v1_s_crds_a_gang_waits_and_starts_as_well() -> None:
    """`status.waiting` is pruned there, `lastReconcileTime` is not."""
    async with cluster(prunes=True) as world:
        await install(world.api)
        first = world.operator(settings=VOLCANO)
        await world.api.create(jax())
        await asyncio.sleep(SETTLED)
        assert "lastReconcileTime" in (await world.job("JAXJob", "jx"))["status"]
        await first.kill()
        world.operator(settings=VOLCANO)
        await asyncio.sleep(SETTLED)
        assert await world.pods() == []
        await set_phase(world.api, "jx", "Inqueue")
        await asyncio.sleep(SETTLED)
        await set_phase(world.api, "jx", "Pending")
        await world.api.delete("Pod", "jx-worker-1")
        await asyncio.sleep(10)
        assert await world.pods() == ["jx-worker-0", "jx-worker-1"]
        assert "lastReconcileTime" not in (await world.job("JAXJob", "jx"))["status"]
