"""What strangers and careless clients can do to the server over HTTPS: nothing."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from e2e.support.embedded import TOKEN, session_with
from e2e.support.objects import pod
from unit_tests.local.apiserver.test_http import PODS, Served, served

from training_local.apiserver import http
from training_local.apiserver.certificates import server_identity
from training_local.apiserver.http import HEADER_LIMIT, serving
from training_local.apiserver.server import BODY_LIMIT, ApiServer
from training_local.apiserver.types import BUILTIN

AUTHORIZED = f"Authorization: Bearer {TOKEN}\r\n"


@asynccontextmanager
async def raw(api: Served) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A TLS connection without any HTTP client in between."""
    trust = ssl.create_default_context(cadata=api.identity.authority.decode())
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]), ssl=trust)
    try:
        yield reader, writer
    finally:
        writer.close()


async def said(api: Served, request: str | bytes) -> tuple[int, bytes]:
    """Status and body of the answer to bytes on the wire."""
    async with asyncio.timeout(10), raw(api) as (reader, writer):
        writer.write(request if isinstance(request, bytes) else request.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:-2])
        return int(head.split()[1]), await reader.readexactly(int(fields.get(b"content-length", b"0")))


@pytest.mark.parametrize(
    "credentials",
    [
        "",
        f"Authorization: {TOKEN}\r\n",
        f"Authorization: Basic {TOKEN}\r\n",
        f"Authorization: Bearer {TOKEN}x\r\n",
        f"Authorization: Bearer  {TOKEN}\r\n",
        f"Cookie: token={TOKEN}\r\n",
        f"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{TOKEN}\r\n",
        "X-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n",
        "X-Forwarded-For: 127.0.0.1\r\n",
    ],
)
@pytest.mark.parametrize("query", ["", f"?token={TOKEN}", f"?access_token={TOKEN}"])
async def test_only_the_header_with_the_token_opens(credentials: str, query: str) -> None:
    async with served() as api:
        status, body = await said(api, f"GET {PODS}{query} HTTP/1.1\r\nHost: x\r\n{credentials}\r\n")
    assert (status, json.loads(body)["reason"]) == (401, "Unauthorized")
    assert TOKEN.encode() not in body


async def test_a_stranger_can_upload_nothing() -> None:
    async with served() as api:
        status, _ = await said(api, f"POST {PODS} HTTP/1.1\r\nHost: x\r\nContent-Length: {10**12}\r\n\r\n")
    assert status == 401


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "HEAD", "PROPFIND", "LOCK"])
@pytest.mark.parametrize("path", [PODS, f"{PODS}/a"])
async def test_other_methods_are_not_allowed(method: str, path: str) -> None:
    async with served() as api, api.session.request(method, path) as answer:
        assert answer.status == 405
        body = await answer.read()
        assert method == "HEAD" or json.loads(body)["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize("method", ["CONNECT", "X", "GET\0", "get"])
async def test_what_is_no_method_is_no_request(method: str, caplog: pytest.LogCaptureFixture) -> None:
    async with served() as api:
        status, body = await said(api, f"{method} {PODS} HTTP/1.1\r\nHost: x\r\n{AUTHORIZED}\r\n")
        assert status in (400, 404, 405)
        assert await alive(api)
    assert caplog.text == ""
    assert b"Traceback" not in body


async def test_a_broken_header_with_the_token_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as api:
        request = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + TOKEN.encode() + b"\0\x01\r\n\r\n"
        status, _ = await said(api, request)
    assert status == 400
    assert caplog.text == ""


async def alive(api: Served) -> bool:
    """Whether the server answers another client."""
    async with asyncio.timeout(5), api.session.get("/healthz") as answer:
        return answer.status == 200


async def test_headers_have_a_limit() -> None:
    async with served() as api:
        start = f"GET {PODS} HTTP/1.1\r\nHost: x\r\n{AUTHORIZED}X: "
        assert (await said(api, f"{start}{'x' * 100_000}\r\n\r\n"))[0] == 200
        assert (await said(api, f"{start}{'x' * (HEADER_LIMIT + 10)}\r\n\r\n"))[0] == 400
        many = "".join(f"X{number}: x\r\n" for number in range(1000))
        assert (await said(api, f"GET {PODS} HTTP/1.1\r\nHost: x\r\n{many}\r\n"))[0] == 400
        assert (await said(api, f"GET /{'x' * (HEADER_LIMIT + 10)} HTTP/1.1\r\n\r\n"))[0] == 400
        assert await alive(api)


async def test_a_body_without_length_has_the_same_limit() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(BODY_LIMIT // 65536 + 2):
            yield b"x" * 65536

    async with served() as api, api.session.post(PODS, data=chunks()) as answer:
        assert answer.status == 413


async def test_a_compressed_body_is_not_unpacked() -> None:
    async with served() as api:
        headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        async with api.session.post(PODS, data=gzip.compress(b'{"metadata":{"name":"a"}}'), headers=headers) as answer:
            assert answer.status == 400


@pytest.mark.parametrize("body", [b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", b"Content-Length: -5\r\n\r\n"])
async def test_a_body_that_is_no_http_is_rejected(body: bytes) -> None:
    async with served() as api:
        start = f"POST {PODS} HTTP/1.1\r\nHost: x\r\n{AUTHORIZED}".encode()
        assert (await said(api, start + body))[0] == 400
        assert await alive(api)


async def test_a_slow_client_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_SECONDS", 0.2)
    async with served() as api, raw(api) as (_, silent), raw(api) as (reader, slow), raw(api) as (other, broken):
        start = f"POST {PODS} HTTP/1.1\r\nHost: x\r\n{AUTHORIZED}"
        silent.write(b"GET / HT")
        slow.write(f"{start}Content-Length: 9\r\n\r\n{{".encode())
        broken.write(f"{start}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n".encode())
        assert await alive(api)
        broken.write(b"no number\r\n")
        async with asyncio.timeout(10):
            for each in (reader, other):
                assert (await each.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 408 ")


async def test_an_error_of_ours_is_a_status_and_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise KeyError(f"a secret: {TOKEN}")

    async with served() as api:
        monkeypatch.setattr(api.server, "handle", fail)
        async with api.session.get(PODS) as answer:
            body = await answer.json()
    assert (answer.status, body["kind"], body["reason"]) == (500, "Status", "InternalError")
    assert TOKEN not in body["message"]


async def test_old_tls_is_rejected() -> None:
    async with served() as api:
        context = ssl.create_default_context(cadata=api.identity.authority.decode())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # old versions are what this is about
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.raises(aiohttp.ClientConnectorError):
            await api.session.get(PODS, ssl=context)
        assert await alive(api)


PATHS = "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e", "..", "a%00b", "%ff", "a%0ab"


@pytest.mark.parametrize("name", PATHS)
async def test_paths_lead_nowhere(name: str) -> None:
    async with served() as api:
        for path in (f"{PODS}/{name}", f"{PODS}/{name}/log", f"/api/v1/namespaces/{name}/pods/a", f"/{name}"):
            status, body = await said(api, f"GET {path} HTTP/1.1\r\nHost: x\r\n{AUTHORIZED}\r\n")
            assert status in (400, 404), (path, body)
            assert b"root:" not in body


@asynccontextmanager
async def whole_server() -> AsyncIterator[aiohttp.ClientSession]:
    """A server with the real types."""
    identity = server_identity(["127.0.0.1"])
    server = ApiServer(BUILTIN, lambda definition: ())
    async with (
        server.running(),
        serving(server, identity, TOKEN) as url,
        session_with(identity, url) as session,
    ):
        yield session


async def test_a_log_is_that_of_a_container_of_the_pod() -> None:
    async with whole_server() as session:
        async with session.post(PODS, json=pod("p", node="n")) as answer:
            assert answer.status == 201
        for container in ("../..", "../other_pod/main", "/etc/passwd", "main/../main", "main\0"):
            async with session.get(f"{PODS}/p/log", params={"container": container}) as answer:
                assert answer.status == 400
                assert (await answer.json())["message"] == f"container {container} is not valid for pod p"
