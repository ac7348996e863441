"""The API server as pods reach it: over sockets that listen in the pods' own networks, with tokens of their own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from training_local.apiserver.certificates import ServerIdentity
from training_local.apiserver.http import answering, tls
from training_local.apiserver.server import ApiServer
from training_local.apiserver.users import ServiceAccount, Tokens


class InClusterEndpoint:
    """Lets the pods of a node in (implements the node's `ApiEndpoint`)."""

    def __init__(self, runner: web.ServerRunner, identity: ServerIdentity, tokens: Tokens) -> None:
        self.authority = identity.authority
        self._tls = tls(identity)
        self._runner, self._tokens = runner, tokens
        self._sites: dict[socket.socket, web.SockSite] = {}

    async def open(self, listener: socket.socket) -> None:
        """Answer whoever connects to a socket that listens."""
        site = self._sites[listener] = web.SockSite(self._runner, listener, ssl_context=self._tls)
        await site.start()

    async def close(self, listener: socket.socket) -> None:
        """Let nobody in any more by this socket, and close it."""
        await self._sites.pop(listener).stop()
        listener.close()

    def issue(self, namespace: str, name: str, uid: str) -> str:
        """Return a new token of a service account."""
        return self._tokens.issue(ServiceAccount(namespace, name, uid))

    def revoke(self, token: str) -> None:
        """Let a token open nothing any more."""
        self._tokens.revoke(token)


@asynccontextmanager
async def in_cluster_endpoint(
    server: ApiServer, identity: ServerIdentity, tokens: Tokens
) -> AsyncIterator[InClusterEndpoint]:
    """Yield an endpoint that answers pods until the end of the context.

    It refuses the owner's token: a pod can read copies of the kubeconfig.
    """
    async with answering(server, tokens.account) as runner:
        yield InClusterEndpoint(runner, identity, tokens)
