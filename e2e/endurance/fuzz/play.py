"""Sends arbitrary requests to a server in this process, or over HTTPS, and checks what comes back."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
from e2e.endurance.fuzz.checks import PATIENCE, check_answer, check_storage, decoded
from e2e.endurance.fuzz.requests import VALID
from e2e.fidelity.player import session_of
from e2e.support.embedded import embedded
from yarl import URL

from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import Request, Response

Codes = Counter[str]
"""How many answers there were of each status code; streams and requests that the client could not send by name."""


async def play_in_memory(sent: Sequence[Request]) -> Codes:
    """Send requests to a fresh server; raises AssertionError for an answer or a storage that is not sound."""
    codes = Codes()
    server = ApiServer(BUILTIN, crd_types)
    async with server.running():
        for path, obj in VALID.items():
            await asyncio.sleep(0)
            assert getattr(server.handle(Request("POST", path, body=json.dumps(obj).encode())), "status", 0) == 201
        for request in sent:
            codes[await _handle(server, decoded(request))] += 1
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        check_storage(server)
    return codes


async def _handle(server: ApiServer, request: Request) -> str:
    version, began = server.state.storage.version, time.perf_counter()
    try:
        answer = server.handle(request)
    except Exception as error:
        raise AssertionError(f"an exception for {request}") from error
    assert time.perf_counter() - began < PATIENCE, f"slow: {request}"
    if not isinstance(answer, Response):
        answer.close()
        lines = [line async for batch in answer.batches() for line in batch]
        assert all(line.endswith(b"\n") for line in lines)
        return "stream"
    check_answer(request, answer.status, answer.headers.get("content-type", ""), answer.body)
    if answer.status >= 400 or request.method in ("GET", "HEAD"):
        assert server.state.storage.version == version, f"changed by a rejected request: {request}"
    return str(answer.status)


class HttpsTarget:
    """A server behind HTTPS that lives for the whole run, and a client."""

    def __init__(self, server: ApiServer, session: aiohttp.ClientSession, url: str) -> None:
        self._server = server
        self._session = session
        self._url = url

    async def play(self, sent: Sequence[Request]) -> Codes:
        """Send requests one after the other; raises AssertionError as `play_in_memory` does."""
        codes = Codes()
        await self.restore()
        for request in sent:
            try:
                async with asyncio.timeout(PATIENCE):
                    codes[await self._send(request)] += 1
            except TimeoutError:
                raise AssertionError(f"no response within {PATIENCE} s: {request}") from None
        check_storage(self._server)
        return codes

    async def restore(self) -> None:
        """Create what earlier requests have deleted."""
        for path, obj in VALID.items():
            async with self._session.post(self._url + path, json=obj) as answer:
                assert answer.status < 500, await answer.text()

    async def _send(self, request: Request) -> str:
        headers = {
            "Content-Type": request.content_type,
            "Accept": request.accept,
            "User-Agent": request.user_agent or "fuzz",
        }
        try:
            url = URL(self._url + request.path, encoded=True)
            if request.query:
                url = url.update_query({name: str(value) for name, value in request.query.items()})
            async with self._session.request(request.method, url, data=request.body, headers=headers) as answer:
                if answer.status == 200 and ("watch" in request.query or "follow" in request.query):
                    return "stream"  # leaving the context ends it
                body = await answer.read()
                check_answer(request, answer.status, answer.content_type, body)
                return str(answer.status)
        except (ValueError, UnicodeError, aiohttp.InvalidURL):
            return "not sent"


@asynccontextmanager
async def https_target() -> AsyncIterator[HttpsTarget]:
    """Serve the API with what requests are about."""
    with TemporaryDirectory() as folder:
        async with embedded(Path(folder)) as (server, kubeconfig), session_of(kubeconfig) as (session, url):
            yield HttpsTarget(server, session, url)
