"""What is written first for a new job: its pods if they are few, its status if they are many or cannot be made."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.objects import pod
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, controlled_by, counters, jax
from e2e.support.simulation.process import SETTINGS

from training_controllers.decide.new_job import MAX_PODS_BEFORE_STATUS

pytestmark = pytest.mark.virtual_time

QUOTA = 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'
OVERWRITTEN = "Restart policy in pod template will be overwritten by restart policy in replica spec"
NOT_OVERWRITTEN = "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"


def idle_wishes(workers: int) -> Json:
    """A job whose template has a restart policy, and the name of another scheduler than that of gangs."""
    job = jax(workers=workers)
    template = job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]
    template["spec"] |= {"restartPolicy": "Never", "schedulerName": "mine"}
    return job


def written(world: Cluster) -> list[str]:
    """What the operator has written for jobs, events left out, in order."""
    words = {"services": "service", "pods": "pod", "status": "status"}
    sent = (r.path.rsplit("/", 1)[-1] for r in world.processes[0].transport.sent if r.method != "GET")
    return [words[last] for last in sent if last in words]


async def test_the_pods_of_a_small_job_come_first_and_its_first_status_after_them() -> None:
    async with cluster_with_operator(jax(workers=2), 5) as (world, _):
        assert written(world) == ["service"] * 2 + ["pod"] * 2 + ["status"]
        assert conditions(await world.job("JAXJob", "jx")) == {"Created": "True"}


async def test_a_big_job_says_that_it_exists_before_its_pods_do() -> None:
    async with cluster_with_operator(jax(workers=MAX_PODS_BEFORE_STATUS + 1), 5) as (world, _):
        assert written(world)[:2] == ["status", "service"]


@pytest.mark.parametrize("workers", [1, MAX_PODS_BEFORE_STATUS, MAX_PODS_BEFORE_STATUS + 1])
async def test_what_has_no_effect_in_a_template_emits_one_event_however_many_pods_are_created(workers: int) -> None:
    async with cluster() as world:
        world.operator(settings=SETTINGS.model_copy(update={"gang_scheduler_name": "default-scheduler"}))
        await world.api.create(idle_wishes(workers))
        await asyncio.sleep(30)
        assert len(await world.pods()) == workers
        assert await world.events("SetPodTemplateRestartPolicy") == [OVERWRITTEN]
        assert await world.events("SetPodTemplateSchedulerName") == [NOT_OVERWRITTEN]


async def test_events_of_new_pods_are_emitted_once_though_their_requests_fail_and_the_first_status_too() -> None:
    async with cluster() as world:
        process = world.operator(settings=SETTINGS.model_copy(update={"gang_scheduler_name": "default-scheduler"}))
        process.transport.reject = rejecting(status(500, "InternalError", "not now"), "pods", "status")
        await world.api.create(idle_wishes(2))
        await asyncio.sleep(10)
        assert await world.pods() == []
        process.transport.reject = lambda _request: None
        await asyncio.sleep(60)
        assert len(await world.pods()) == 2
        assert await world.events("SetPodTemplateRestartPolicy") == [OVERWRITTEN]
        assert await world.events("SetPodTemplateSchedulerName") == [NOT_OVERWRITTEN]


async def test_a_template_that_changes_before_the_first_status_emits_an_event() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(500, "InternalError", "not now"), "status")
        await world.api.create(jax(workers=1))
        await asyncio.sleep(0.5)
        template = {"spec": {"containers": [{"name": "jax", "image": "trainer:2"}]}}
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"template": template}}}})
        process.transport.reject = lambda _request: None
        await asyncio.sleep(30)
        (text,) = await world.events("TemplateChanged")
        assert text.startswith("The pod template of Worker has changed")


@pytest.mark.parametrize("rejected", [("pods",), ("services", "pods")])
async def test_a_job_whose_pods_are_rejected_says_so_and_creates_no_more(rejected: tuple[str, ...]) -> None:
    """Soon, also where no new object leads to another reconcile."""
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", QUOTA), *rejected, method="POST")
        await world.api.create(jax(workers=2))
        await asyncio.sleep(0.5)
        assert written(world) == ["service"] * 2 + ["pod"] * 2 + ["status"]
        job = await world.job("JAXJob", "jx")
        assert conditions(job) == {"Created": "True"}
        assert job["status"]["waiting"]["reason"] == "Quota"


async def test_a_process_that_ends_before_the_first_status_leaves_it_to_the_next_one() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(500, "InternalError", "not now"), "status")
        await world.api.create(jax(workers=2))
        await asyncio.sleep(1)
        assert "conditions" not in (await world.job("JAXJob", "jx")).get("status", {})
        await process.kill()
        second = world.operator()
        await asyncio.sleep(5)
        assert len(await world.pods()) == 2
        assert conditions(await world.job("JAXJob", "jx")) == {"Created": "True"}
        sample, labels = second.app.metrics.registry.get_sample_value, {"job_namespace": "default", "framework": "jax"}
        assert sample("training_operator_jobs_created_total", labels) == 1


async def test_while_much_is_new_the_end_of_a_pod_is_seen_before_the_start_of_another() -> None:
    """One worker, and requests that take a second: what waits longest is what can wait."""
    async with cluster() as world:
        process = world.operator(settings=SETTINGS.model_copy(update={"controller_threads": 1}))
        for name in ("ends", "starts"):
            await world.api.create(jax(name, workers=1))
            await asyncio.sleep(3)
        await world.kubelet.running("ends-worker-0")
        await asyncio.sleep(3)
        process.transport.delay = lambda request: 1.0
        await world.api.create(jax("new", workers=1))
        await asyncio.sleep(0.2)
        await world.kubelet.running("starts-worker-0")
        await world.kubelet.ended("ends-worker-0", 0)
        await asyncio.sleep(10)
        process.transport.delay = lambda request: 0.0
        moments = [(await world.job("JAXJob", name))["status"]["conditions"][-1] for name in ("ends", "starts")]
        assert [each["type"] for each in moments] == ["Succeeded", "Running"]
        order = [r.path.split("/")[-2] for r in process.transport.sent if r.path.endswith("/status")]
        assert order[-3:].index("ends") < order[-3:].index("starts")


async def test_pods_of_a_new_job_that_no_cache_shows_are_not_asked_for_again_and_again() -> None:
    """An earlier process has created it, and its labels were removed: watches are by labels."""
    async with cluster() as world:
        job = await world.api.create(jax(workers=1))
        await world.api.create(pod("jx-worker-0", meta=controlled_by(job)))
        world.operator()
        await asyncio.sleep(60)
        assert written(world).count("pod") < 6
        assert conditions(await world.job("JAXJob", "jx")) == {"Created": "True"}
        assert await world.events("NameTaken") == []


@pytest.mark.shows("K-23")
async def test_a_job_goes_on_though_a_pod_of_it_is_not_shown_any_more() -> None:
    async with cluster_with_operator(jax(workers=2), 5) as (world, _):
        await world.api.patch("Pod", "jx-worker-0", {"metadata": {"labels": None}})
        await asyncio.sleep(1)
        await world.kubelet.running("jx-worker-1")
        await asyncio.sleep(1)
        assert counters(await world.job("JAXJob", "jx"))["active"] == 1


async def test_what_was_told_of_a_deleted_job_is_told_of_its_namesake_again() -> None:
    """The only worker is busy with another job meanwhile: the next reconcile sees that there is another one."""
    one_worker = {"gang_scheduler_name": "default-scheduler", "controller_threads": 1}
    async with cluster() as world:
        process = world.operator(settings=SETTINGS.model_copy(update=one_worker))
        await world.api.create(idle_wishes(1))
        await asyncio.sleep(5)
        process.transport.delay = lambda request: 3.0 if request.path.endswith("/pods") else 0.0
        await world.api.create(jax("busy", workers=1))
        await asyncio.sleep(1)
        await world.api.delete("JAXJob", "jx")
        await world.api.create(idle_wishes(1))
        await asyncio.sleep(60)
        assert await world.events("SetPodTemplateSchedulerName") == [NOT_OVERWRITTEN] * 2
