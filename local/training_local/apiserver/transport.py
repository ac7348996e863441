"""The API server as a `Transport`, in the same process: for tests with virtual time, and for the local cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from training_local.apiserver.server import ApiServer
from training_local.apiserver.watch import Live
from training_operator.kube.transport import Request, Response, Stream


class InMemoryTransport:
    """Hands requests to an `ApiServer` as HTTP would: bytes in, bytes out, never before the next turn of the loop."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._open: set[Live] = set()
        self._closed = False

    async def request(self, request: Request) -> Response:
        """Return the whole answer; a log that is followed ends with `request.timeout`."""
        await asyncio.sleep(0)
        self._require_open()
        answer = self._server.handle(request)
        if isinstance(answer, Response):
            return answer
        async with asyncio.timeout(request.timeout):
            try:
                batches = [b"".join(batch) async for batch in answer.batches()]
            finally:
                answer.close()
        return Response(200, b"".join(batches), {"content-type": answer.content_type})

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Hand out the lines of a watch or a log; a silence longer than `request.timeout` raises TimeoutError."""
        await asyncio.sleep(0)
        self._require_open()
        answer = self._server.handle(request)
        if isinstance(answer, Response):
            yield Stream(answer.status, _nothing(), answer.body, answer.headers)
            return
        self._open.add(answer)
        try:
            yield Stream(200, self._lines(answer, request.timeout), headers={"content-type": answer.content_type})
        finally:
            self._open.discard(answer)
            answer.close()

    async def close(self) -> None:
        """End all streams and reject later requests."""
        self._closed = True
        for answer in tuple(self._open):
            answer.close()

    async def _lines(self, answer: Live, silence: float) -> AsyncIterator[bytes]:
        batches = answer.batches()
        while True:
            try:
                async with asyncio.timeout(silence):
                    batch = await anext(batches)
            except StopAsyncIteration:
                return
            for line in batch:
                yield line

    def _require_open(self) -> None:
        if self._closed:
            raise ConnectionError("the transport is closed")


async def _nothing() -> AsyncIterator[bytes]:
    nothing: list[bytes] = []
    for line in nothing:
        yield line
