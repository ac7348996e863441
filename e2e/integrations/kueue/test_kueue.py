"""Jobs of all six kinds in the queues of the real Kueue controller; the test is the node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.integrations.kueue.controller import queueing_cluster
from e2e.integrations.kueue.queues import KUEUE, LIMIT, POD_SET, REPLICAS_OF, TOLERATION, Queue, Seen, replica_specs
from e2e.support import marks
from e2e.support.profiles import KINDS_NOW, WEEKLY

pytestmark = marks.bare  # Kueue is installed into a cluster of its own

HOST = "kubernetes.io/hostname"
GATE = "kueue.x-k8s.io/topology"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane with Kueue and the operator."""
    with queueing_cluster(tmp_path_factory.mktemp("kueue")) as (cluster, _):
        high = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "value": 1000}
        cluster.send("create", {**high, "metadata": {"name": "urgent"}})
        yield cluster


@pytest.mark.shows("INT-033", "INT-034", "INT-035", "INT-036", "INT-037", "INT-038", "INT-039", "INT-040", "INT-052")
async def test_every_kind_is_queued_admitted_preempted_and_finished(api: Api) -> None:
    async with asyncio.TaskGroup() as tasks:
        for kind in REPLICAS_OF if WEEKLY else KINDS_NOW:
            tasks.create_task(_life_in_a_queue(Queue(api, f"life-{kind.lower()}", kind)), name=kind)


async def _life_in_a_queue(queue: Queue) -> None:
    size = sum(REPLICAS_OF[queue.kind].values())
    await queue.open(a=size, b=0)
    seen = Seen(queue.api, queue.name)
    following = asyncio.create_task(seen.follow())
    try:
        await _three_wait_for_one(queue)
        await _preempted(queue)
        await _resumed_and_finished(queue)
    finally:
        following.cancel()
    # Each pod was made from an admitted template: with one flavor, which is the one admitted at the time.
    admitted = {"first": ["a", "b"], "urgent": ["a"], "second": ["b"], "third": ["b"]}
    pools: dict[str, list[str]] = {name: [] for name in admitted}
    for pod in seen.pods.values():
        assert pod["metadata"]["labels"][POD_SET] == pod["metadata"]["labels"]["training.kubeflow.org/replica-type"]
        name = pod["metadata"]["labels"]["training.kubeflow.org/job-name"]
        pools[name].append(pod["spec"]["nodeSelector"]["pool"])
    assert {name: sorted(found) for name, found in pools.items()} == {
        name: [queue.flavor(which) for which in flavors for _ in range(size)] for name, flavors in admitted.items()
    }


async def _three_wait_for_one(queue: Queue) -> None:
    """The first job runs, on the flavor that has quota; the others wait without anything but a status."""
    await queue.submit("first")
    await queue.workload_is("first", "Admitted")
    await _next_second(await queue.workload("first"))
    for name in ("second", "third"):
        stored = await queue.submit(name)
        assert stored["spec"]["runPolicy"]["suspend"] is True
        workload = await queue.workload(name)
        assert {each["name"]: each["count"] for each in workload["spec"]["podSets"]} == {
            replica_type.lower(): count for replica_type, count in REPLICAS_OF[queue.kind].items()
        }
        await _next_second(workload)
    for pod in await queue.starts("first"):
        assert pod["spec"]["nodeSelector"] == {"disk": "fast", "pool": queue.flavor("a")}
        assert TOLERATION in pod["spec"]["tolerations"]
    for name in ("second", "third"):
        stopped = await queue.is_stopped(name)
        assert [c["type"] for c in stopped["status"]["conditions"]] == ["Created", "Suspended"]
        assert "startTime" not in stopped["status"]
        assert await queue.jobs.pods(name) == []


async def _next_second(stored: Object) -> None:
    """Wait until objects created from now on are younger than this one: Kueue compares whole seconds."""
    created = datetime.fromisoformat(stored["metadata"]["creationTimestamp"])

    async def passed() -> bool:
        return datetime.now(UTC).replace(microsecond=0) > created

    await eventually(passed, "the next second")


async def _preempted(queue: Queue) -> None:
    """A job of higher priority takes the place of the first, of which nothing stays but its status."""
    running = await queue.get("first")
    assert replica_specs(running) != replica_specs(await queue.get("second"))
    await queue.submit("urgent", priority="urgent")
    await queue.starts("urgent")
    stopped = await queue.is_stopped("first")
    assert replica_specs(stopped) == replica_specs(await queue.get("second"))
    await queue.jobs.pods_reach("first", 0, LIMIT)
    assert (await queue.workload_is("first", "Evicted"))["reason"] == "Preempted"


async def _resumed_and_finished(queue: Queue) -> None:
    """All run to their end, the preempted one first, one after the other, and on the flavor that has quota now."""
    started = (await queue.get("first"))["status"].get("startTime")
    await queue.set_quotas(a=0, b=0)
    await queue.succeeds("urgent")
    await queue.set_quotas(a=0, b=sum(REPLICAS_OF[queue.kind].values()))
    waiting = ["first", "second", "third"]
    while waiting:
        name = waiting.pop(0)
        for pod in await queue.starts(name):
            assert pod["spec"]["nodeSelector"] == {"disk": "fast", "pool": queue.flavor("b")}
        for other in waiting:
            assert await queue.jobs.pods(other) == []
        await queue.succeeds(name)
    finished = (await queue.get("first"))["status"]
    assert finished["startTime"] >= (started or "")
    assert [c["type"] for c in finished["conditions"] if c["status"] == "True"] == ["Created", "Succeeded"]


@pytest.mark.shows("INT-042")
async def test_jobs_too_large_for_the_queue_are_admitted_once_scaled_down(api: Api) -> None:
    async def scaled(kind: str) -> None:
        queue = Queue(api, f"scaled-{kind.lower()}", kind)
        replicas = {**REPLICAS_OF[kind], "Worker": 5}
        await queue.open(a=sum(replicas.values()) - 3)
        await queue.submit("large", replicas=replicas)
        await queue.is_stopped("large")
        await queue.is_too_large("large")
        await queue.scale("large", 2)
        await queue.is_admitted_once_scaled("large")
        await queue.starts("large")
        counts = {each["name"]: each["count"] for each in (await queue.workload("large"))["spec"]["podSets"]}
        assert counts["worker"] == 2

        async def active() -> bool:
            statuses: Object = (await queue.get("large"))["status"]["replicaStatuses"]
            return bool(statuses.get("Worker", {}).get("active") == 2)  # absent while it is 0

        await eventually(active, "two active workers", LIMIT)
        await queue.succeeds("large")

    async with asyncio.TaskGroup() as tasks:
        for kind in REPLICAS_OF:
            tasks.create_task(scaled(kind), name=kind)


@pytest.mark.shows("INT-048")
async def test_pods_wait_behind_gates_until_kueue_has_chosen_their_nodes(api: Api) -> None:
    topology = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": {"name": "hosts"}}
    await api.create(f"{KUEUE}/topologies", {**topology, "spec": {"levels": [{"nodeLabel": HOST}]}})
    async with asyncio.TaskGroup() as tasks:
        for kind in REPLICAS_OF:
            tasks.create_task(_gated(Queue(api, f"gated-{kind.lower()}", kind)), name=kind)


async def _gated(queue: Queue) -> None:
    node = f"node-of-{queue.name}"
    labels = {HOST: node, "pool": queue.flavor("a"), "disk": "fast"}
    await queue.api.create("/api/v1/nodes", {"metadata": {"name": node, "labels": labels}})
    room = {"cpu": "10", "memory": "10Gi", "pods": "100"}
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": room, "capacity": room}
    await queue.api.patch(f"/api/v1/nodes/{node}/status", {"status": status})
    await queue.open(topology="hosts", a=sum(REPLICAS_OF[queue.kind].values()))
    before = replica_specs(await queue.submit("first"))
    await queue.jobs.pods_reach("first", sum(REPLICAS_OF[queue.kind].values()), LIMIT)
    for spec in replica_specs(await queue.get("first")).values():
        assert spec["template"]["spec"]["schedulingGates"] == [{"name": GATE}]
    first = {pod["metadata"]["uid"] for pod in await queue.jobs.pods("first")}

    async def opened() -> bool:
        pods = await queue.jobs.pods("first")
        chosen = [pod for pod in pods if pod["spec"]["nodeSelector"].get(HOST) == node]
        return len(chosen) == len(first) and not any(pod["spec"].get("schedulingGates") for pod in chosen)

    await eventually(opened, f"pods of {queue.kind} on {node}", LIMIT)
    await queue.starts("first")
    assert {pod["metadata"]["uid"] for pod in await queue.jobs.pods("first")} == first
    workload = (await queue.workload("first"))["metadata"]["name"]
    await queue.api.patch(f"{KUEUE}/namespaces/{queue.name}/workloads/{workload}", {"spec": {"active": False}})
    assert replica_specs(await queue.is_stopped("first")) == before
    await queue.jobs.pods_reach("first", 0, LIMIT)
