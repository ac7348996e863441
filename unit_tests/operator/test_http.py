import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from unit_tests.operator.certificates import Authority, authority
from unit_tests.operator.peer import Handler, Peer, hello, listening, opened, replying, serving

from training_operator.kube.client import KubeClient
from training_operator.kube.config import ClusterConfig, trusting
from training_operator.kube.credentials import Credentials, Fixed, TokenFile
from training_operator.kube.errors import NotFound
from training_operator.kube.flow import FairGate
from training_operator.kube.http import HttpTransport
from training_operator.kube.resources import PODS
from training_operator.kube.transport import MERGE_PATCH, Request


@pytest.fixture(autouse=True)
def swept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what is not answered in time is given up by a later sweep than the first."""
    monkeypatch.setattr("training_operator.kube.exchange.SWEEP_SECONDS", 0.01)


@asynccontextmanager
async def connected(
    handler: Handler,
    folder: Path,
    credentials: Credentials | None = None,
    name: str = "127.0.0.1",
    connections: int = 0,
    **options: Any,
) -> AsyncIterator[tuple[HttpTransport, Peer]]:
    async with serving(handler, folder, name=name) as peer:
        config = ClusterConfig(peer.url, credentials or Fixed(), trusting(cadata=authority().pem), **options)
        async with opened(config, connections) as transport:
            yield transport, peer


async def test_a_request_and_its_answer(tmp_path: Path) -> None:
    async with connected(hello, tmp_path, Fixed("Bearer secret")) as (transport, peer):
        query = {"labelSelector": "a in (b,c),d", "continue": "x+/="}
        request = Request("PATCH", "/api/v1/namespaces/a%2Fb/pods", query, b"{}", MERGE_PATCH)
        answer = await transport.request(request)
        assert (answer.status, answer.body) == (200, b"hello")
        seen = peer.requests[0]
        assert seen.method == "PATCH"
        assert seen.raw_path.startswith("/api/v1/namespaces/a%2Fb/pods?")
        assert dict(seen.query) == query
        assert seen.headers["Content-Type"] == MERGE_PATCH
        assert seen.headers["Accept"] == "application/json"
        assert seen.headers["Authorization"] == "Bearer secret"
        assert seen.headers["User-Agent"].startswith("training-operator")
        assert peer.bodies == [b"{}"]


async def test_the_headers_of_an_error(tmp_path: Path) -> None:
    async def busy(_: web.Request) -> web.StreamResponse:
        return web.Response(status=429, headers={"Retry-After": "3"})

    async with connected(busy, tmp_path) as (transport, _):
        answer = await transport.request(Request("GET", "/"))
    assert (answer.status, answer.headers["retry-after"]) == (429, "3")


async def goodbye(_: web.Request) -> web.StreamResponse:
    answer = web.Response(body=b"bye")
    answer.force_close()
    return answer


@pytest.mark.parametrize(("handler", "kept", "connections"), [(hello, 60.0, 1), (goodbye, 60.0, 3), (hello, -1.0, 3)])
async def test_a_connection_is_kept_for_a_while_unless_the_server_closes_it(
    handler: Handler, kept: float, connections: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training_operator.kube.exchange.KEPT_SECONDS", kept)
    async with connected(handler, tmp_path) as (transport, peer):
        for _ in range(3):
            assert (await transport.request(Request("POST", "/", body=b"{}"))).status == 200
        assert len(peer.connections) == connections
        assert "Authorization" not in peer.requests[0].headers


async def test_the_answer_to_a_request_that_was_given_up_is_not_that_of_the_next(tmp_path: Path) -> None:
    go_on = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        if request.path == "/slow":
            await go_on.wait()
        return web.Response(body=request.path.encode())

    async with connected(slow, tmp_path) as (transport, _):
        await transport.request(Request("GET", "/warm"))
        with pytest.raises(TimeoutError):
            await transport.request(Request("GET", "/slow", timeout=0.05))
        given_up = asyncio.create_task(transport.request(Request("GET", "/slow")))
        await asyncio.sleep(0.05)
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        go_on.set()
        answers = await asyncio.gather(*(transport.request(Request("GET", f"/{n}")) for n in range(20)))
        assert [answer.body for answer in answers] == [f"/{n}".encode() for n in range(20)]


async def whole(transport: HttpTransport) -> None:
    await transport.request(Request("GET", "/"))


async def streamed(transport: HttpTransport) -> None:
    async with transport.stream(Request("GET", "/")) as stream:
        assert [line async for line in stream.lines] == []


@pytest.mark.parametrize(("send", "connections"), [(whole, 3), (streamed, 12)])
async def test_only_so_many_connections_are_used_at_once(
    send: Callable[[HttpTransport], Awaitable[None]], connections: int, tmp_path: Path
) -> None:
    now, most = 0, 0

    async def counted(_: web.Request) -> web.StreamResponse:
        nonlocal now, most
        now, most = now + 1, max(most, now + 1)
        await asyncio.sleep(0.01)
        now -= 1
        return web.Response()

    async with connected(counted, tmp_path, connections=3) as (transport, peer):
        await asyncio.gather(*(send(transport) for _ in range(12)))
        assert (most, len(peer.connections)) == (3, connections)


async def test_an_answer_in_chunks(tmp_path: Path) -> None:
    chunks = [bytes([65 + n]) * 70_000 for n in range(20)]
    async with connected(streaming(*chunks), tmp_path) as (transport, peer):
        for _ in range(2):
            assert (await transport.request(Request("GET", "/"))).body == b"".join(chunks)
        assert len(peer.connections) == 1


@pytest.mark.parametrize(
    "answer",
    [b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell", b"HTTP/1.1 200 OK\r\n\r\nuntil the end"],
)
async def test_what_is_no_whole_answer_is_an_os_error(answer: bytes) -> None:
    async with (
        listening(replying(answer, [])) as address,
        opened(ClusterConfig(f"http://a:b@{address}", Fixed())) as transport,
    ):
        with pytest.raises(OSError, match=r"127\.0\.0\.1"):
            await transport.request(Request("GET", "/"))


async def test_what_follows_an_answer_is_not_the_answer_to_the_next_request() -> None:
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ok + b"mine" + ok + b"ha")  # the rest of it comes when the next request does
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"lf")

    async with listening(serve) as address, opened(ClusterConfig(f"http://a:b@{address}", Fixed())) as transport:
        for _ in range(2):
            assert (await transport.request(Request("GET", "/"))).body == b"mine"


async def test_an_answer_after_that_to_go_on_and_an_address_with_a_path() -> None:
    heads = list[bytes]()
    serve = replying(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok", heads)
    path = "/k8s/clusters/c-1"
    async with listening(serve) as address, opened(ClusterConfig(f"http://{address}{path}", Fixed())) as transport:
        answer = await transport.request(Request("POST", "/api/v1/pods", body=b"{}"))
        assert (answer.status, answer.body) == (201, b"ok")
    assert heads[0].startswith(b"POST /k8s/clusters/c-1/api/v1/pods HTTP/1.1\r\n")
    assert b"\r\nContent-Length: 2\r\n" in heads[0]


@pytest.mark.parametrize(
    ("path", "credentials", "headers"),
    [
        ("/a b", Fixed(), ()),
        ("/a\r\nX-Evil: 1", Fixed(), ()),
        ("/", Fixed("Bearer a\nX-Evil: 1"), ()),
        ("/", Fixed(), (("Impersonate-User", "a\r\nImpersonate-Group: system:masters"),)),
    ],
)
async def test_nothing_breaks_out_of_its_line(
    tmp_path: Path, path: str, credentials: Credentials, headers: tuple[tuple[str, str], ...]
) -> None:
    async with connected(hello, tmp_path, credentials, headers=headers) as (transport, peer):
        with pytest.raises(ValueError, match="cannot be printed, or the address a blank"):
            await transport.request(Request("GET", path))
        assert peer.requests == []


async def test_a_request_that_is_not_allowed_any_more_when_it_is_connected_is_not_done(tmp_path: Path) -> None:
    connected_now = False

    def allowed() -> bool:
        return not connected_now

    async with connected(hello, tmp_path) as (transport, peer):
        before = Request("POST", "/before", body=b"{}", allowed=allowed)
        assert (await transport.request(before)).status == 200
        assert peer.bodies == [b"{}"]
        connected_now = True
        with pytest.raises(OSError, match="the request is not sent"):
            await transport.request(Request("POST", "/after", body=b"{}", allowed=allowed))
        connected_now = False
        assert (await transport.request(before)).status == 200
        assert peer.bodies == [b"{}", b"{}"]


async def test_rejections_are_answers(tmp_path: Path) -> None:
    async def reject(request: web.Request) -> web.StreamResponse:
        return web.Response(status=404, body=b'{"kind": "Status", "message": "no such pod"}')

    async with connected(reject, tmp_path) as (transport, _):
        assert (await transport.request(Request("GET", "/"))).status == 404
        async with transport.stream(Request("GET", "/")) as stream:
            assert (stream.status, b"no such pod" in stream.body) == (404, True)
        client = KubeClient(transport, FairGate(), random.Random(1))
        with pytest.raises(NotFound, match="no such pod"):
            await client.get(PODS, "ns", "a")


async def new_only(request: web.Request) -> web.StreamResponse:
    return web.Response(status=200 if request.headers["Authorization"] == "Bearer new" else 401)


async def test_a_token_is_read_again_when_it_is_rejected(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")
    async with connected(new_only, tmp_path, TokenFile(token)) as (transport, peer):
        assert (await transport.request(Request("GET", "/"))).status == 401
        assert len(peer.requests) == 2
        token.write_text("new\n")
        assert (await transport.request(Request("GET", "/"))).status == 200
        token.write_text("newer\n")
        async with transport.stream(Request("GET", "/")) as stream:
            assert stream.status == 200


async def test_a_stream_with_a_rejected_token_reads_it_again_next_time(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old")
    async with connected(new_only, tmp_path, TokenFile(token)) as (transport, _):
        for status in (401, 200):
            async with transport.stream(Request("GET", "/")) as stream:
                assert stream.status == status
            token.write_text("new")


async def test_a_fixed_value_is_not_tried_twice(tmp_path: Path) -> None:
    async def reject(_: web.Request) -> web.StreamResponse:
        return web.Response(status=401)

    async with connected(reject, tmp_path, Fixed("Bearer bad")) as (transport, peer):
        assert (await transport.request(Request("GET", "/"))).status == 401
        assert len(peer.requests) == 1


def streaming(*chunks: bytes, end: bool = True) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0)
        if not end:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


async def test_lines_of_any_length_and_cut_anywhere(tmp_path: Path) -> None:
    long = b"x" * 3_000_000
    chunks = (b"a", b"b\ncd\n\ne", long[:1_000_000], long[1_000_000:], b"\nlast")
    async with (
        connected(streaming(*chunks), tmp_path) as (transport, _),
        transport.stream(Request("GET", "/")) as stream,
    ):
        assert [line async for line in stream.lines] == [b"ab", b"cd", b"e" + long, b"last"]


async def test_a_stream_that_breaks_is_an_os_error(tmp_path: Path) -> None:
    seen = list[bytes]()
    async with connected(streaming(b"a\n", end=False), tmp_path) as (transport, _):
        with pytest.raises(OSError):
            async with transport.stream(Request("GET", "/")) as stream:
                async for line in stream.lines:
                    seen.append(line)
    assert seen in ([b"a"], [])


async def test_silence_ends_a_stream(tmp_path: Path) -> None:
    async def silent(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"a\n")
        await asyncio.Event().wait()
        return response

    async with connected(silent, tmp_path) as (transport, _):
        with pytest.raises(TimeoutError):
            async with transport.stream(Request("GET", "/", timeout=0.05)) as stream:
                async for _ in stream.lines:
                    pass


async def never(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError


async def cut(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


@pytest.mark.parametrize(("handler", "seconds", "error"), [(never, 0.05, TimeoutError), (cut, 30, ConnectionError)])
async def test_a_request_without_answer_is_an_os_error(
    handler: Handler, seconds: float, error: type[OSError], tmp_path: Path
) -> None:
    async with connected(handler, tmp_path) as (transport, _):
        with pytest.raises(error):
            await transport.request(Request("POST", "/", body=b"{}", timeout=seconds))


async def test_a_refused_connection_is_an_os_error(unused_tcp_port: int) -> None:
    async with opened(ClusterConfig(f"https://127.0.0.1:{unused_tcp_port}", Fixed())) as transport:
        with pytest.raises(OSError, match=str(unused_tcp_port)):
            await transport.request(Request("GET", "/"))


async def test_no_request_is_sent_to_a_server_with_an_untrusted_certificate(tmp_path: Path) -> None:
    async with serving(hello, tmp_path) as peer:
        tls = trusting(cadata=Authority("other").pem)
        async with opened(ClusterConfig(peer.url, Fixed("Bearer secret"), tls)) as transport:
            with pytest.raises(OSError, match="certificate verify failed"):
                await transport.request(Request("GET", "/"))
        assert peer.requests == []


async def test_the_name_in_the_certificate_can_be_given(tmp_path: Path) -> None:
    async with connected(hello, tmp_path, name="kube.example", server_name="kube.example") as (transport, _):
        assert (await transport.request(Request("GET", "/"))).status == 200
    async with connected(hello, tmp_path, name="kube.example") as (transport, _):
        with pytest.raises(OSError, match="not valid for"):
            await transport.request(Request("GET", "/"))


async def test_proxies_of_the_environment_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    async with connected(hello, tmp_path) as (transport, _):
        assert (await transport.request(Request("GET", "/"))).status == 200


async def test_a_stream_is_not_read_faster_than_its_lines_are_taken(tmp_path: Path) -> None:
    line, sent = b"x" * 99_999 + b"\n", 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        for sent in range(1, 301):  # noqa: B007 - the test reads it
            await response.write(line)
        return response

    async with connected(endless, tmp_path) as (transport, _), transport.stream(Request("GET", "/")) as stream:
        assert await anext(stream.lines) == line[:-1]
        before = -1
        while sent != before:  # until the server can write no more
            before = sent
            for _ in range(1000):
                await asyncio.sleep(0)
        assert sent < 300
        assert [each async for each in stream.lines] == [line[:-1]] * 299
