"""HTTP/1.1 over TLS with next to no cost in the client, so that the server is what is measured."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is and how to talk to it."""

    host: str
    port: int
    trust: ssl.SSLContext
    token: str

    @classmethod
    def of(cls, kubeconfig: Path) -> Place:
        """Read the first cluster and user of a kubeconfig."""
        content = yaml.safe_load(kubeconfig.read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        url = urlsplit(cluster["server"])
        assert url.hostname and url.port
        return cls(url.hostname, url.port, ssl.create_default_context(cadata=authority), user["token"])


class Connection:
    """One connection, one request after the other."""

    def __init__(self, place: Place, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._head = f"Host: {place.host}\r\nAuthorization: Bearer {place.token}\r\nAccept: application/json\r\n"

    @classmethod
    async def open(cls, place: Place) -> Connection:
        """Connect."""
        return cls(place, *await asyncio.open_connection(place.host, place.port, ssl=place.trust, limit=1 << 20))

    async def post(self, path: str, body: bytes) -> bytes:
        """Create an object and return the answer's body; anything but a 201 is an error."""
        about = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(f"POST {path} HTTP/1.1\r\n{self._head}{about}".encode() + body)
        answered = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answered.partition(b"content-length:")[2].partition(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        if b" 201 " not in answered[:16]:
            raise RuntimeError(f"POST {path}: {answered[:60]!r} {content[:300]!r}")
        return content

    async def watch(self, path: str) -> AsyncIterator[bytes]:
        """Yield the lines of a watch, each with the framing that HTTP puts between them."""
        self._writer.write(f"GET {path}?watch=1 HTTP/1.1\r\n{self._head}\r\n".encode())
        await self._reader.readuntil(b"\r\n\r\n")
        while line := await self._reader.readline():
            if line.startswith(b"{"):
                yield line

    def close(self) -> None:
        """End the connection."""
        self._writer.close()
