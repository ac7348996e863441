"""Plays a case to an API server and writes down the answers, without what differs from run to run."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from e2e.fidelity.plain import Plain

Json = dict[str, Any]

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_NEXT = re.compile(r", (?=\d{3} )")
PATIENCE = 60.0
"""Seconds until something that must happen is given up; a real garbage collector looks for new kinds every 30 s."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came."""

    status: int
    body: Any
    warnings: tuple[str, ...] = ()


class Player:
    """Sends the requests of one case, in a namespace of its own."""

    def __init__(self, session: aiohttp.ClientSession, server: str, namespace: str) -> None:
        self._session = session
        self._server = server
        self.namespace = namespace
        self.transcript: list[Json] = []
        self.plain = Plain(namespace)

    async def get(self, path: str, accept: str = "application/json", **query: str) -> Answer:
        """GET an object or a list."""
        return await self._record("GET", path, query, accept=accept)

    async def post(self, path: str, body: Any, **query: str) -> Answer:
        """Create an object."""
        return await self._record("POST", path, query, body)

    async def put(self, path: str, body: Any, **query: str) -> Answer:
        """Replace an object."""
        return await self._record("PUT", path, query, body)

    async def patch(self, path: str, body: Any, content_type: str = MERGE, **query: str) -> Answer:
        """Change an object."""
        return await self._record("PATCH", path, query, body, content_type=content_type)

    async def delete(self, path: str, body: Any = None, **query: str) -> Answer:
        """Delete an object or a collection."""
        return await self._record("DELETE", path, query, body)

    async def send(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Answer:
        """Send a request with a body as it is, if it is bytes."""
        return await self._record(method, path, {}, body, content_type=content_type)

    async def quietly(
        self,
        method: str,
        path: str,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        **query: str,
    ) -> Answer:
        """Send a request that does not belong to what is compared."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": content_type, "Accept": accept}
        async with self._session.request(method, self._url(path), params=query, data=data, headers=headers) as response:
            # Several may stand in one header.
            warnings = tuple(each for line in response.headers.getall("Warning", ()) for each in _NEXT.split(line))
            return Answer(response.status, await _content(response), warnings)

    async def until(self, path: str, holds: Callable[[Answer], bool]) -> Answer:
        """Ask for `path` until the answer is as wanted; nothing is written down."""
        async with asyncio.timeout(PATIENCE):
            while not holds(answer := await self.quietly("GET", path)):  # noqa: ASYNC110  # a server is asked
                await asyncio.sleep(0.02)
        return answer

    async def until_gone(self, path: str) -> None:
        """Wait until there is no such object."""
        await self.until(path, lambda answer: answer.status == 404)

    @asynccontextmanager
    async def watch(self, path: str, **query: str) -> AsyncIterator[Events]:
        """Watch a collection; what the case takes of it is written down."""
        timeout = aiohttp.ClientTimeout(total=PATIENCE * 2)
        parameters = {"watch": "1", **query}
        async with self._session.get(self._url(path), params=parameters, timeout=timeout) as response:
            body = None if response.status == 200 else await _content(response)
            note = {"request": f"WATCH {path} {_shown(query)}", "status": response.status, "answer": body}
            self.transcript.append(self.plain(note))
            yield Events(response, self)

    async def rejected_watch(self, path: str, **query: str) -> None:
        """Ask for a watch of which nothing is taken."""
        async with self.watch(path, **query):
            pass

    async def note_names(self, what: str, path: str, **query: str) -> None:
        """Write down which objects a list has."""
        found = await self.quietly("GET", path, **query)
        self.note(what, [item["metadata"]["name"] for item in found.body["items"]])

    def note(self, what: str, value: Any) -> None:
        """Write down something that the case found out."""
        self.transcript.append(self.plain({"note": what, "value": value}))

    async def _record(self, method: str, path: str, query: Json, body: Any = None, **types: str) -> Answer:
        answer = await self.quietly(method, path, body, **types, **query)
        note = {"request": f"{method} {path} {_shown(query)}".strip(), "status": answer.status, "answer": answer.body}
        if answer.warnings:
            note["warnings"] = list(answer.warnings)
        self.transcript.append(self.plain(note))
        return answer

    def _url(self, path: str) -> str:
        if path.startswith("/"):
            return self._server + path
        if path.startswith("widgets"):
            return f"{self._server}/apis/fidelity.example.com/v1/namespaces/{self.namespace}/{path}"
        return f"{self._server}/api/v1/namespaces/{self.namespace}/{path}"


class Events:
    """The events of one watch."""

    def __init__(self, response: aiohttp.ClientResponse, player: Player) -> None:
        self._response = response
        self._player = player

    async def take(self, number: int) -> list[Json]:
        """Write down the next events."""
        events: list[Json] = []
        async with asyncio.timeout(PATIENCE):
            while len(events) < number:
                line = await self._response.content.readline()
                if not line:
                    break
                events.append(json.loads(line))
        self._player.note("events", events)
        return events

    async def end(self) -> None:
        """Write down all events until the server ends the watch."""
        await self.take(1000)
        self._player.note("the watch has ended", True)


async def _content(response: aiohttp.ClientResponse) -> Any:
    text = await response.text()
    if response.content_type == "application/json":
        return json.loads(text)
    return text


def _shown(query: Json) -> str:
    shown = {name: value for name, value in query.items() if name != "continue"}
    if shown.get("resourceVersion", "0") != "0" and shown["resourceVersion"].isdigit():
        shown["resourceVersion"] = "<version>"
    return " ".join(f"{name}={value}" for name, value in shown.items())


@asynccontextmanager
async def session_of(kubeconfig: Path) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """A session and the URL of the server that a kubeconfig means."""
    config = yaml.safe_load(kubeconfig.read_text())  # noqa: ASYNC240  # a small local file, before anything runs
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    inline = cluster.get("certificate-authority-data")
    context = ssl.create_default_context(
        cafile=cluster.get("certificate-authority"), cadata=base64.b64decode(inline).decode() if inline else None
    )
    headers = {"Authorization": f"Bearer {user['token']}"}
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(connector=connector, headers=headers, auto_decompress=True) as session:
        yield session, cluster["server"]
