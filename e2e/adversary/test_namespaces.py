"""Objects in another namespace that name a job as their owner: neither taken for the job's own nor touched."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.jobs import NO_SCHEDULER, Namespace, elastic, typical
from e2e.support import marks

pytestmark = [marks.bare, pytest.mark.usefixtures("operator")]

RBAC = "rbac.authorization.k8s.io"
PATHS = {
    "pods": "/api/v1",
    "services": "/api/v1",
    "configmaps": "/api/v1",
    "serviceaccounts": "/api/v1",
    "roles": f"/apis/{RBAC}/v1",
    "rolebindings": f"/apis/{RBAC}/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
}
HELD = "example.com/held"
"""A finalizer: the garbage collector takes what has its owner elsewhere."""
REF = {"apiGroup": RBAC, "kind": "Role", "name": "x"}
SCALED = {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}}
CONTENT: dict[str, Object] = {
    "pods": {"spec": {"schedulerName": NO_SCHEDULER, "containers": [{"name": "a", "image": "example.com/a:1"}]}},
    "services": {"spec": {"clusterIP": "None", "ports": [{"port": 1}]}},
    "rolebindings": {"roleRef": REF},
    "horizontalpodautoscalers": {"spec": SCALED},
}


NEEDED = {
    "PyTorchJob": {"pods": "far-worker-0", "services": "far-worker-0", "horizontalpodautoscalers": "far"},
    "MPIJob": {
        "pods": "far-worker-0",
        "configmaps": "far-config",
        "serviceaccounts": "far-launcher",
        "roles": "far-launcher",
        "rolebindings": "far-launcher",
    },
}


@pytest.fixture
async def elsewhere(api: Api) -> AsyncIterator[str]:
    name = f"elsewhere-{secrets.token_hex(4)}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    await api.delete(f"/api/v1/namespaces/{name}")


@pytest.mark.parametrize("kind", NEEDED)
async def test_a_uid_from_another_namespace_is_no_owner(jobs: Namespace, elsewhere: str, kind: str) -> None:
    body: dict[str, Any] = elastic("far") if kind == "PyTorchJob" else typical("far", kind)
    body["spec"]["runPolicy"]["suspend"] = True
    uid = (await jobs.api.create(jobs.jobs(kind), body))["metadata"]["uid"]
    labels = {"app": "far", "training.kubeflow.org/job-name": "far"}
    labels |= {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}
    owner = {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": "far", "uid": uid, "controller": True}
    planted = {}
    for resource, name in NEEDED[kind].items():
        path = f"{PATHS[resource]}/namespaces/{elsewhere}/{resource}"
        metadata = {"name": name, "labels": labels, "ownerReferences": [owner], "finalizers": [HELD]}
        planted[f"{path}/{name}"] = await jobs.api.create(path, {"metadata": metadata, **CONTENT.get(resource, {})})
    await jobs.api.patch(f"{jobs.jobs(kind)}/far", {"spec": {"runPolicy": {"suspend": False}}})
    await jobs.pods_reach("far", 2)

    async def own() -> bool:
        paths = [f"{PATHS[r]}/namespaces/{jobs.name}/{r}/{name}" for r, name in NEEDED[kind].items()]
        found = await asyncio.gather(*map(jobs.api.get, paths))
        return all(each and each["metadata"]["ownerReferences"][0]["uid"] == uid for each in found)

    await eventually(own, "the job has objects of its own")
    for path, before in planted.items():
        after = await jobs.api.call("GET", path)
        parts = ("spec", "data", "rules", "subjects")
        assert [after.get(part) for part in parts] == [before.get(part) for part in parts]
        await jobs.api.patch(path, {"metadata": {"finalizers": None}})
