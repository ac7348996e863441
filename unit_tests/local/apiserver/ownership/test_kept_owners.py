"""Owners of fields survive a restart on a folder of state, and are forgotten with their object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from e2e.support.api_client import Client
from unit_tests.local.apiserver.test_journal import CONFIG_MAPS, life

from training_local.apiserver.journal import Journal
from training_local.apiserver.ownership.apply import APPLY_PATCH
from training_local.apiserver.ownership.tracker import NOTES_LIMIT

ONE = f"{CONFIG_MAPS}/a"
Json = dict[str, Any]


def config(**data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


async def owners(client: Client) -> Any:
    return (await client.call("GET", ONE))[1]["metadata"].get("managedFields")


async def test_noted_and_applied_writes(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.call("POST", CONFIG_MAPS, config(x="1", y="2"), fieldManager="creator")
        await client.call("PATCH", ONE, {"data": {"y": "3"}}, "application/merge-patch+json", fieldManager="patcher")
    with life(tmp_path) as client:
        noted = await owners(client)
        status, rejected = await client.call("PATCH", ONE, config(y="4"), APPLY_PATCH, fieldManager="applier")
        await client.call("PATCH", ONE, config(x="1"), APPLY_PATCH, fieldManager="applier")
        await client.call("PATCH", ONE, {"data": {"z": "1"}}, "application/merge-patch+json", fieldManager="patcher")
        before = await owners(client)
    with life(tmp_path) as client:
        assert await owners(client) == before
    assert [(entry["manager"], entry["fieldsV1"]) for entry in noted] == [
        ("creator", {"f:data": {".": {}, "f:x": {}}}),
        ("patcher", {"f:data": {"f:y": {}}}),
    ]
    assert (status, rejected["details"]["causes"][0]["field"]) == (409, ".data.y")
    assert [entry["manager"] for entry in before] == ["applier", "creator", "patcher"]


async def test_entries_of_requests(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.call("POST", CONFIG_MAPS, config(x="1"), fieldManager="creator")
        renamed = [{**(await owners(client))[0], "manager": "renamed"}]
        change = {"metadata": {"managedFields": renamed}}
        await client.call("PATCH", ONE, change, "application/merge-patch+json", fieldManager="other")
    with life(tmp_path) as client:
        assert await owners(client) == renamed


async def test_more_writes_than_are_noted(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.call("POST", CONFIG_MAPS, config(x="1"), fieldManager="creator")
        for number in range(NOTES_LIMIT + 3):
            change = {"data": {f"k{number}": "1"}}
            await client.call("PATCH", ONE, change, "application/merge-patch+json", fieldManager="patcher")
        before = await owners(client)
    with life(tmp_path) as client:
        assert await owners(client) == before
        assert len(before[1]["fieldsV1"]["f:data"]) == NOTES_LIMIT + 3


async def test_a_new_object_of_the_same_name(tmp_path: Path) -> None:
    with life(tmp_path) as client:
        await client.call("POST", CONFIG_MAPS, config(x="1"), fieldManager="creator")
        await client.call("DELETE", ONE)
        await client.call("POST", CONFIG_MAPS, config(y="1"), fieldManager="second")
        before = await owners(client)
    with life(tmp_path) as client:
        assert await owners(client) == before
        assert [entry["manager"] for entry in before] == ["second"]
    with Journal.open(tmp_path) as journal:
        assert [note.origin.manager for _, note in journal.notes()] == ["second"]
