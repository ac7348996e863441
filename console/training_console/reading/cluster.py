"""A cluster as viewers may read it: each has connections and feeds of their own, for as long as they look."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from training_console.reading.feeds import Feeds, NoAnswer, NotAllowed
from training_console.reading.positions import Positions
from training_console.reading.training import TrainingSeen
from training_console.reading.viewers import Viewer
from training_local.run.watching import message_of
from training_operator.kube.client import KubeClient
from training_operator.kube.config import ClusterConfig
from training_operator.kube.flow import FairGate
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Request, Response, Stream, Transport

IDLE_SECONDS: Final = 60.0
"""What is known for a viewer without an open page is kept so long."""
MOST_VIEWERS: Final = 500
MOST_PAGES: Final = 50
"""Of one viewer, open at once."""
CONNECTIONS: Final = 64
"""Of one viewer: watches, logs that are followed, requests."""


class TooManyViewers(Exception):
    """There is no room for another viewer."""


class ReadOnly:
    """A transport that lets nothing through but GET."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def request(self, request: Request) -> Response:
        """Send a request that reads."""
        self._check(request)
        return await self._transport.request(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send a request that reads, and hand out its answer line by line."""
        self._check(request)
        async with self._transport.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    @staticmethod
    def _check(request: Request) -> None:
        if request.method != "GET" or request.body is not None:
            raise PermissionError(f"the console is read-only; {request.method} {request.path} was not sent")


class OfOneName:
    """A transport that lists and watches the objects of one name only: the API server sends no others."""

    def __init__(self, transport: Transport, name: str) -> None:
        self._transport, self._chosen = transport, {"fieldSelector": f"metadata.name={name}"}

    async def request(self, request: Request) -> Response:
        """Send a request for these."""
        return await self._transport.request(msgspec.structs.replace(request, query={**request.query, **self._chosen}))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Send a request for these, and hand out its answer line by line."""
        async with self._transport.stream(
            msgspec.structs.replace(request, query={**request.query, **self._chosen})
        ) as stream:
            yield stream

    async def close(self) -> None:
        """Leave the connections to their owner."""


class Reader:
    """What one viewer may read."""

    def __init__(self, transport: Transport) -> None:
        self.transport: Transport = ReadOnly(transport)
        self.feeds = Feeds(self._client)
        self.positions = Positions(self.get)
        self.training = TrainingSeen()
        self.pages = 0
        self.closing: asyncio.TimerHandle | None = None

    def _client(self, name: str) -> KubeClient:
        return KubeClient(OfOneName(self.transport, name) if name else self.transport, FairGate(), random.Random())

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any] | None:
        """Return the object or list at `path`, None if there is none; raises `NotAllowed` and `NoAnswer`."""
        try:
            answer = await self.transport.request(Request("GET", path, query or {}))
        except OSError as error:
            raise NoAnswer(f"The API server does not respond: {error or type(error).__name__}") from None
        if answer.status == 404:
            return None
        if answer.status in (401, 403):
            raise NotAllowed(message_of(answer))
        if answer.status != 200:
            raise NoAnswer(message_of(answer))
        found: dict[str, Any] = json.loads(answer.body)
        return found

    async def close(self) -> None:
        """End all watches and connections."""
        await self.feeds.close()
        await self.transport.close()


def over_http(config: ClusterConfig) -> Callable[[Viewer], Transport]:
    """Return how viewers are connected to an API server."""
    return lambda viewer: HttpTransport(viewer.access(config), CONNECTIONS)


class Cluster:
    """Readers by viewer."""

    def __init__(self, connect: Callable[[Viewer], Transport]) -> None:
        self._connect = connect
        self._readers: dict[str, Reader] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def reader(self, viewer: Viewer) -> AsyncIterator[Reader]:
        """Hand out the reader of a viewer; raises `TooManyViewers`."""
        key = viewer.key
        if key not in self._readers:
            if len(self._readers) >= MOST_VIEWERS:
                raise TooManyViewers("There are too many viewers at the moment: try again in a minute.")
            self._readers[key] = Reader(self._connect(viewer))
        reader = self._readers[key]
        if reader.pages >= MOST_PAGES:
            raise TooManyViewers(f"You have {MOST_PAGES} pages open: close some of them.")
        reader.pages += 1
        if reader.closing is not None:
            reader.closing.cancel()
            reader.closing = None
        try:
            yield reader
        finally:
            reader.pages -= 1
            if not reader.pages and self._readers.get(key) is reader:
                reader.closing = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end, key)

    async def greet(self, viewer: Viewer) -> None:
        """See whether the server takes the viewer, and keep nothing of them; raises `NotAllowed` and `NoAnswer`."""
        reader = Reader(self._connect(viewer))
        try:
            await reader.get("/version")
        finally:
            await reader.close()

    def _end(self, key: str) -> None:
        task = asyncio.create_task(self._readers.pop(key).close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all that is open."""
        readers = list(self._readers.values())
        self._readers.clear()
        for reader in readers:
            if reader.closing is not None:
                reader.closing.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*(reader.close() for reader in readers), *self._ending)
