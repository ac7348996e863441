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
from e2e.harness.jobs import CONTAINERS, REPLICAS, Namespace
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
    await api.create(CRDS, crd)
    try:
        yield
    finally:
        await api.delete(path)
        await api.gone(path)


class Stage(Namespace):
    """One namespace with jobs, and PodGroups of one scheduler."""

    def __init__(self, api: Api, namespace: str, groups: str) -> None:
        super().__init__(api, namespace)
        self._groups = f"{groups}/namespaces/{namespace}/podgroups"

    async def job(self, body: Object) -> Object:
        """The job as it is now."""
        return await self.api.call("GET", self.path(body))

    async def patch(self, body: Object, run_policy: Object) -> Object:
        return await self.api.patch(self.path(body), {"spec": {"runPolicy": run_policy}})

    async def group(self, name: str) -> Object:
        """The PodGroup, once it is there."""
        return await eventually(lambda: self.api.get(f"{self._groups}/{name}"), f"a PodGroup {name}")

    async def no_group(self, name: str) -> None:
        await self.api.gone(f"{self._groups}/{name}")

    async def set_group(self, name: str, phase: str) -> None:
        """What Volcano does: it writes the whole object, status included."""
        group = await self.group(name)
        await self.api.call("PUT", f"{self._groups}/{name}", {**group, "status": {"phase": phase}})


@pytest.mark.shows("E-120", "E-121", "E-122", "E-123", "E-124", "E-125", "E-126", "E-127", "E-128", "E-129", "E-130")
@pytest.mark.shows("E-131", "E-132")
async def test_volcano_from_an_absent_api_to_the_end_of_every_kind(
    cluster: Cluster, api: Api, namespace: str, tmp_path: Path
) -> None:
    stage = Stage(api, namespace, VOLCANO_API)
    with running_operator(cluster.kubeconfig, tmp_path / "operator.log", "--gang-scheduler-name=Volcano") as operator:
        bodies = [job(kind, kind.lower()) for kind in KINDS]
        await asyncio.gather(*map(stage.create, bodies))
        await asyncio.gather(*(stage.waits(body, "ApiMissing") for body in bodies))
        async with defined(api, definition(VOLCANO)):
            await asyncio.gather(*(_life_with_volcano(stage, body) for body in bodies))
            await _policy_that_changes(stage)
            await _lost_and_deleted(stage, api)
        assert "Traceback" not in operator.child.output()


async def _life_with_volcano(stage: Stage, body: Object) -> None:
    kind, name = body["kind"], body["metadata"]["name"]
    members, resources = COMPUTED[kind]
    group, uid = await stage.group(name), (await stage.job(body))["metadata"]["uid"]
    owner = {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": name, "uid": uid}
    assert group["metadata"]["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
    assert (group["metadata"]["annotations"], group["metadata"].get("labels")) == ({"team": "a"}, None)
    assert group["spec"] == {"minMember": members, "queue": "default", "minResources": resources}

    await stage.waits(body, "GangPending")
    assert (await stage.pods(name), "startTime" in (await stage.job(body))["status"]) == ([], False)
    await stage.set_group(name, "Inqueue")
    for pod in await stage.pods_reach(name, members):
        annotations, replica_type = pod["metadata"]["annotations"], "training.kubeflow.org/replica-type"
        assert annotations["scheduling.k8s.io/group-name"] == name
        assert annotations["volcano.sh/task-spec"] == pod["metadata"]["labels"][replica_type]
        assert pod["spec"]["schedulerName"] == "volcano"

    await stage.set_group(name, "Running")
    version = (await stage.group(name))["metadata"]["resourceVersion"]
    await stage.set_phase(name, "Running")
    await stage.condition(body, "Running")
    generation = (await stage.patch(body, {"backoffLimit": 9}))["metadata"]["generation"]

    async def looked_at() -> bool:
        return bool((await stage.job(body))["status"]["observedGeneration"] == generation)

    await eventually(looked_at, f"generation {generation} of {name} to be observed")
    assert (await stage.group(name))["metadata"]["resourceVersion"] == version, "written without a change"

    await stage.set_phase(name, "Succeeded")
    await stage.condition(body, "Succeeded")
    await stage.no_group(name)


async def _policy_that_changes(stage: Stage) -> None:
    body = job("JAXJob", "policy", schedulingPolicy=POLICY)
    await stage.create(body)
    resources = {"cpu": "4", "memory": "1Gi"}
    expected = {"minMember": 2, "queue": "research", "priorityClassName": "high", "minResources": resources}
    assert (await stage.group("policy"))["spec"] == expected
    await stage.set_group("policy", "Pending")
    lower = {"minAvailable": 1, "priorityClass": None, "minResources": {"memory": None}}
    await stage.patch(body, {"schedulingPolicy": lower})

    async def follows() -> Object | None:
        group = await stage.group("policy")
        return group if group["spec"]["minMember"] == 1 else None

    group = await eventually(follows, "the PodGroup to follow the policy")
    assert group["spec"] == {"minMember": 1, "queue": "research", "minResources": {"cpu": "4"}}
    assert group["status"] == {"phase": "Pending"}


async def _lost_and_deleted(stage: Stage, api: Api) -> None:
    body = job("JAXJob", "lost")
    await stage.create(body)
    await stage.set_group("lost", "Inqueue")
    pods = await stage.placed(body)
    await stage.set_group("lost", "Pending")
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
    await stage.patch(body, {"suspend": True})
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
        body = job(kind, name)
        await stage.create(body)
        members, resources = COMPUTED[kind]
        assert (await stage.group(name))["spec"] == {"minMember": members, "minResources": resources}
        for pod in await stage.pods_reach(name, members):
            assert pod["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] == name
            assert pod["spec"]["schedulerName"] == COSCHEDULER
        path = f"{COSCHEDULING_API}/namespaces/{namespace}/podgroups/{name}/status"
        version = (await api.patch(path, {"status": {"phase": "Running"}}))["metadata"]["resourceVersion"]
        await stage.set_phase(name, "Running")
        await stage.condition(body, "Running")
        assert (await stage.group(name))["metadata"]["resourceVersion"] == version
        await stage.set_phase(name, "Succeeded")
        await stage.condition(body, "Succeeded")
        await stage.no_group(name)

    await asyncio.gather(*(life(kind, kind.lower()) for kind in KINDS))
    await stage.create(job("JAXJob", "policy", schedulingPolicy=POLICY))
    expected = {"minMember": 2, "scheduleTimeoutSeconds": 30, "minResources": {"cpu": "4", "memory": "1Gi"}}
    assert (await stage.group("policy"))["spec"] == expected
    assert "Traceback" not in coscheduling.child.output()
