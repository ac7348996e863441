"""The API server as pods reach it: over sockets that listen in the pods' own networks, with tokens of their own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from training_local.apiserver.certificates import ServerIdentity
from training_local.apiserver.connections import HttpConnections
from training_local.apiserver.http import answering, tls
from training_local.apiserver.server import ApiServer
from training_local.apiserver.users import ServiceAccount, Tokens


class InClusterEndpoint:
    """Lets the pods of a node in as their service accounts."""

    def __init__(self, connections: HttpConnections, identity: ServerIdentity, tokens: Tokens) -> None:
        self.authority = identity.authority
        self._tls = tls(identity)
        self._connections, self._tokens = connections, tokens
        self._open: dict[socket.socket, AsyncExitStack] = {}

    async def open(self, listener: socket.socket) -> None:
        """Answer whoever connects to a socket that listens."""
        stack = self._open[listener] = AsyncExitStack()
        await stack.enter_async_context(self._connections.listening([listener], self._tls))

    async def close(self, listener: socket.socket) -> None:
        """Accept no more connections on this socket, and close it."""
        await self._open.pop(listener).aclose()

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

    It rejects the owner's token: a pod can read copies of the kubeconfig.
    """
    async with answering(server, tokens.account) as connections:
        yield InClusterEndpoint(connections, identity, tokens)
