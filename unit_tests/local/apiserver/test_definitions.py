"""What goes with a definition that changes or is deleted: watches, objects, and what these own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from e2e.support.api_client import Client, virtual_now

from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import MERGE_PATCH

pytestmark = pytest.mark.virtual_time

DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toys.example.com"
TOYS = "/apis/example.com/v1/namespaces/default/toys"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
V1 = {"name": "v1", "served": True, "storage": True, "schema": SCHEMA}


@asynccontextmanager
async def server_with_toys() -> AsyncIterator[Client]:
    server = ApiServer(BUILTIN, crd_types, now=virtual_now, rng=Random(1))
    names = {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [V1]}
    async with server.running():
        client = Client(server)
        status, _ = await client.call(
            "POST",
            DEFINITION.rpartition("/")[0],
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "toys.example.com"},
                "spec": spec,
            },
        )
        assert status == 201
        await asyncio.sleep(5)
        yield client


async def create_toy(client: Client, name: str = "a") -> Any:
    body = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": name}}
    status, toy = await client.call("POST", TOYS, body)
    assert status == 201, toy
    return toy


async def patch(client: Client, body: Any) -> None:
    status, answer = await client.call("PATCH", DEFINITION, json.dumps(body).encode(), MERGE_PATCH)
    assert status == 200, answer


async def stored_hash(client: Client) -> str:
    _, listed = await client.call("GET", "/apis/example.com/v1")
    return str(next(each["storageVersionHash"] for each in listed["resources"] if each["name"] == "toys"))


async def test_watches_end_with_a_change_of_the_definition_and_with_nothing_less() -> None:
    async with server_with_toys() as client, client.watch(TOYS, timeoutSeconds="3600") as events:
        begun = asyncio.get_running_loop().time()
        await patch(client, {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(60)
        await create_toy(client)
        await patch(client, {"spec": {"versions": [{**V1, "subresources": {"status": {}}}]}})
        assert [event["type"] async for event in events] == ["ADDED"]
        assert 60 <= asyncio.get_running_loop().time() - begun < 70


async def test_watches_end_with_the_definition() -> None:
    async with server_with_toys() as client, client.watch(TOYS, timeoutSeconds="3600") as events:
        await create_toy(client)
        await client.call("DELETE", DEFINITION)
        assert [event["type"] async for event in events] == ["ADDED", "DELETED"]
        assert asyncio.get_running_loop().time() < 60


async def test_what_objects_of_a_deleted_definition_own_goes_with_them() -> None:
    async with server_with_toys() as client:
        toy = await create_toy(client)
        owner = {"apiVersion": "example.com/v1", "kind": "Toy", "name": "a", "uid": toy["metadata"]["uid"]}
        stranger = {"apiVersion": "example.com/v1", "kind": "Unserved", "name": "b", "uid": "unheard-of"}
        await client.create(CONFIG_MAPS, "owned", metadata={"ownerReferences": [owner]})
        await client.create(CONFIG_MAPS, "on-trust", metadata={"ownerReferences": [stranger]})
        await client.call("DELETE", DEFINITION)
        await asyncio.sleep(10)
        assert "owned" not in await client.names(CONFIG_MAPS)
        assert "on-trust" in await client.names(CONFIG_MAPS)


async def test_discovery_shows_which_version_is_stored() -> None:
    async with server_with_toys() as client:
        first = await stored_hash(client)
        versions = [{**V1, "storage": False}, {**V1, "name": "v2"}]
        await patch(client, {"spec": {"versions": versions}})
        await asyncio.sleep(5)
        assert await stored_hash(client) != first
