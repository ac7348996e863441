"""Volume claims are folders that pods of a namespace share."""

from __future__ import annotations

import asyncio
from typing import Any

from e2e.support.local_node import DEFAULT, Cluster, pod

CLAIM = f"{DEFAULT}/persistentvolumeclaims"
USED: dict[str, Any] = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
MOUNTED: dict[str, Any] = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}


async def claim(cluster: Cluster, **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"storage": "5Gi"}}
    body = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"], "resources": resources, **spec}}
    return await cluster.api.request("POST", CLAIM, body)


async def test_pods_share_the_folder_of_a_claim(cluster: Cluster) -> None:
    # The first pod comes before the claim, and waits for it.
    container = MOUNTED | {"env": [{"name": "WHERE", "value": "/data"}]}
    await cluster.api.create("pods", pod("writer", "sh", "-c", "echo kept > $WHERE/file", container=container, **USED))
    missing = '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
    await cluster.api.until(lambda: ("writer", "Warning", "FailedScheduling", missing) in cluster.api.events)
    made = await claim(cluster, storageClassName="fast")
    assert (await cluster.api.ended("writer"))["phase"] == "Succeeded"
    stored = await cluster.api.request("GET", f"{CLAIM}/data")
    assert stored["status"] == {
        "phase": "Bound",
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "5Gi"},
    }
    assert stored["spec"]["volumeName"] == f"pvc-{made['metadata']['uid']}"
    status = await cluster.run("reader", "sh", "-c", "cat $WHERE/file", container=container, **USED)
    assert status["phase"] == "Succeeded"
    assert await cluster.log("reader") == "kept\n"


async def test_the_data_goes_with_the_claim_when_no_pod_uses_it(on_host: Cluster) -> None:
    made = await claim(on_host)
    folder = on_host.state / "claims" / made["metadata"]["uid"]
    await on_host.api.create("pods", pod("user", "sh", "-c", "exec sleep 60 # /data", container=MOUNTED, **USED))
    await on_host.api.running("user")
    assert folder.is_dir()
    await on_host.api.request("DELETE", f"{CLAIM}/data")
    await on_host.run("other", "true")
    assert folder.is_dir()
    await on_host.api.delete("user", grace=0)
    await on_host.api.gone("user")
    async with asyncio.timeout(20):
        while folder.exists():  # noqa: ASYNC110 - no event reports that a folder is gone
            await asyncio.sleep(0.02)


async def test_a_claim_mounted_to_be_read_only(sandboxed: Cluster) -> None:
    await claim(sandboxed)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}]
    status = await sandboxed.run("reader", "sh", "-c", "echo no > /data/file", container=MOUNTED, volumes=volumes)
    assert status["phase"] == "Failed"


async def test_an_ephemeral_volume_is_the_pods_own(sandboxed: Cluster) -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [{"name": "data", "ephemeral": {"volumeClaimTemplate": template}}]
    status = await sandboxed.run("own", "sh", "-c", "echo yes > /data/file", container=MOUNTED, volumes=volumes)
    assert status["phase"] == "Succeeded"
