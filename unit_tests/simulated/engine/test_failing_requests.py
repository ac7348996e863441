"""Requests that are rejected or lost hold up nothing but themselves, and are tried again (K-30, K-34, K-35, K-65)."""

from __future__ import annotations

import asyncio
from dataclasses import fields

import pytest
from e2e.support.objects import pod, service
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator, started, until
from e2e.support.simulation.faults import Faults, rejecting, status
from e2e.support.simulation.jobs import conditions, controlled_by, counters, jax, pytorch

from training_controllers.decide.new_job import MAX_PODS_BEFORE_STATUS
from training_operator.kube.client import ATTEMPTS
from training_operator.kube.transport import Request, Response

pytestmark = pytest.mark.virtual_time

QUOTA = 'pods "x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2'


def creates(request: Request, plural: str) -> bool:
    return request.method == "POST" and request.path.endswith(f"/{plural}")


@pytest.mark.shows("K-35")
async def test_an_exhausted_quota_holds_up_neither_status_nor_deadline() -> None:
    async with cluster_with_operator() as (world, process):
        limit = 2

        def quota(request: Request) -> Response | None:
            pods = world.server.state.storage.collection(("", "pods")).entries()
            return status(403, "Forbidden", QUOTA) if creates(request, "pods") and len(pods) >= limit else None

        process.transport.reject = quota
        await world.api.create(jax(workers=40, activeDeadlineSeconds=600))
        await asyncio.sleep(3)
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(100)
        job = await world.job("JAXJob", "jx")
        assert conditions(job) == {"Created": "True", "Running": "True"}
        assert counters(job)["active"] == 2
        assert len(await world.services()) == 40
        assert await world.events("FailedCreatePod") == [f"Error creating: {QUOTA}"]
        # 1, 2, 4 ... s apart, and each time no more requests than it takes to see that it is of no use.
        assert len([each for each in process.transport.sent if creates(each, "pods")]) < 40

        limit = 30
        await until(lambda: _count(world, 30), within=130)
        await asyncio.sleep(300)
        assert await world.events("FailedCreatePod") == [f"Error creating: {QUOTA}"]
        limit = 40
        await until(lambda: _count(world, 40), within=310)


async def _count(world: Cluster, pods: int) -> bool:
    return len(await world.pods()) == pods


async def test_the_deadline_of_a_job_without_pods_is_kept() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", QUOTA), "pods", method="POST")
        await world.api.create(jax(activeDeadlineSeconds=200))
        await asyncio.sleep(202)
        assert list(conditions(await world.job("JAXJob", "jx")))[-1] == "Failed"


async def test_what_is_wrong_with_one_template_stops_no_other_type() -> None:
    async with cluster_with_operator() as (world, process):
        wrong = status(422, "Invalid", "the template is wrong")
        process.transport.reject = rejecting(wrong, "pods", method="POST", name="pt-master-0")
        await world.api.create(pytorch(workers=3))
        await asyncio.sleep(5)
        assert await world.pods() == ["pt-worker-0", "pt-worker-1", "pt-worker-2"]
        assert await world.events("FailedCreatePod") == ["Error creating: the template is wrong"]


@pytest.mark.shows("K-30")
async def test_failing_services_do_not_stop_pods() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(500, "InternalError", "not today"), "services", method="POST")
        await world.api.create(jax())
        await asyncio.sleep(5)
        assert await world.pods() == ["jx-worker-0", "jx-worker-1"]
        assert await world.events("FailedCreateService") == ["Error creating: not today"]
        process.transport.reject = lambda request: None
        await asyncio.sleep(10)
        assert await world.services() == ["jx-worker-0", "jx-worker-1"]


async def test_one_bad_replica_stops_no_other() -> None:
    async with cluster_with_operator() as (world, process):
        forbidden = status(403, "Forbidden", "not this one")
        process.transport.reject = rejecting(forbidden, "pods", method="POST", name="jx-worker-0")
        await world.api.create(jax(workers=10))
        await asyncio.sleep(5)
        assert await world.pods() == [f"jx-worker-{index}" for index in range(1, 10)]


async def test_a_changed_spec_is_tried_at_once() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = lambda request: (
            status(422, "Invalid", "no") if creates(request, "pods") and b"bad:1" in (request.body or b"") else None
        )
        job = jax(workers=1)
        job["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["image"] = "bad:1"
        await world.api.create(job)
        await asyncio.sleep(400)
        assert await world.pods() == []
        await world.api.patch("JAXJob", "jx", jax(workers=1))
        await asyncio.sleep(2)
        assert await world.pods() == ["jx-worker-0"]


@pytest.mark.parametrize("lost", [1, 3, 50])
async def test_creations_without_answer_are_not_repeated_in_vain(lost: int) -> None:
    """The first `lost` creations are carried out, but their answers do not arrive."""
    async with cluster_with_operator() as (world, process):
        left = lost

        def lose(request: Request) -> bool:
            nonlocal left
            if not creates(request, "pods") or left == 0:
                return False
            left -= 1
            return True

        process.transport.lose_answer = lose
        await world.api.create(jax(workers=3))
        await asyncio.sleep(120)
        await world.kubelet.running("jx-worker-0", "jx-worker-1", "jx-worker-2")
        await asyncio.sleep(3)
        job = await world.job("JAXJob", "jx")
        assert counters(job)["active"] == 3
        assert conditions(job)["Running"] == "True"
        assert world.audit.complaints == []
        assert await world.events("NameTaken") == []


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_what_was_asked_for_without_answer_is_not_asked_for_in_a_rush(method: str) -> None:
    """The watch is silent, so that the cache does not show either what has been done."""
    job = jax(workers=1, suspend=True) if method == "POST" else jax(workers=2)
    async with cluster_with_operator(job) as (world, process):

        def is_meant(request: Request) -> bool:
            return request.method == method and "/pods" in request.path

        process.transport.lose_answer = is_meant
        process.transport.frozen = lambda request: request.path == "/api/v1/pods"
        replicas, suspend = {"Worker": {"replicas": 1}}, {"suspend": False}
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": replicas, "runPolicy": suspend}})
        await asyncio.sleep(25)
        rounds = 5  # after 1 s, 2 s, 4 s, 8 s
        assert len([each for each in process.transport.sent if is_meant(each)]) <= rounds * ATTEMPTS


async def test_a_pod_that_somebody_deletes_while_the_status_is_stored_is_not_waited_for() -> None:
    async with cluster_with_operator() as (world, process):
        await world.api.create(jax(workers=1))
        await until(lambda: _count(world, 1))
        await world.kubelet.running("jx-worker-0")
        await asyncio.sleep(3)
        process.transport.delay = lambda request: 5.0 if request.path.endswith("/status") else 0.0
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(2)
        await world.api.delete("Pod", "jx-worker-0", gracePeriodSeconds=0)
        await asyncio.sleep(2)
        assert await world.pods() == []
        await until(lambda: _count(world, 1), within=10)
        assert counters(await world.job("JAXJob", "jx"))["restarts"] == 1


async def test_a_service_that_appears_while_the_status_is_stored_is_not_waited_for() -> None:
    """An earlier process has sent the request, and it arrives late."""
    async with cluster_with_operator() as (world, process):
        process.transport.delay = lambda request: 5.0 if request.path.endswith("/status") else 0.0
        job = await world.api.create(jax(workers=MAX_PODS_BEFORE_STATUS + 1))
        await asyncio.sleep(2)
        labels = {"job-name": "jx", "replica-type": "worker", "replica-index": "0"}
        metadata = {"labels": {f"training.kubeflow.org/{key}": value for key, value in labels.items()}}
        await world.api.create(service("jx-worker-0", meta=metadata | controlled_by(job)))
        await until(lambda: _count(world, MAX_PODS_BEFORE_STATUS + 1), within=20)
        process.transport.delay = lambda request: 0.0
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(5)
        assert conditions(await world.job("JAXJob", "jx"))["Running"] == "True"


async def test_only_the_pod_that_was_meant_is_deleted() -> None:
    """It has been replaced meanwhile by a pod of the same name, which the cache does not show yet."""
    async with cluster_with_operator(jax(workers=1)) as (world, process):
        process.transport.reject = rejecting(status(500, "InternalError", "not now"), method="DELETE")
        await world.kubelet.ended("jx-worker-0", 1)
        await asyncio.sleep(1)
        process.transport.frozen = lambda request: request.path == "/api/v1/pods"
        old = await world.get("Pod", "jx-worker-0")
        await world.api.delete("Pod", "jx-worker-0")
        kept = {key: old["metadata"][key] for key in ("labels", "ownerReferences")}
        new = await world.api.create(pod("jx-worker-0", meta=kept))
        process.transport.reject = lambda request: None
        await asyncio.sleep(20)
        there = await world.get("Pod", "jx-worker-0")
        assert there["metadata"]["uid"] == new["metadata"]["uid"]
        assert "deletionTimestamp" not in there["metadata"]
        assert await world.events("FailedDeletePod") == ["Error deleting: not now"]


@pytest.mark.shows("K-34")
async def test_a_name_that_is_taken_is_reported_once_and_not_touched() -> None:
    async with cluster() as world:
        # An owner that the garbage collector does not look for.
        owner = {"apiVersion": "example.com/v1", "kind": "TFJob", "name": "x", "uid": "u", "controller": True}
        before = await world.api.create(pod("jx-worker-1", meta={"ownerReferences": [owner]}))
        process = world.operator()
        await world.api.create(jax(workers=4))
        await asyncio.sleep(200)
        assert await world.pods() == [f"jx-worker-{index}" for index in range(4)]
        after = await world.get("Pod", "jx-worker-1")
        assert before["metadata"]["uid"] == after["metadata"]["uid"]
        (message,) = await world.events("NameTaken")
        assert message == (
            "NameTaken by TFJob x: pod jx-worker-1 already exists and is not changed; "
            "the replica is created once the name is free"
        )
        attempts = [r for r in process.transport.sent if creates(r, "pods") and b'"jx-worker-1"' in (r.body or b"")]
        assert len(attempts) < 6
        waiting = (await world.job("JAXJob", "jx"))["status"]["waiting"]
        assert waiting == {"reason": "NameTaken", "message": message, "since": "2026-01-01T00:00:00Z"}

        await world.api.delete("Pod", "jx-worker-1", gracePeriodSeconds=0)
        await asyncio.sleep(65)
        assert len(await world.pods()) == 4
        assert await world.events("FailedCreatePod") == []
        assert "waiting" not in (await world.job("JAXJob", "jx"))["status"]


async def test_names_whose_owners_cannot_be_read_stop_a_job_after_three_pods() -> None:
    async with cluster_with_operator() as (world, process):

        def unreadable(request: Request) -> Response | None:
            if creates(request, "pods"):
                return status(409, "AlreadyExists", "it exists")
            return status(500, "InternalError", "later") if "/pods/" in request.path else None

        process.transport.reject = unreadable
        await world.api.create(jax(workers=MAX_PODS_BEFORE_STATUS + 1))
        await asyncio.sleep(0.9)
        assert len([each for each in process.transport.sent if creates(each, "pods")]) == 3


async def test_a_name_that_is_not_wanted_any_more_is_not_waited_for() -> None:
    async with cluster() as world:
        await world.api.create(pod("pt-worker-0"))
        world.operator()
        await world.api.create(pytorch(workers=1))
        await asyncio.sleep(3)
        await world.kubelet.ended("pt-master-0")
        await asyncio.sleep(1000)  # a job that is requeued without end is an error of the virtual clock
        assert conditions(await world.job("PyTorchJob", "pt"))["Succeeded"] == "True"


async def test_deletions_that_fail_are_reported_once_and_tried_again() -> None:
    async with cluster_with_operator(jax(workers=8)) as (world, process):
        process.transport.reject = rejecting(status(403, "Forbidden", "no right to delete"), method="DELETE")
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(0.9)
        assert len([each for each in process.transport.sent if each.method == "DELETE"]) == 3 + 3, "pods and services"
        await asyncio.sleep(60)
        assert await world.events("FailedDeletePod") == ["Error deleting: no right to delete"]
        process.transport.reject = rejecting(status(500, "InternalError", "not today"), method="DELETE")
        await asyncio.sleep(70)
        assert (await world.events("FailedDeletePod"))[1:] == ["Error deleting: not today"]
        process.transport.reject = lambda request: None
        await asyncio.sleep(130)
        assert await world.pods() == await world.services() == ["jx-worker-0"]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_requests_that_the_server_puts_off_are_sent_again_when_it_says(method: str) -> None:
    async with cluster_with_operator() as (world, process):
        busy = status(429, "TooManyRequests", "later", {"retry-after": "60"})
        process.transport.reject = rejecting(busy, "pods", "services", "jaxjobs", method=method)

        def sent() -> list[str]:
            requests = (each for each in process.transport.sent if each.method == method)
            return sorted(each.path for each in requests if "/events" not in each.path)

        await world.api.create(jax(workers=1, cleanPodPolicy="All", ttlSecondsAfterFinished=0))
        if method == "DELETE":
            await asyncio.sleep(3)
            await world.kubelet.ended("jx-worker-0")
        await asyncio.sleep(55)
        first = sent()
        assert len(first) == len(set(first)) == (2 if method == "POST" else 3)
        await asyncio.sleep(60)
        assert sent() == sorted(2 * first)


@pytest.mark.parametrize(
    "faults",
    [
        Faults(conflict=0.5),
        Faults(too_many=0.3),
        Faults(server_error=0.3),
        Faults(lost_request=0.2),
        Faults(lost_answer=0.2),
        Faults(dropped_watch=0.3),
        Faults(slow_watch=0.5),
    ],
    ids=lambda faults: next(field.name for field in fields(faults) if getattr(faults, field.name)),
)
async def test_a_job_gets_through_a_bad_network(faults: Faults) -> None:
    async with cluster(seed=1) as world:
        process = world.operator(faults)
        await world.api.create(pytorch(cleanPodPolicy="All"))
        await until(lambda: _count(world, 3), within=400)
        await world.kubelet.running(*await world.pods())
        await asyncio.sleep(60)
        await world.kubelet.ended("pt-master-0")
        await until(lambda: _count(world, 0), within=400)
        process.transport.faults = Faults()
        await asyncio.sleep(400)
        job = await world.job("PyTorchJob", "pt")
        assert conditions(job) == {"Running": "False", "Created": "True", "Succeeded": "True"}
        assert await world.services() == []
        assert world.audit.complaints == process.complaints == []


@pytest.mark.shows("E-045")
async def test_a_creation_that_times_out_is_taken_for_done_until_the_contrary_shows() -> None:
    async with cluster_with_operator() as (world, process):
        process.transport.reject = rejecting(status(504, "Timeout", "request did not complete"), "pods", method="POST")
        await world.api.create(jax(workers=1))
        await asyncio.sleep(1)
        process.transport.reject = lambda request: None
        await asyncio.sleep(60)
        assert await world.pods() == ["jx-worker-0"]
        assert conditions(await world.job("JAXJob", "jx")) == {"Created": "True"}


@pytest.mark.shows("E-047")
async def test_a_pod_that_has_gone_already_is_deleted_in_silence() -> None:
    async with cluster_with_operator() as (world, process):
        names = await started(world, jax(workers=6))
        names_sent: list[str] = []

        def reject(request: Request) -> Response | None:
            if request.method != "DELETE" or "/pods/" not in request.path:
                return None
            names_sent.append(request.path.rpartition("/")[2])
            return status(404, "NotFound", "not found")

        process.transport.reject = reject
        await world.api.patch("JAXJob", "jx", {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": 1}}}})
        await asyncio.sleep(3)
        assert sorted(names_sent[:5]) == names[1:], "none of them stops the others"
        assert await world.events("FailedDeletePod") == await world.events("SuccessfulDeletePod") == []
