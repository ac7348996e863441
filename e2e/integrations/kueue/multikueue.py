"""Jobs of all kinds on another cluster by the real MultiKueue: `python -m e2e.integrations.kueue.multikueue`.

A manager and a worker cluster, each with Kueue and the operator; the program is the worker's node. Two minutes.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from e2e.harness.client import Object, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.operator import WRITES
from e2e.integrations.kueue.controller import NAMESPACE, queueing_cluster
from e2e.integrations.kueue.queues import KUEUE, LIMIT, REPLICAS_OF, Queue, queued, replica_specs, unless_changed

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
CHECK = "other-clusters"
ORIGIN = "kueue.x-k8s.io/multikueue-origin"
SPARED = {"matchExpressions": [{"key": ORIGIN, "operator": "DoesNotExist"}]}
SPARE_JAXJOBS = {"webhooks": [{"name": "vjaxjob.kb.io", "objectSelector": SPARED}]}
"""Patch of the worker's webhooks: Kueue 0.18 can dispatch JAXJobs, but its own validation rejects the copies."""
COPIED = ("conditions", "replicaStatuses", "startTime", "completionTime")
"""What Kueue knows of a job's status, and thus copies."""


def main() -> int:
    """Run everything; an assertion error says what is different."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="training-multikueue-")))
        (folder / "manager").mkdir()
        (folder / "worker").mkdir()
        worker, _ = stack.enter_context(queueing_cluster(folder / "worker"))
        manager, idle = stack.enter_context(queueing_cluster(folder / "manager"))
        introduce(worker, manager)
        asyncio.run(every_kind(manager, worker))
        assert (writes := idle.counted(WRITES)) == 0, f"the manager's operator has sent {writes:.0f} writes"
    print("the manager's operator has written nothing")
    return 0


def introduce(worker: Cluster, manager: Cluster) -> None:
    """Let the manager's Kueue dispatch to the worker, with the worker's kubeconfig from a secret."""
    webhooks = ("validatingwebhookconfiguration", "kueue-validating-webhook-configuration")
    worker.run_kubectl("patch", *webhooks, "--type=strategic", f"--patch={json.dumps(SPARE_JAXJOBS)}")
    kubeconfig = worker.run_kubectl("config", "view", "--raw", "--flatten")
    secret = {"metadata": {"name": "worker", "namespace": NAMESPACE}, "stringData": {"kubeconfig": kubeconfig}}
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": CHECK}
    objects = [
        {"apiVersion": "v1", "kind": "Secret", **secret},
        _kueue("MultiKueueCluster", "worker", {"clusterSource": {"kubeConfig": {"location": "worker"}}}),
        _kueue("MultiKueueConfig", CHECK, {"clusters": ["worker"]}),
        _kueue("AdmissionCheck", CHECK, {"controllerName": MULTIKUEUE, "parameters": parameters}),
    ]
    manager.send("create", *objects)
    for each in ("multikueuecluster/worker", f"admissioncheck/{CHECK}"):
        manager.run_kubectl("wait", "--for=jsonpath={.status.conditions[0].type}=Active", each, "--timeout=60s")
        manager.run_kubectl("wait", "--for=condition=Active", each, "--timeout=60s")


def _kueue(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


async def every_kind(manager: Cluster, worker: Cluster) -> None:
    """One queue in each cluster for each kind, all at the same time."""
    async with connect(manager.kubeconfig) as here, connect(worker.kubeconfig) as there, asyncio.TaskGroup() as tasks:
        for kind in REPLICAS_OF:
            name = f"sent-{kind.lower()}"
            life = Dispatched(Queue(here, name, kind), Queue(there, name, kind))
            tasks.create_task(life.run(), name=kind)


class Dispatched:
    """The jobs of one kind: created on the manager, run on the worker."""

    def __init__(self, manager: Queue, worker: Queue) -> None:
        self.manager = manager
        self.worker = worker
        self.kind = manager.kind

    async def run(self) -> None:
        """One job that succeeds, one that is evicted, comes back and fails, one that is deleted."""
        size = sum(REPLICAS_OF[self.kind].values())
        await self.manager.open(manager=3 * size, checks=[CHECK])
        await self.worker.open(worker=size)
        await self.submit("first", managed_by=MULTIKUEUE)
        await self.runs("first")
        await self.submit("second")
        await self.waits("second")
        await self.ends("first", "Succeeded")
        print(f"{self.kind}: runs on the worker, succeeds on both", flush=True)
        await self.runs("second")
        await self.is_evicted("second")
        await self.runs("second")
        await self.ends("second", "Failed")
        print(f"{self.kind}: evicted, sent again, fails on both", flush=True)
        await self.submit("third")
        await self.runs("third")
        await self.is_deleted("third")
        assert await self.manager.jobs.pods("third") == []
        print(f"{self.kind}: deleted on both", flush=True)

    async def submit(self, name: str, managed_by: str = "") -> None:
        """Create a job on the manager; Kueue says who manages it unless the job does."""
        body = queued(name, self.kind, REPLICAS_OF[self.kind])
        if managed_by:
            body["spec"]["runPolicy"]["managedBy"] = managed_by
        stored = await self.manager.api.create(self.manager.jobs.jobs(self.kind), body)
        assert stored["spec"]["runPolicy"]["managedBy"] == MULTIKUEUE
        assert stored["spec"]["runPolicy"]["suspend"] is True

    async def runs(self, name: str) -> None:
        """Wait until the copy of a job runs in the worker's flavor, and the job itself says so without a pod."""

        async def sent() -> Object | None:
            return await self.worker.api.get(self.worker.path(name))

        copy = await eventually(sent, f"a copy of {self.kind} {name}", LIMIT)
        assert "managedBy" not in copy["spec"]["runPolicy"]
        assert copy["metadata"]["labels"][ORIGIN]
        for pod in await self.worker.starts(name):
            assert pod["spec"]["nodeSelector"] == {"disk": "fast", "pool": self.worker.flavor("worker")}
        await self.manager.jobs.condition(await self.manager.get(name), "Running", LIMIT)
        await self.says_the_same(name)
        assert (await self.manager.get(name))["spec"]["runPolicy"]["suspend"] is False
        assert await self.manager.jobs.pods(name) == []

    async def says_the_same(self, name: str) -> None:
        """Wait until the status of a job is that of its copy, as far as Kueue knows it."""

        async def same() -> bool:
            stored = [(await queue.get(name))["status"] for queue in (self.manager, self.worker)]
            here, there = ({key: each.get(key) for key in COPIED} for each in stored)
            return here == there

        await eventually(same, f"the same status of {self.kind} {name}", LIMIT)

    async def waits(self, name: str) -> None:
        """Wait until the worker's queue has a job that does not fit; nothing else is there of it."""

        async def there() -> bool:
            return bool(await self.worker.api.get(await self.workload_path(name)))

        await eventually(there, f"a workload of {self.kind} {name} on the worker", LIMIT)
        assert await self.worker.api.get(self.worker.path(name)) is None
        assert "status" not in await self.manager.get(name)

    async def workload_path(self, name: str) -> str:
        """Path of a job's workload, the same on both."""
        workload = await self.manager.workload(name)
        return f"{KUEUE}/namespaces/{self.manager.name}/workloads/{workload['metadata']['name']}"

    async def ends(self, name: str, phase: str) -> None:
        """Let the pods of a copy end; the job must say so for good, and the copy must go."""
        for pod in reversed(await self.worker.jobs.pods(name)):
            path = f"/api/v1/namespaces/{self.worker.name}/pods/{pod['metadata']['name']}/status"
            # Once the job has ended Kueue removes the copy, and its other pods with it.
            await unless_changed(self.worker.api.patch(path, {"status": {"phase": phase}}))
        ended = await self.manager.jobs.condition(await self.manager.get(name), phase, LIMIT)
        finished = await self.manager.workload_is(name, "Finished")
        assert (finished["reason"], finished["message"]) == (phase, ended["message"])
        await self.is_gone(name)
        status = (await self.manager.get(name))["status"]
        assert [c["type"] for c in status["conditions"] if c["status"] == "True"] == ["Created", phase]

    async def is_evicted(self, name: str) -> None:
        """Stop a job on the manager: its copy goes, its templates are as before; then let it go on."""
        path = await self.workload_path(name)
        await self.manager.api.patch(path, {"spec": {"active": False}})
        await self.is_gone(name)

        async def stopped() -> bool:
            return bool((await self.manager.get(name))["spec"]["runPolicy"]["suspend"])

        await eventually(stopped, f"{self.kind} {name} is suspended", LIMIT)
        for spec in replica_specs(await self.manager.get(name)).values():
            assert spec["template"]["spec"]["nodeSelector"] == {"disk": "fast"}
        await self.manager.api.patch(path, {"spec": {"active": True}})

    async def is_deleted(self, name: str) -> None:
        """Delete a job on the manager: its copy goes too."""
        await self.manager.api.delete(self.manager.path(name))
        await self.is_gone(name)

    async def is_gone(self, name: str) -> None:
        """Wait until nothing of a job is left on the worker."""

        async def gone() -> bool:
            copy = await self.worker.api.get(self.worker.path(name))
            return copy is None and not await self.worker.jobs.pods(name)

        await eventually(gone, f"{self.kind} {name} has gone from the worker", LIMIT)


if __name__ == "__main__":
    sys.exit(main())
