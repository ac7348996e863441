"""Connecting with what listens inside a pod, from outside of it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from training_local.node.sandbox.client import SandboxError
from training_local.relay import TcpEnd

_LOCALHOST: Final = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))

OpenSocket = Callable[[int], Awaitable[socket.socket]]
"""Address family -> a TCP socket of the pod's network; raises `SandboxError`."""


async def dial(open_socket: OpenSocket, ports: Sequence[int], pod: str) -> TcpEnd:
    """Connect with the first of some ports of a pod's `localhost` where a program listens, as container runtimes do.

    Raises `OSError` with a sentence if none does; the last of the ports is the one that was asked for.
    """
    for port in ports:
        for family, host in _LOCALHOST:
            try:
                opened = await open_socket(family)
            except (SandboxError, OSError) as error:  # the pod has gone; without IPv6 it cannot open such sockets
                if family == socket.AF_INET:
                    raise ConnectionError(f"{pod} cannot be reached: {error}") from error
                continue
            try:
                await asyncio.get_running_loop().sock_connect(opened, (host, port))
                return TcpEnd(*await asyncio.open_connection(sock=opened))
            except OSError:
                opened.close()
    raise ConnectionRefusedError(f"nothing listens on port {ports[-1]} of localhost in {pod}")
