"""An HTTP proxy for pods: `CONNECT`, and plain requests to `http:`."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from training_local.node.egress.policy import PODS

PORT: Final = 3128
HEAD_SECONDS: Final = 30.0
"""How long the head of a request may take."""


class BadRequestError(Exception):
    """What came is no request to a proxy."""


def variables(address: str, around: Sequence[str]) -> dict[str, str]:
    """Return the variables that programs heed; `around` are names, and domains with a dot, that are reached without."""
    url = f"http://{address}:{PORT}"
    direct = ",".join(["localhost", "127.0.0.1", "::1", str(PODS), *around])
    named = {"http_proxy": url, "https_proxy": url, "no_proxy": direct}
    return {**named, **{name.upper(): value for name, value in named.items()}}


async def request(reader: asyncio.StreamReader) -> tuple[str, int, bytes]:
    """Read the head of a request: host, port, and what to send there first; raises `BadRequestError`."""
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        line, _, headers = head.partition(b"\r\n")
        method, target, version = line.decode("ascii").split(" ")
        connect = method == "CONNECT"
        url = urlsplit(f"//{target}" if connect else target)
        port = url.port or (443 if connect else 80)
    except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError) as error:
        raise BadRequestError("this is a proxy: it supports CONNECT and requests to http:") from error
    if not url.hostname or (not connect and url.scheme != "http"):
        raise BadRequestError("this is a proxy: it supports CONNECT and requests to http:")
    if connect:
        return url.hostname, port, b""
    path = url._replace(scheme="", netloc="").geturl() or "/"
    return url.hostname, port, f"{method} {path} {version}\r\nConnection: close\r\n".encode() + _passed_on(headers)


def _passed_on(headers: bytes) -> bytes:
    """Leave out what is between the client and the proxy; each connection carries one request."""
    between = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
    lines = headers.split(b"\r\n")
    return b"\r\n".join(line for line in lines if not line.lower().startswith(between))


def answer(status: str, said: str = "") -> bytes:
    """Return an answer of the proxy itself."""
    body = f"{said}\n".encode() if said else b""
    length = f"Content-Length: {len(body)}\r\nConnection: close\r\n" if said else ""
    return f"HTTP/1.1 {status}\r\n{length}\r\n".encode() + body


async def addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host as this machine knows them; raises `OSError`."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
