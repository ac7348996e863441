"""The server over HTTPS: who may connect, what is rejected, how connections end."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import yaml
from e2e.support.api_client import POD_SPEC
from e2e.support.embedded import TOKEN, session_with

from training_local.apiserver.certificates import ServerIdentity, server_identity
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import BODY_LIMIT, ApiServer
from training_local.apiserver.types import BUILTIN

PODS = "/api/v1/namespaces/default/pods"


@dataclass
class Served:
    url: str
    server: ApiServer
    identity: ServerIdentity
    session: aiohttp.ClientSession

    def watches(self) -> int:
        return len(self.server.state.storage.collection(("", "pods")).subscribers)


@asynccontextmanager
async def served(token: str = TOKEN, host: str = "127.0.0.1") -> AsyncIterator[Served]:
    identity = server_identity(["127.0.0.1", "localhost"])
    server = ApiServer(BUILTIN, lambda definition: ())
    async with (
        server.running(),
        serving(server, identity, TOKEN, host=host) as url,
        session_with(identity, url, token) as session,
    ):
        yield Served(url, server, identity, session)


async def test_clients_can_verify_the_server_and_no_other_server() -> None:
    stranger = ssl.create_default_context(cadata=server_identity(["127.0.0.1"]).authority.decode())
    async with served() as api:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await api.session.get(PODS, ssl=stranger)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::"])
async def test_loopback_only(host: str) -> None:
    with pytest.raises(ValueError, match="only on loopback addresses"):
        async with served(host=host):
            pass


async def test_a_port_in_use_is_an_error_of_its_own() -> None:
    async with served() as api:
        port = int(api.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            async with serving(api.server, api.identity, TOKEN, port=port):
                pass


async def test_a_body_above_the_limit_is_rejected() -> None:
    async with served() as api, api.session.post(PODS, data=b"x" * (BODY_LIMIT + 1)) as answer:
        assert answer.status == 413
        assert (await answer.json())["message"] == f"Request entity too large: limit is {BODY_LIMIT}"


async def test_a_watch_ends_when_its_client_leaves() -> None:
    async with served() as api:
        async with api.session.get(PODS, params={"watch": "1"}):
            assert api.watches() == 1
        async with asyncio.timeout(10):
            while api.watches():  # noqa: ASYNC110  # the kernel notifies the server at a time of its own
                await asyncio.sleep(0.01)


async def test_watches_end_with_the_server() -> None:
    identity = server_identity(["127.0.0.1"])
    server = ApiServer(BUILTIN, lambda definition: ())
    async with session_with(identity) as session:
        async with server.running(), serving(server, identity, TOKEN) as url:
            answer = await session.get(url + PODS, params={"watch": "1"})
        assert await answer.content.read() == b""
    assert not server.state.storage.collection(("", "pods")).subscribers


async def test_events_arrive_one_by_one() -> None:
    async with served() as api, api.session.get(PODS, params={"watch": "1"}) as answer:
        for name in "ab":
            body = {"metadata": {"name": name}, "spec": POD_SPEC}
            async with api.session.post(PODS, json=body) as created:
                assert created.status == 201
            event = json.loads(await answer.content.readline())
            assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", name)


async def test_escaped_paths_mean_what_they_say() -> None:
    async with served() as api, api.session.get(f"{PODS}/..%2f..%2fdefault") as answer:
        assert answer.status == 404


def test_a_kubeconfig_is_private_and_complete(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("what was there before")
    path.chmod(0o644)
    write_kubeconfig(path, "https://127.0.0.1:1", b"authority", TOKEN)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = yaml.safe_load(path.read_text())
    assert content["users"][0]["user"] == {"token": TOKEN}
    assert base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"]) == b"authority"
    assert [each.name for each in tmp_path.iterdir()] == ["kubeconfig"]
