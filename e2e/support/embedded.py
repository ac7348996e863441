"""The embedded API server over HTTPS, in the process of the test."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from training_local.apiserver.certificates import ServerIdentity, server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN

TOKEN = "token-of-the-test"


@asynccontextmanager
async def embedded(folder: Path, *types: ResourceType) -> AsyncIterator[tuple[ApiServer, Path]]:
    """A server of the real types and of these, and its kubeconfig, which lies in `folder`."""
    identity = server_identity(["127.0.0.1"])
    server = ApiServer([*BUILTIN, *types], crd_types, authority=identity.authority.decode())
    async with server.running(), serving(server, identity, TOKEN) as url:
        kubeconfig = folder / "kubeconfig"
        write_kubeconfig(kubeconfig, url, identity.authority, TOKEN)
        yield server, kubeconfig


def session_with(identity: ServerIdentity, url: str | None = None, token: str = TOKEN) -> aiohttp.ClientSession:
    """A session that trusts a server with this identity, and brings its token."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=identity.authority.decode()))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return aiohttp.ClientSession(url, connector=connector, headers=headers)
