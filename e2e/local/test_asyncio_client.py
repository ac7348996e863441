"""The client kubernetes-asyncio, unmodified, against the local API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from e2e.support.embedded import embedded
from e2e.support.objects import config_map, pod
from e2e.support.widgets import WIDGETS, widget
from kubernetes_asyncio import client, config, dynamic, utils, watch
from kubernetes_asyncio.leaderelection.electionconfig import Config
from kubernetes_asyncio.leaderelection.leaderelection import LeaderElection
from kubernetes_asyncio.leaderelection.resourcelock.leaselock import LeaseLock


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[client.ApiClient]:
    """A client of a server of its own."""
    async with (
        embedded(tmp_path) as (_, kubeconfig),
        await config.new_client_from_config(str(kubeconfig)) as connection,
    ):
        yield connection


async def test_core_objects_and_a_watch(api: client.ApiClient) -> None:
    core = client.CoreV1Api(api)
    await core.create_namespaced_pod("default", pod("p"))
    seen: list[tuple[str, str]] = []
    async with watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=20) as events:
        async for event in events:
            found = event["object"]
            seen.append((event["type"], found.status.phase))
            if event["type"] == "ADDED":
                await core.patch_namespaced_pod_status("p", "default", {"status": {"phase": "Running"}})
            elif event["type"] == "DELETED":
                break
            elif found.metadata.deletion_timestamp is None:
                await core.delete_namespaced_pod("p", "default")
    # A deletion shows twice: as a mark, and when it is done.
    assert seen == [("ADDED", "Pending"), *[("MODIFIED", "Running")] * 2, ("DELETED", "Running")]


async def test_pages_patches_and_errors(api: client.ApiClient) -> None:
    core = client.CoreV1Api(api)
    for name in "abc":
        await core.create_namespaced_config_map("default", config_map(name))
    page = await core.list_namespaced_config_map("default", limit=2, field_selector="metadata.name!=kube-root-ca.crt")
    assert [each.metadata.name for each in page.items] == ["a", "b"]
    rest = await core.list_namespaced_config_map("default", limit=2, _continue=page.metadata._continue)
    assert "c" in [each.metadata.name for each in rest.items]
    changed = await core.patch_namespaced_config_map("a", "default", {"data": {"b": "2"}})
    assert changed.data == {"a": "1", "b": "2"}
    with pytest.raises(client.ApiException) as caught:
        await core.create_namespaced_config_map("default", config_map("a"))
    assert (caught.value.status, caught.value.reason) == (409, "Conflict")


async def test_custom_objects_by_both_ways(api: client.ApiClient) -> None:
    await client.ApiextensionsV1Api(api).create_custom_resource_definition(WIDGETS)
    custom, where = client.CustomObjectsApi(api), ("fidelity.example.com", "v1", "default", "widgets")
    async with asyncio.timeout(10):
        while True:
            try:
                await custom.create_namespaced_custom_object(*where, widget("w"))
                break
            except client.ApiException:  # not served yet
                await asyncio.sleep(0.01)
    change = {"status": {"phase": "Round"}}
    merge = "application/merge-patch+json"  # the client would take the first kind that it knows
    await custom.patch_namespaced_custom_object_status(*where, "w", change, _content_type=merge)
    found = await custom.get_namespaced_custom_object(*where, "w")
    assert (found["spec"]["color"], found["status"]["phase"]) == ("red", "Round")
    async with dynamic.DynamicClient(api) as anything:
        widgets = await anything.resources.get(api_version="fidelity.example.com/v1", kind="Widget")
        listed = await widgets.get(namespace="default")
        assert [each.metadata.name for each in listed.items] == ["w"]
        await widgets.delete(name="w", namespace="default")
        assert (await widgets.get(namespace="default")).items == []


async def test_objects_from_yaml(api: client.ApiClient, tmp_path: Path) -> None:
    (tmp_path / "objects.yaml").write_text(yaml.safe_dump_all([config_map("a"), pod("p")]))
    await utils.create_from_yaml(api, str(tmp_path / "objects.yaml"))
    assert (await client.CoreV1Api(api).read_namespaced_pod("p", "default")).status.phase == "Pending"


async def test_a_leader_is_followed_by_another(api: client.ApiClient) -> None:
    leaders: asyncio.Queue[str] = asyncio.Queue()

    def candidate(name: str) -> asyncio.Task[None]:
        async def lead() -> None:
            await leaders.put(name)

        async def stop() -> None:
            await leaders.put(f"{name} no more")

        lock = LeaseLock("lock", "default", name, api)
        return asyncio.create_task(LeaderElection(Config(lock, 3, 2, 1, lead, stop)).run())

    first = candidate("first")
    assert await leaders.get() == "first"
    second = candidate("second")
    coordination = client.CoordinationV1Api(api)
    assert (await coordination.read_namespaced_lease("lock", "default")).spec.holder_identity == "first"
    first.cancel()
    await coordination.delete_namespaced_lease("lock", "default")
    async with asyncio.timeout(10):
        assert await leaders.get() == "second"
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
