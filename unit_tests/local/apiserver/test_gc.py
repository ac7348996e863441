"""Garbage collection of whole families, and deletion over time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from e2e.support.api_client import Client, virtual_server
from e2e.support.profiles import tries
from e2e.support.virtual_time import VirtualLoop
from hypothesis import given, settings
from hypothesis import strategies as st

PATH = "/api/v1/namespaces/n/configmaps"
PARENTS = st.lists(st.lists(st.integers(0, 30), max_size=2), min_size=1, max_size=12)
PROPAGATION = st.sampled_from(["Background", "Foreground", "Orphan"])


async def _family(client: Client, parents: Sequence[Sequence[int]]) -> list[set[int]]:
    """Create objects, each owned by some of those before it; returns the owners of each."""
    uids: list[str] = []
    owners: list[set[int]] = []
    for number, wanted in enumerate(parents):
        mine = {each % number for each in wanted} if number else set()
        references = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": f"o{each}", "uid": uids[each], "blockOwnerDeletion": True}
            for each in sorted(mine)
        ]
        created = await client.create(PATH, f"o{number}", metadata={"ownerReferences": references})
        uids.append(created["metadata"]["uid"])
        owners.append(mine)
    return owners


def _survivors(owners: list[set[int]], propagation: str) -> set[int]:
    """Objects that still have an owner, or never had one, once the first object is gone."""
    left = set(range(1, len(owners)))
    if propagation == "Orphan":
        return left
    while lost := {each for each in left if owners[each] and not owners[each] & left}:
        left -= lost
    return left


@given(PARENTS, PROPAGATION)
@settings(max_examples=tries(20), deadline=None)
def test_what_has_lost_all_its_owners_goes(parents: list[list[int]], propagation: str) -> None:
    async def scenario() -> None:
        async with virtual_server() as client:
            owners = await _family(client, parents)
            await client.call("DELETE", f"{PATH}/o0", {"propagationPolicy": propagation})
            await asyncio.sleep(1)
            left = {name for name in await client.names(PATH) if name.startswith("o")}
            assert left == {f"o{each}" for each in _survivors(owners, propagation)}
            _, listed = await client.call("GET", PATH)
            for item in listed["items"]:
                references: list[Any] = item["metadata"].get("ownerReferences", [])
                assert all(reference["name"] in left for reference in references)
                assert "finalizers" not in item["metadata"]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(scenario())


@pytest.mark.virtual_time
async def test_an_owner_in_another_namespace_does_not_count() -> None:
    async with virtual_server() as client:
        await client.create("/api/v1/namespaces", "m")
        owner = await client.create("/api/v1/namespaces/m/configmaps", "owner")
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        await client.create(PATH, "a", metadata={"ownerReferences": [reference]})
        await asyncio.sleep(1)
        assert "a" not in await client.names(PATH)


@pytest.mark.virtual_time
async def test_a_shortened_grace_counts_from_the_first_deletion() -> None:
    path = "/api/v1/namespaces/n/pods"
    async with virtual_server() as client:
        await client.create(path, "a", spec={"nodeName": "n1"})
        _, marked = await client.call("DELETE", f"{path}/a", {"gracePeriodSeconds": 60})
        assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:01:01Z"
        await asyncio.sleep(10)
        _, marked = await client.call("DELETE", f"{path}/a", {"gracePeriodSeconds": 20})
        assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:21Z"
        assert marked["metadata"]["deletionGracePeriodSeconds"] == 20


@pytest.mark.virtual_time
async def test_a_namespace_with_much_in_it_goes_and_can_come_back() -> None:
    async with virtual_server() as client:
        for number in range(200):
            await client.create(PATH, f"c{number}")
        await client.call("DELETE", "/api/v1/namespaces/n")
        await asyncio.sleep(1)
        assert "n" not in await client.names("/api/v1/namespaces")
        await client.create("/api/v1/namespaces", "n")
        await asyncio.sleep(1)
        assert await client.names(PATH) == ["kube-root-ca.crt"]
