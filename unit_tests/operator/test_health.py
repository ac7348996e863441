import aiohttp
import pytest

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
