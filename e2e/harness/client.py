"""A JSON client of the Kubernetes API for tests: paths in, dictionaries out, nothing of the product in between."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from kubernetes_asyncio import client, config

Object = dict[str, Any]
T = TypeVar("T")

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"


class ApiError(Exception):
    """A rejection of the API server."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"{status} {body.get('reason', '')}: {body.get('message', '')}")
        self.status = status
        """HTTP status."""
        self.reason: str = body.get("reason", "")
        self.message: str = body.get("message", "")


class Api:
    """Requests to one API server as one user."""

    def __init__(self, connection: client.ApiClient) -> None:
        self._session: aiohttp.ClientSession = connection.rest_client.pool_manager
        self._connection = connection
        self._server = str(connection.configuration.host)
        self._user: dict[str, str] = {}

    def acting_as(self, user: str) -> Api:
        """The same server, as it answers another user, whom this one may impersonate."""
        other = copy(self)
        other._user = {"Impersonate-User": user}
        return other

    async def call(self, method: str, path: str, body: Object | None = None, content_type: str = JSON) -> Object:
        """Send a request to `path` (query included) and return the answered object; raises `ApiError`."""
        data = None if body is None else json.dumps(body).encode()
        async with self._answer(method, path, 60, data, content_type) as answer:
            text = await answer.read()
            return json.loads(text) if text else {}

    async def text(self, path: str) -> str:
        """What the server answers at `path` as plain text, such as a log."""
        async with self._answer("GET", path, 60) as answer:
            return await answer.text(errors="replace")

    async def get(self, path: str) -> Object | None:
        """The object or list at `path`, None if there is none."""
        try:
            return await self.call("GET", path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def create(self, path: str, body: Object) -> Object:
        """Create an object in the collection `path`."""
        return await self.call("POST", path, body)

    async def patch(self, path: str, body: Object) -> Object:
        """Apply a JSON merge patch."""
        return await self.call("PATCH", path, body, MERGE_PATCH)

    async def delete(self, path: str, propagation: str = "Background") -> None:
        """Delete the object at `path`; no error if there is none."""
        try:
            await self.call("DELETE", path, {"propagationPolicy": propagation})
        except ApiError as error:
            if error.status != 404:
                raise

    async def gone(self, path: str) -> None:
        """Wait until there is nothing at `path`."""

        async def absent() -> bool:
            return await self.get(path) is None

        await eventually(absent, f"the end of {path}")

    async def watch(self, path: str, version: str = "") -> AsyncIterator[Object]:
        """Events of a collection after `version`, or first one for each object there is, until the server ends it."""
        async with self._answer("GET", f"{path}?watch=1&resourceVersion={version}", None) as answer:
            async for line in answer.content:
                yield json.loads(line)

    @asynccontextmanager
    async def _answer(
        self, method: str, path: str, limit: float | None, data: bytes | None = None, content_type: str = JSON
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer to a request, repeated while the server asks to come back later."""
        while True:
            async with self._session.request(
                method,
                self._server + path,
                headers={**await self._credentials(), **self._user, "Content-Type": content_type},
                data=data,
                timeout=aiohttp.ClientTimeout(total=limit),
                proxy=self._connection.configuration.proxy,
            ) as answer:
                if answer.status < 400:
                    yield answer
                    return
                if answer.status != 429:
                    raise ApiError(answer.status, _error_body(await answer.read()))
            await asyncio.sleep(1)

    async def _credentials(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        await self._connection.update_params_for_auth(headers, [], ["BearerToken"])
        return headers


def _error_body(text: bytes) -> Object:
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {"message": text.decode(errors="replace")}


@asynccontextmanager
async def connect(kubeconfig: Path) -> AsyncIterator[Api]:
    """A client for the current context of `kubeconfig`."""
    async with await config.new_client_from_config(config_file=str(kubeconfig)) as connection:
        yield Api(connection)


async def eventually(check: Callable[[], Awaitable[T | None]], what: str, limit: float = 30.0, poll: float = 0.1) -> T:
    """The first answer of `check` that is neither None nor False; an assertion error after `limit` seconds."""
    deadline = time.monotonic() + limit
    while not (answer := await check()):
        assert time.monotonic() < deadline, f"not within {limit:.0f} s: {what}"
        await asyncio.sleep(poll)
    return answer
