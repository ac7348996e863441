"""The client kubernetes-asyncio, unmodified, against the local API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from e2e.support.embedded import embedded
from e2e.support.objects import pod
from e2e.support.widgets import WIDGETS, widget
from kubernetes_asyncio import client, config, dynamic, watch


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
