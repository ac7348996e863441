"""The network between the operator and the API server: it can be cut, and it knows what the operator has written.

The operator speaks TLS with us, with the API server's own certificate, so that requests can be told apart.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

READS = ("GET", "HEAD")
CHUNK = 65536
EXPIRED = re.compile(rb'"code":410\b')
_LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)


class Link:
    """A proxy on a port of its own; open at first."""

    def __init__(self, server_port: int, certificates: Path) -> None:
        self._server_port = server_port
        certificate, key = certificates / "apiserver.crt", certificates / "apiserver.key"
        self._ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._ours.load_cert_chain(certificate, key)
        self._theirs = ssl.create_default_context(cafile=str(certificate))
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._refusing = False
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0
        self.writes = 0
        """Writes that the server has carried out."""
        self.expired = 0
        """Answers that told the operator that the version of its watch is too old."""
        self.cut_after: int | None = None
        """After so many writes the operator hears nothing any more, not even the answer to the last one."""
        self.was_cut = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Forward while the context lasts."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._ours)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            await self.reset()

    def hold(self) -> None:
        """Let nothing through in either direction; what is sent arrives when the network is `open` again."""
        self._flowing.clear()

    async def refuse(self) -> None:
        """Reset every connection, and every new one."""
        self._refusing = True
        await self.reset()

    def open(self) -> None:
        """Be a network as it should be."""
        self._refusing = False
        self._flowing.set()

    async def reset(self) -> None:
        """Reset all connections there are; what was held is lost."""
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """In a task of our own, because asyncio complains about cancelled ones of its own."""
        task = asyncio.create_task(self._forward(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        await asyncio.wait([task])

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self._refusing:
                return
            with suppress(OSError):  # the server is away
                upstream = await asyncio.open_connection("127.0.0.1", self._server_port, ssl=self._theirs)
                try:
                    await self._converse((reader, writer), upstream)
                finally:
                    upstream[1].transport.abort()
        finally:
            writer.transport.abort()

    async def _converse(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Forward until one side ends. HTTP/1.1 without pipelining: one request at most has no answer yet."""
        pending: list[str] = []
        sides = [
            asyncio.create_task(self._requests(client[0], server[1], pending)),
            asyncio.create_task(self._answers(server[0], client[1], pending)),
        ]
        try:
            await asyncio.wait(sides, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pending: list[str]) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            body = await reader.readexactly(int(length[1])) if length else b""
            await self._flowing.wait()
            pending.append(head.split(b" ", 1)[0].decode())
            writer.write(head + body)
            await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pending: list[str]) -> None:
        while data := await reader.read(CHUNK):
            self.expired += len(EXPIRED.findall(data))
            if pending:
                self._answered(pending.pop(), int(data.split(b" ", 2)[1]))
            await self._flowing.wait()
            writer.write(data)
            await writer.drain()

    def _answered(self, method: str, status: int) -> None:
        if method in READS or not 200 <= status < 300:
            return
        self.writes += 1
        if self.writes == self.cut_after:
            self._flowing.clear()
            self.was_cut.set()
