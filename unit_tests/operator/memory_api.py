"""The embedded API server with the builtin types, as a transport that can be silenced."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from unit_tests.operator.scripted_api import rejection

from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_operator.kube.client import KubeClient
from training_operator.kube.flow import FairGate
from training_operator.kube.transport import Request, Response, Stream


def now() -> datetime:
    """Return the wall clock of a test in virtual time."""
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=asyncio.get_running_loop().time())


class MemoryApi:
    """An API server that records its requests."""

    def __init__(self) -> None:
        self.server = ApiServer(BUILTIN, lambda definition: [], now=now, rng=random.Random(1))

    def network(self) -> Network:
        """Return a new connection to the server."""
        return Network(InMemoryTransport(self.server))

    async def read(self, path: str) -> Any:
        answer = await InMemoryTransport(self.server).request(Request("GET", path))
        return json.loads(answer.body)


class Network:
    """A transport between one process and the server."""

    def __init__(self, inner: InMemoryTransport) -> None:
        self.inner = inner
        self.down = False
        self.leases_lost = False
        self.leases_rejected = False
        self.lost_answers = 0
        self.latency = 0.0
        """Seconds from the moment at which a request is carried out until its answer is there."""
        self.connecting: Callable[[Request], float] = lambda request: 0.0
        """For how many seconds a request waits for a connection."""
        self.requests: list[Request] = []
        self.times: list[float] = []

    def client(self) -> KubeClient:
        return KubeClient(self, FairGate(), random.Random(1))

    async def request(self, request: Request) -> Response:
        self._note(request)
        if self.down or (self.leases_lost and "/leases/" in request.path):
            await asyncio.sleep(request.timeout)
            raise TimeoutError("the network is down")
        if self.leases_rejected and "/leases/" in request.path:
            return rejection(500, "InternalError", "not now")
        await asyncio.sleep(self.connecting(request))
        if request.allowed is not None and not request.allowed():
            raise ConnectionError("the request is not sent: the time in which it was allowed is over")
        answer = await self.inner.request(request)
        await asyncio.sleep(self.latency)
        if request.method != "GET" and self.lost_answers:
            self.lost_answers -= 1
            raise ConnectionResetError("the answer was lost")
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        self._note(request)
        async with self.inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self.inner.close()

    def _note(self, request: Request) -> None:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
