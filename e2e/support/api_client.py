"""A client of an API server in the same process, and a server in virtual time, for tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import JSON, Request

Json = dict[str, Any]
POD_SPEC: Json = {"containers": [{"name": "c", "image": "i"}]}
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)


def virtual_now() -> datetime:
    return BEGINNING + timedelta(seconds=asyncio.get_running_loop().time())


class Client:
    """Requests with objects instead of bytes."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.transport = InMemoryTransport(server)

    async def call(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, **query: str
    ) -> tuple[int, Any]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        answer = await self.transport.request(Request(method, path, query, data, content_type))
        is_json = answer.headers.get("content-type") == JSON
        return answer.status, json.loads(answer.body) if is_json else answer.body

    async def create(self, path: str, name: str, **more: Any) -> Json:
        meta = {"name": name, **more.pop("metadata", {})}
        if path.endswith("/pods"):
            more["spec"] = {**POD_SPEC, **more.get("spec", {})}
        status, obj = await self.call("POST", path, {"metadata": meta, **more})
        assert status == 201, obj
        return dict(obj)

    async def names(self, path: str, **query: str) -> list[str]:
        status, found = await self.call("GET", path, **query)
        assert status == 200, found
        return [item["metadata"]["name"] for item in found["items"]]

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator[AsyncIterator[Json]]:
        request = Request("GET", path, {"watch": "1", **query}, timeout=1e9)
        async with self.transport.stream(request) as stream:
            assert stream.status == 200, stream.body
            yield _decoded(stream.lines)


async def _decoded(lines: AsyncIterator[bytes]) -> AsyncIterator[Json]:
    async for line in lines:
        yield json.loads(line)


@asynccontextmanager
async def virtual_server() -> AsyncIterator[Client]:
    """A server whose clock is the loop's."""
    server = ApiServer(BUILTIN, lambda definition: (), now=virtual_now, rng=Random(1))
    async with server.running():
        client = Client(server)
        await client.create("/api/v1/namespaces", "n")
        await asyncio.sleep(1)
        yield client
