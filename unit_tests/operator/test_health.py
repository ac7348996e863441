import asyncio

import aiohttp
import pytest
from structlog.testing import capture_logs

from training_operator.health import CannotListen, metric_routes, probe_routes, serving


async def get(port: int, path: str) -> tuple[int, str, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status, await answer.text(), answer.headers["Content-Type"]


async def test_probes_say_what_is_wrong() -> None:
    wrong = {"live": "", "ready": "caches are not filled"}
    routes = probe_routes(lambda: wrong["live"], lambda: wrong["ready"])
    async with serving("127.0.0.1:0", routes, "--flag") as port:
        assert (await get(port, "/healthz"))[:2] == (200, "ok")
        assert (await get(port, "/readyz"))[:2] == (500, "caches are not filled")
        wrong["ready"], wrong["live"] = "", "stuck"
        assert (await get(port, "/readyz"))[:2] == (200, "ok")
        assert (await get(port, "/healthz"))[:2] == (500, "stuck")
        assert (await get(port, "/other"))[0] == 404


async def test_metrics() -> None:
    async with serving("127.0.0.1:0", metric_routes(lambda: b"a 1\n"), "--flag") as port:
        assert await get(port, "/metrics") == (200, "a 1\n", "text/plain; version=0.0.4; charset=utf-8")


async def test_every_interface_is_meant_without_a_host(unused_tcp_port: int) -> None:
    async with serving(f":{unused_tcp_port}", probe_routes(str, str), "--flag"):
        assert (await get(unused_tcp_port, "/healthz"))[0] == 200


async def test_zero_serves_nowhere() -> None:
    async with serving("0", {}, "--flag") as port:
        assert port == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1"])
async def test_an_address_that_cannot_be_had_is_one_sentence(host: str) -> None:
    async with serving("127.0.0.1:0", {}, "--first") as port:
        with pytest.raises(CannotListen) as caught:
            async with serving(f"{host}:{port}", {}, "--metrics-bind-address"):
                pass
    message = str(caught.value)
    assert message.startswith(f"--metrics-bind-address: cannot listen on {host}:{port}: ")
    assert "\n" not in message


async def raw(port: int, request: bytes) -> bytes:
    """Everything that the server sends until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [
        (b"GET /healthz?verbose HTTP/1.1", b"200 OK", b"ok"),
        (b"GET http://operator/healthz HTTP/1.1", b"200 OK", b"ok"),
        (b"HEAD /healthz HTTP/1.1", b"200 OK", b""),
        (b"POST /healthz HTTP/1.1", b"405 Method Not Allowed", b"405: Method Not Allowed"),
        (b"GET /%ff HTTP/1.1", b"404 Not Found", b"404: Not Found"),
        (b"GET \xff\xfe HTTP/1.1", b"400 Bad Request", b"400: Bad Request"),
        (b"CONNECT operator:443 HTTP/1.1", b"405 Method Not Allowed", b"405: Method Not Allowed"),
        (b"\x16\x03\x01", b"400 Bad Request", b"400: Bad Request"),
    ],
)
async def test_requests_and_what_is_none(request_line: bytes, status: bytes, body: bytes) -> None:
    async with serving("127.0.0.1:0", probe_routes(str, str), "--flag") as port:
        answer = await raw(port, request_line + b"\r\nHost: x\r\nConnection: close\r\n\r\n")
    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status + b"\r\n")
    assert content == body


async def test_a_connection_answers_one_request_after_the_other() -> None:
    async with serving("127.0.0.1:0", probe_routes(str, str), "--flag") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in (b"GET /healthz HT", b"TP/1.1\r\n\r\n", b"GET /readyz HTTP/1.1\r\n\r\n"):
            writer.write(part)
            if part.endswith(b"\r\n\r\n"):
                assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK\r\n")
        writer.close()


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"GET /metrics HTTP/1.1\r\n\r\n" * 1000, id="many at once"),
        pytest.param(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 200_000, id="a header without end"),
        pytest.param(b"POST /metrics HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + b"x" * 199_999, id="a body"),
    ],
)
async def test_no_client_makes_it_use_much_memory_or_time(request_bytes: bytes) -> None:
    rendered = 0

    def page() -> bytes:
        nonlocal rendered
        rendered += 1
        return b"x" * 1_000_000

    async with serving("127.0.0.1:0", metric_routes(page), "--flag") as port:
        await raw(port, request_bytes)  # which ends: the server has closed the connection
    assert rendered <= 1


async def test_a_client_that_does_not_read_its_answers_gets_no_more_of_them() -> None:
    rendered, pages = asyncio.Event(), 0

    def page() -> bytes:
        nonlocal pages
        pages += 1
        rendered.set()
        return b"x" * 50_000_000

    async with serving("127.0.0.1:0", metric_routes(page), "--flag") as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        await rendered.wait()
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            async with asyncio.timeout(10):
                while await reader.read(1_000_000):
                    pass
                raise ConnectionResetError
        writer.close()
    assert pages == 1


async def test_what_fails_while_a_request_is_answered_is_logged() -> None:
    with capture_logs() as logs:
        async with serving("127.0.0.1:0", metric_routes(lambda: bytes(-1)), "--flag") as port:
            assert (await get(port, "/metrics"))[0] == 500
    assert [each["event"] for each in logs] == ["internal error while answering a request"]
