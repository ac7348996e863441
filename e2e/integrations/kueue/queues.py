"""What an administrator gives Kueue, and what a test sees of one queue and its jobs."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from e2e.harness.client import Api, ApiError, Object, eventually
from e2e.harness.jobs import REPLICAS, Namespace, job

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
LIMIT = 60.0
"""Seconds for what takes a second on an idle machine."""
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
POD_SET = "kueue.x-k8s.io/podset"
TOLERATION = {"key": "reserved", "operator": "Equal", "value": "training", "effect": "NoSchedule"}
REPLICAS_OF = {
    "PyTorchJob": {"Master": 1, "Worker": 1},
    "TFJob": {"Chief": 1, "PS": 1, "Worker": 1, "Evaluator": 1},
    "XGBoostJob": {"Master": 1, "Worker": 1},
    "MPIJob": {"Launcher": 1, "Worker": 1},
    "PaddleJob": {"Master": 1, "Worker": 1},
    "JAXJob": {"Worker": 2},
}
"""Replica types of each kind, in the order in which Kueue walks them."""


def queued(name: str, kind: str, replicas: Mapping[str, int], priority: str = "") -> Object:
    """A job for the queue of its namespace; each pod requests one CPU."""
    body = job(name, kind, arguments=(), **replicas)
    body["metadata"]["labels"] = {QUEUE: "queue"} | ({PRIORITY: priority} if priority else {})
    specs = copy.deepcopy(body["spec"][REPLICAS[kind]])
    for spec in specs.values():
        container = spec["template"]["spec"]["containers"][0]
        container["resources"] = {"requests": {"cpu": "1"}}
        # Kueue compares containers with those of its Workload: the definitions must fill in the same defaults.
        container["ports"] = [{"name": "other", "containerPort": 8080}]
        spec["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    body["spec"][REPLICAS[kind]] = specs
    return body


def replica_specs(stored: Object) -> dict[str, Any]:
    """The replica types of a job as stored."""
    specs: dict[str, Any] = stored["spec"][REPLICAS[stored["kind"]]]
    return specs


class Queue:
    """A queue with a cluster queue of its own in front of the flavors `<name>-a` and `<name>-b`, and its jobs."""

    def __init__(self, api: Api, namespace: str, kind: str) -> None:
        self.api = api
        self.kind = kind
        self.name = namespace
        self.jobs = Namespace(api, namespace)

    def flavor(self, which: str) -> str:
        """Name of a flavor, and value of the node label `pool` that it selects."""
        return f"{self.name}-{which}"

    async def open(self, *, topology: str = "", checks: Sequence[str] = (), **quotas: int) -> None:
        """Make the namespace, the queues and the flavors, with so many CPUs in each flavor, behind admission checks."""
        await self.api.create("/api/v1/namespaces", {"metadata": {"name": self.name}})
        for which in quotas:
            spec: Object = {"nodeLabels": {"pool": self.flavor(which)}, "tolerations": [TOLERATION]}
            if topology:
                spec["topologyName"] = topology
            await self._create("resourceflavors", "ResourceFlavor", self.flavor(which), spec)
        preemption = {"withinClusterQueue": "LowerPriority"}
        spec = {"namespaceSelector": {}, "preemption": preemption, **self._quotas(quotas)}
        if checks:
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": each} for each in checks]}
        await self._create("clusterqueues", "ClusterQueue", self.name, spec)
        await self._create(f"namespaces/{self.name}/localqueues", "LocalQueue", "queue", {"clusterQueue": self.name})

    async def set_quotas(self, **quotas: int) -> None:
        """Change the quotas and wait until Kueue works with them."""
        path = f"{KUEUE}/clusterqueues/{self.name}"
        generation = (await self.api.patch(path, {"spec": self._quotas(quotas)}))["metadata"]["generation"]

        async def seen() -> bool:
            conditions = (await self.api.call("GET", path))["status"]["conditions"]
            return any(c["type"] == "Active" and c.get("observedGeneration") == generation for c in conditions)

        await eventually(seen, f"quotas of {self.name}", LIMIT)

    def _quotas(self, quotas: Mapping[str, int]) -> Object:
        flavors = [
            {"name": self.flavor(which), "resources": [{"name": "cpu", "nominalQuota": cpus}]}
            for which, cpus in quotas.items()
        ]
        return {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}]}

    async def _create(self, collection: str, kind: str, name: str, spec: Object) -> None:
        body = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self.api.create(f"{KUEUE}/{collection}", body)

    def path(self, name: str) -> str:
        """Path of a job."""
        return f"{self.jobs.jobs(self.kind)}/{name}"

    async def submit(self, name: str, *, priority: str = "", replicas: Mapping[str, int] | None = None) -> Object:
        """Create a job and return it as it was stored."""
        body = queued(name, self.kind, replicas or REPLICAS_OF[self.kind], priority)
        return await self.api.create(self.jobs.jobs(self.kind), body)

    async def get(self, name: str) -> Object:
        """A job as stored."""
        return await self.api.call("GET", self.path(name))

    async def workload(self, name: str) -> Object:
        """What Kueue has made of a job."""
        uid = (await self.get(name))["metadata"]["uid"]

        async def found() -> Object | None:
            items = (await self.api.call("GET", f"{KUEUE}/namespaces/{self.name}/workloads"))["items"]
            return next((each for each in items if each["metadata"]["ownerReferences"][0]["uid"] == uid), None)

        return await eventually(found, f"a workload of {self.kind} {name}", LIMIT)

    async def workload_is(self, name: str, type_: str) -> Object:
        """Wait until a condition of the job's workload is True; returns the condition."""

        async def found() -> Object | None:
            conditions = (await self.workload(name)).get("status", {}).get("conditions", ())
            return next((c for c in conditions if (c["type"], c["status"]) == (type_, "True")), None)

        return await eventually(found, f"workload of {self.kind} {name} is {type_}", LIMIT)

    async def is_too_large(self, name: str) -> None:
        """Wait until Kueue has found that a job does not fit into its queue."""

        async def judged() -> bool:
            conditions = (await self.workload(name)).get("status", {}).get("conditions", ())
            return any(c["type"] == "QuotaReserved" and "insufficient quota" in c["message"] for c in conditions)

        await eventually(judged, f"{self.kind} {name} does not fit", LIMIT)

    async def scale(self, name: str, workers: int) -> None:
        """Change the number of workers by an update of the whole object."""

        async def written() -> bool:
            whole = await self.get(name)
            replica_specs(whole)["Worker"]["replicas"] = workers
            return await unless_changed(self.api.call("PUT", self.path(name), whole))

        await eventually(written, "an update of the whole object", LIMIT)

    async def is_admitted_once_scaled(self, name: str) -> None:
        """Wait until a job that was scaled in the queue is admitted.

        A workload that Kueue still judges in its old size is deleted, as docs/kueue.md tells users to do.
        """

        async def admitted() -> bool:
            workload = await self.workload(name)
            if any(
                (c["type"], c["status"]) == ("Admitted", "True")
                for c in workload.get("status", {}).get("conditions", ())
            ):
                return True
            if judged_in_old_size(workload):
                version = {"preconditions": {"resourceVersion": workload["metadata"]["resourceVersion"]}}
                path = f"{KUEUE}/namespaces/{self.name}/workloads/{workload['metadata']['name']}"
                await unless_changed(self.api.call("DELETE", path, version))
            return False

        await eventually(admitted, f"{self.kind} {name} is admitted in its new size", LIMIT)

    async def starts(self, name: str) -> list[Object]:
        """Wait until all pods of a job are there, let them run, and return them."""
        count = sum(spec.get("replicas", 1) for spec in replica_specs(await self.get(name)).values())
        await self.jobs.pods_reach(name, count, LIMIT)
        pods = await self.jobs.pods(name)
        await self.jobs.set_phase(name, "Running")
        await self.jobs.condition(await self.get(name), "Running", LIMIT)
        return pods

    async def succeeds(self, name: str) -> None:
        """Let all pods of a job succeed; Kueue must learn of it."""
        await self.jobs.set_phase(name, "Succeeded")
        await self.jobs.condition(await self.get(name), "Succeeded", LIMIT)
        assert (await self.workload_is(name, "Finished"))["reason"] == "Succeeded"

    async def is_stopped(self, name: str) -> Object:
        """Wait until Kueue has stopped a job and it says so; returns the job."""

        async def stopped() -> Object | None:
            stored = await self.get(name)
            status = stored.get("status", {})
            conditions = {c["type"]: c["status"] for c in status.get("conditions", ())}
            active = any(each.get("active") for each in status.get("replicaStatuses", {}).values())
            suspended = stored["spec"]["runPolicy"]["suspend"] and conditions.get("Suspended") == "True"
            return stored if suspended and not active and conditions.get("Running") != "True" else None

        return await eventually(stopped, f"{self.kind} {name} is stopped", LIMIT)


async def unless_changed(request: Awaitable[Object]) -> bool:
    """Whether a request was done; it is not if its object was changed or deleted since it was read."""
    try:
        await request
    except ApiError as error:
        if error.status not in (404, 409):
            raise
        return False
    return True


def judged_in_old_size(workload: Object) -> bool:
    """Whether Kueue says of a workload as it is now that it requests what it requested before, one CPU for each pod."""
    now = {each["name"]: str(each["count"]) for each in workload["spec"]["podSets"]}
    status = workload.get("status", {})
    judged = {each["name"]: each["resources"]["cpu"] for each in status.get("resourceRequests", ())}
    generations = {c.get("observedGeneration") for c in status.get("conditions", ()) if c["type"] == "QuotaReserved"}
    return workload["metadata"]["generation"] in generations and judged != now


class Seen:
    """Every pod that a namespace has ever had, as it was created."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._api = api
        self.pods: dict[str, Object] = {}

    async def follow(self) -> None:
        """Watch until cancelled."""
        version = ""
        while True:
            async for event in self._api.watch(self._path, version):
                pod = event["object"]
                if event["type"] == "ADDED":
                    self.pods.setdefault(pod["metadata"]["uid"], pod)
                version = pod["metadata"]["resourceVersion"]
            await asyncio.sleep(0)
