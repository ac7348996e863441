"""Gangs on a real API server with the definitions of Volcano and scheduler-plugins; the test is the scheduler."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import CONTAINERS, PLURALS, REPLICAS
from e2e.harness.operator import Operator, running_operator
from e2e.support.paths import ROOT

DEFINITIONS = ROOT / "e2e" / "support" / "definitions"
VOLCANO = DEFINITIONS / "volcano" / "podgroups.scheduling.volcano.sh.json"
COSCHEDULING = DEFINITIONS / "scheduler-plugins" / "podgroups.scheduling.x-k8s.io.json"
VOLCANO_API = "/apis/scheduling.volcano.sh/v1beta1"
COSCHEDULING_API = "/apis/scheduling.x-k8s.io/v1alpha1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COSCHEDULER = "scheduler-plugins-scheduler"

KINDS = {
    "PyTorchJob": {"Master": 1, "Worker": 2},
    "TFJob": {"Chief": 1, "PS": 1, "Worker": 2},
    "XGBoostJob": {"Master": 1, "Worker": 2},
    "MPIJob": {"Launcher": 1, "Worker": 2},
    "PaddleJob": {"Master": 1, "Worker": 2},
    "JAXJob": {"Worker": 3},
}
"""Replicas of each kind's jobs."""
COMPUTED = {
    "PyTorchJob": (3, {"cpu": "3", "memory": "6Gi"}),
    "TFJob": (4, {"cpu": "4", "memory": "8Gi"}),
    "XGBoostJob": (3, {"cpu": "3", "memory": "6Gi"}),
    "MPIJob": (3, {"cpu": "3", "memory": "6Gi", "ephemeral-storage": "5Gi"}),
    "PaddleJob": (3, {"cpu": "3", "memory": "6Gi"}),
    "JAXJob": (3, {"cpu": "3", "memory": "6Gi"}),
}
"""Members and resources of each: every pod requests 1 cpu and 2Gi, the launcher's init container 5Gi of storage."""
POLICY = {
    "minAvailable": 2,
    "queue": "research",
    "priorityClass": "high",
    "scheduleTimeoutSeconds": 30,
    "minResources": {"cpu": 4, "memory": "1024Mi"},
}


def job(kind: str, name: str, **run_policy: object) -> Object:
    """A job of one kind, with pods that no kubelet runs."""
    requests = {"requests": {"cpu": "1", "memory": "2Gi"}}
    container = {"name": CONTAINERS[kind], "image": "example.com/train:1", "resources": requests}
    template = {"spec": {"containers": [container]}}
    specs = {
        each: {"replicas": count, "restartPolicy": "Never", "template": template} for each, count in KINDS[kind].items()
    }
    metadata = {"name": name, "annotations": {"team": "a"}}
    spec = {"runPolicy": run_policy, REPLICAS[kind]: specs}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": spec}


def definition(file: Path) -> Object:
    loaded: Object = json.loads(file.read_text())
    return loaded


@asynccontextmanager
async def defined(api: Api, crd: Object) -> AsyncIterator[None]:
    """The API server has these PodGroups."""
    path = f"{CRDS}/{crd['metadata']['name']}"

    async def gone() -> bool:
        return await api.get(path) is None

    await api.create(CRDS, crd)
    try:
        yield
    finally:
        await api.delete(path)
        await eventually(gone, f"{path} is gone")


class Stage:
    """One namespace with jobs, and PodGroups of one scheduler."""

    def __init__(self, api: Api, namespace: str, groups: str) -> None:
        self._api = api
        self._groups = f"{groups}/namespaces/{namespace}/podgroups"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}"

    def path(self, kind: str, name: str) -> str:
        return f"{self._jobs}/{PLURALS[kind]}/{name}"

    async def create(self, kind: str, name: str, **run_policy: object) -> None:
        await self._api.create(f"{self._jobs}/{PLURALS[kind]}", job(kind, name, **run_policy))

    async def job(self, kind: str, name: str) -> Object:
        return await self._api.call("GET", self.path(kind, name))

    async def patch(self, kind: str, name: str, patch: Object) -> Object:
        return await self._api.patch(self.path(kind, name), patch)

    async def group(self, name: str) -> Object:
        """The PodGroup, once it is there."""
        return await eventually(lambda: self._api.get(f"{self._groups}/{name}"), f"a PodGroup {name}")

    async def no_group(self, name: str) -> None:
        async def gone() -> bool:
            return await self._api.get(f"{self._groups}/{name}") is None

        await eventually(gone, f"no PodGroup {name}")

    async def set_phase(self, name: str, phase: str) -> None:
        """What Volcano does: it writes the whole object, status included."""
        group = await self.group(name)
        await self._api.call("PUT", f"{self._groups}/{name}", {**group, "status": {"phase": phase}})

    async def pods(self, name: str) -> list[Object]:
        """The pods of a job by name."""
        path = f"{self._pods}?labelSelector=training.kubeflow.org/job-name={name}"
        found: list[Object] = (await self._api.call("GET", path))["items"]
        return found

    async def pods_reach(self, name: str, count: int) -> list[Object]:
        async def reached() -> tuple[list[Object]] | None:
            pods = await self.pods(name)
            return (pods,) if len(pods) == count else None

        (found,) = await eventually(reached, f"{count} pods of {name}")
        return found

    async def set_pods(self, name: str, phase: str) -> None:
        for pod in await self.pods(name):
            await self._api.patch(f"{self._pods}/{pod['metadata']['name']}/status", {"status": {"phase": phase}})

    async def waits(self, kind: str, name: str, reason: str | None) -> None:
        """Wait until the job waits for this reason, or for none."""

        async def found() -> bool:
            return bool((await self.job(kind, name)).get("status", {}).get("waiting", {}).get("reason") == reason)

        await eventually(found, f"status.waiting.reason {reason} of {name}")

    async def condition(self, kind: str, name: str, condition: str) -> None:
        async def found() -> bool:
            conditions = (await self.job(kind, name)).get("status", {}).get("conditions", ())
            return any((each["type"], each["status"]) == (condition, "True") for each in conditions)

        await eventually(found, f"condition {condition} of {name}")


@pytest.mark.shows("E-120", "E-121", "E-122", "E-123", "E-124", "E-125", "E-126", "E-127", "E-128", "E-129", "E-130")
@pytest.mark.shows("E-131", "E-132")
async def test_volcano_from_an_absent_api_to_the_end_of_every_kind(
    cluster: Cluster, api: Api, namespace: str, tmp_path: Path
) -> None:
    stage = Stage(api, namespace, VOLCANO_API)
    with running_operator(cluster.kubeconfig, tmp_path / "operator.log", "--gang-scheduler-name=Volcano") as operator:
        await asyncio.gather(*(stage.create(kind, kind.lower()) for kind in KINDS))
        await asyncio.gather(*(stage.waits(kind, kind.lower(), "ApiMissing") for kind in KINDS))
        async with defined(api, definition(VOLCANO)):
            await asyncio.gather(*(_life_with_volcano(stage, kind, kind.lower()) for kind in KINDS))
            await _policy_that_changes(stage)
            await _lost_and_deleted(stage, api)
        assert "Traceback" not in operator.child.output()


async def _life_with_volcano(stage: Stage, kind: str, name: str) -> None:
    members, resources = COMPUTED[kind]
    group = await stage.group(name)
    body = await stage.job(kind, name)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": name, "uid": body["metadata"]["uid"]}
    assert group["metadata"]["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
    assert (group["metadata"]["annotations"], group["metadata"].get("labels")) == ({"team": "a"}, None)
    assert group["spec"] == {"minMember": members, "queue": "default", "minResources": resources}

    await stage.waits(kind, name, "GangPending")
    assert (await stage.pods(name), "startTime" in (await stage.job(kind, name))["status"]) == ([], False)
    await stage.set_phase(name, "Inqueue")
    for pod in await stage.pods_reach(name, members):
        annotations, replica_type = pod["metadata"]["annotations"], "training.kubeflow.org/replica-type"
        assert annotations["scheduling.k8s.io/group-name"] == name
        assert annotations["volcano.sh/task-spec"] == pod["metadata"]["labels"][replica_type]
        assert pod["spec"]["schedulerName"] == "volcano"

    await stage.set_phase(name, "Running")
    version = (await stage.group(name))["metadata"]["resourceVersion"]
    await stage.set_pods(name, "Running")
    await stage.condition(kind, name, "Running")
    generation = (await stage.patch(kind, name, {"spec": {"runPolicy": {"backoffLimit": 9}}}))["metadata"]["generation"]

    async def looked_at() -> bool:
        return bool((await stage.job(kind, name))["status"]["observedGeneration"] == generation)

    await eventually(looked_at, f"generation {generation} of {name} to be observed")
    assert (await stage.group(name))["metadata"]["resourceVersion"] == version, "written without a change"

    await stage.set_pods(name, "Succeeded")
    await stage.condition(kind, name, "Succeeded")
    await stage.no_group(name)


async def _policy_that_changes(stage: Stage) -> None:
    await stage.create("JAXJob", "policy", schedulingPolicy=POLICY)
    resources = {"cpu": "4", "memory": "1Gi"}
    expected = {"minMember": 2, "queue": "research", "priorityClassName": "high", "minResources": resources}
    assert (await stage.group("policy"))["spec"] == expected
    await stage.set_phase("policy", "Pending")
    lower = {"schedulingPolicy": {"minAvailable": 1, "priorityClass": None, "minResources": {"memory": None}}}
    await stage.patch("JAXJob", "policy", {"spec": {"runPolicy": lower}})

    async def follows() -> Object | None:
        group = await stage.group("policy")
        return group if group["spec"]["minMember"] == 1 else None

    group = await eventually(follows, "the PodGroup to follow the policy")
    assert group["spec"] == {"minMember": 1, "queue": "research", "minResources": {"cpu": "4"}}
    assert group["status"] == {"phase": "Pending"}


async def _lost_and_deleted(stage: Stage, api: Api) -> None:
    await stage.create("JAXJob", "lost")
    await stage.set_phase("lost", "Inqueue")
    pods = await stage.pods_reach("lost", 3)
    await stage.set_phase("lost", "Pending")
    first, group = pods[0]["metadata"], (await stage.group("lost"))["metadata"]
    await api.delete(f"/api/v1/namespaces/{first['namespace']}/pods/{first['name']}")
    await api.delete(f"{VOLCANO_API}/namespaces/{first['namespace']}/podgroups/lost")

    async def replaced() -> bool:
        uids = {pod["metadata"]["uid"] for pod in await stage.pods("lost")}
        return len(uids) == 3 and first["uid"] not in uids

    await eventually(replaced, "the lost pod to be replaced although its gang is pending")

    async def made_again() -> bool:
        return bool((await stage.group("lost"))["metadata"]["uid"] != group["uid"])

    await eventually(made_again, "the deleted PodGroup to be made again")
    await stage.patch("JAXJob", "lost", {"spec": {"runPolicy": {"suspend": True}}})
    await stage.no_group("lost")
    await stage.pods_reach("lost", 0)


@pytest.fixture
async def coscheduling(cluster: Cluster, api: Api, tmp_path: Path) -> AsyncIterator[Operator]:
    flag = f"--gang-scheduler-name={COSCHEDULER}"
    async with defined(api, definition(COSCHEDULING)):
        with running_operator(cluster.kubeconfig, tmp_path / "operator.log", flag) as operator:
            yield operator


@pytest.mark.shows("INT-080", "INT-081", "INT-082", "INT-083", "INT-084")
async def test_scheduler_plugins_with_every_kind(coscheduling: Operator, api: Api, namespace: str) -> None:
    stage = Stage(api, namespace, COSCHEDULING_API)

    async def life(kind: str, name: str) -> None:
        await stage.create(kind, name)
        members, resources = COMPUTED[kind]
        assert (await stage.group(name))["spec"] == {"minMember": members, "minResources": resources}
        for pod in await stage.pods_reach(name, members):
            assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == name
            assert pod["spec"]["schedulerName"] == COSCHEDULER
        path = f"{COSCHEDULING_API}/namespaces/{namespace}/podgroups/{name}/status"
        version = (await api.patch(path, {"status": {"phase": "Running"}}))["metadata"]["resourceVersion"]
        await stage.set_pods(name, "Running")
        await stage.condition(kind, name, "Running")
        assert (await stage.group(name))["metadata"]["resourceVersion"] == version
        await stage.set_pods(name, "Succeeded")
        await stage.condition(kind, name, "Succeeded")
        await stage.no_group(name)

    await asyncio.gather(*(life(kind, kind.lower()) for kind in KINDS))
    await stage.create("JAXJob", "policy", schedulingPolicy=POLICY)
    expected = {"minMember": 2, "scheduleTimeoutSeconds": 30, "minResources": {"cpu": "4", "memory": "1Gi"}}
    assert (await stage.group("policy"))["spec"] == expected
    assert "Traceback" not in coscheduling.child.output()
