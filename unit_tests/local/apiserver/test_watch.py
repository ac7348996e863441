"""Watches over time: bookmarks, ends, compaction, slow clients."""

from __future__ import annotations

import asyncio

import pytest
from e2e.support.api_client import Client, virtual_now, virtual_server

from training_local.apiserver import watch as watches
from training_local.apiserver.options import ListOptions
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.types import BUILTIN
from training_local.apiserver.watch import Watch

pytestmark = pytest.mark.virtual_time

PODS = next(each for each in BUILTIN if each.plural == "pods")
POD_PATH = "/api/v1/namespaces/n/pods"


async def _pods_version(client: Client) -> str:
    _, listed = await client.call("GET", POD_PATH)
    return str(listed["metadata"]["resourceVersion"])


async def test_bookmarks_have_the_latest_version_of_all_resources() -> None:
    async with virtual_server() as client, client.watch(POD_PATH, allowWatchBookmarks="true") as events:
        begun = asyncio.get_running_loop().time()
        other = await client.create("/api/v1/namespaces/n/configmaps", "other")
        bookmark = await anext(events)
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["metadata"]["resourceVersion"] == other["metadata"]["resourceVersion"]
        assert asyncio.get_running_loop().time() - begun == watches.BOOKMARK_SECONDS
        assert (await anext(events))["type"] == "BOOKMARK"
        assert asyncio.get_running_loop().time() - begun == 2 * watches.BOOKMARK_SECONDS


async def test_a_watch_ends_after_its_time() -> None:
    async with virtual_server() as client:
        begun = asyncio.get_running_loop().time()
        async with client.watch(POD_PATH, timeoutSeconds="300") as events:
            await client.create(POD_PATH, "a")
            assert [event["type"] async for event in events] == ["ADDED"]
        assert asyncio.get_running_loop().time() - begun == 300


async def test_a_watch_without_a_time_ends_between_30_and_60_minutes() -> None:
    async with virtual_server() as client:
        begun = virtual_now()
        async with client.watch(POD_PATH) as events:
            assert [event async for event in events] == []
        assert 1800 <= (virtual_now() - begun).total_seconds() <= 3600


async def test_a_forgotten_version_is_an_error_event() -> None:
    async with virtual_server() as client:
        version = await _pods_version(client)
        await client.create(POD_PATH, "a")
        client.server.state.storage.compact(client.server.state.storage.version)
        async with client.watch(POD_PATH, resourceVersion=version) as events:
            seen = [event async for event in events]
        assert [(event["type"], event["object"]["code"], event["object"]["reason"]) for event in seen] == [
            ("ERROR", 410, "Expired")
        ]
        assert seen[0]["object"]["message"].startswith(f"too old resource version: {version} (")


async def test_a_list_whose_version_is_forgotten_can_go_on_inconsistently() -> None:
    async with virtual_server() as client:
        for name in "abcd":
            await client.create(POD_PATH, name)
        _, first = await client.call("GET", POD_PATH, limit="2")
        await client.call("DELETE", f"{POD_PATH}/d")
        client.server.state.storage.compact(client.server.state.storage.version)
        status, gone = await client.call("GET", POD_PATH, **{"continue": first["metadata"]["continue"]})
        assert (status, gone["reason"]) == (410, "Expired")
        assert await client.names(POD_PATH, **{"continue": gone["metadata"]["continue"]}) == ["c"]


async def test_an_exact_list_of_a_forgotten_version_is_gone() -> None:
    async with virtual_server() as client:
        version = await _pods_version(client)
        await client.create(POD_PATH, "a")
        client.server.state.storage.compact(client.server.state.storage.version)
        status, gone = await client.call("GET", POD_PATH, resourceVersion=version, resourceVersionMatch="Exact")
        assert (status, gone["message"]) == (410, "The resourceVersion for the provided list is too old.")


async def test_what_has_a_name_of_an_earlier_list_is_deleted_and_what_has_gone_is_passed_over() -> None:
    """As a real API server does: its list is of that version, its deletions are by name."""
    path = POD_PATH.replace("pods", "secrets")
    async with virtual_server() as client:
        created = [await client.create(path, name) for name in "abc"]
        for name in "ab":
            await client.call("DELETE", f"{path}/{name}")
        for name in "bd":
            await client.create(path, name)
        exact = {"resourceVersion": created[-1]["metadata"]["resourceVersion"], "resourceVersionMatch": "Exact"}
        status, listed = await client.call("DELETE", path, {"propagationPolicy": "Background"}, **exact)
        assert (status, [each["metadata"]["name"] for each in listed["items"]]) == (200, ["a", "b", "c"])
        assert await client.names(path) == ["d"]


async def test_a_change_becomes_one_line_for_all_watches() -> None:
    async with virtual_server() as client:
        state = client.server.state
        options = ListOptions.of({"watch": "1", "resourceVersion": await _pods_version(client)})
        several = [Watch(state, RequestInfo(PODS, "n"), options, None) for _ in range(3)]
        await client.create(POD_PATH, "a")
        lines = [(await anext(each.batches()))[0] for each in several]
        assert lines[0] is lines[1] is lines[2]
        for each in several:
            each.close()


async def test_a_client_that_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "PENDING_LINES", 3)
    async with virtual_server() as client:
        options = ListOptions.of({"watch": "1"})
        idle = Watch(client.server.state, RequestInfo(PODS, "n"), options, None)
        for name in "abcdef":
            await client.create(POD_PATH, name)
        lines = [line async for batch in idle.batches() for line in batch]
        assert len(lines) == 4
        assert not client.server.state.storage.collection(("", "pods")).subscribers
