"""What it takes to talk to an API server: one request with an answer, or one request with a stream of lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
AGENT = "training-operator"


class Request(msgspec.Struct, frozen=True):
    """One HTTP request to an API server, without the server's address and credentials.

    Its `repr` does not show the body: keys may be in it.
    """

    method: str
    path: str
    query: Mapping[str, str] = {}
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    user_agent: str = AGENT
    """Who sends it, for an embedded server; over HTTP the transport says it once for all requests."""
    timeout: float = 30.0
    """Seconds until the whole answer must be there; for a stream, the longest silence between two lines."""
    allowed: Callable[[], bool] | None = None
    """Asked as the body leaves, however long it took to get a connection; a no raises `OSError`, nothing is done."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method} {self.path} {dict(self.query)})"


class Response(msgspec.Struct, frozen=True):
    """The answer to a request."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}
    """With lower-case names; over HTTP those of errors only, since nothing asks for others."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The answer to a streamed request: a 200 with lines to come, or any other status with the whole body."""

    status: int
    lines: AsyncIterator[bytes]
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Transport(Protocol):
    """Sends requests to one API server: over HTTP, or into the embedded one in the same process.

    A broken connection or a time-out raises `OSError` (of which `TimeoutError` is one); every answer of the
    server, also a rejection, is a `Response` or a `Stream`.
    """

    async def request(self, request: Request) -> Response:
        """Send `request` and return the whole answer."""
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send `request` and hand out its answer line by line; leaving the context closes the connection."""
        ...

    async def close(self) -> None:
        """Release connections; afterwards no request may be sent."""
        ...
