"""A DNS server for pods, which passes questions on to this machine's own; names of the cluster are in hosts files."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

PORT: Final = 53
_MOST_QUESTIONS: Final = 512
"""At a time; further ones are asked again by those who wait."""
_SECONDS: Final = 3.0
_HEADER: Final = 12
_LONGEST: Final = 65535
_NO_SUCH_NAME, _SERVER_FAILURE = 3, 2
_RESOLV_CONF: Final = Path("/etc/resolv.conf")


def servers(settings: Path = _RESOLV_CONF) -> list[tuple[str, int]]:
    """Return the addresses and ports of this machine's DNS servers; read anew, as they change with its networks."""
    try:
        words = [line.split() for line in settings.read_text().splitlines()]
    except OSError:
        words = []
    named = [each[1].partition("%")[0] for each in words if len(each) > 1 and each[0] == "nameserver"]
    return [(address, PORT) for address in named or ["127.0.0.1"]]


def name_of(question: bytes) -> str:
    """Return the name that a message asks for; raises `ValueError` for what is no question."""
    labels, at = [], _HEADER
    try:
        while length := question[at]:
            if length > 63:
                raise ValueError("no label has more than 63 bytes")
            labels.append(question[at + 1 : at + 1 + length].decode("ascii", "replace").lower())
            at += 1 + length
    except IndexError:
        raise ValueError("the message ends too early") from None
    return ".".join(labels)


def empty_answer(question: bytes, code: int) -> bytes:
    """Return an answer without records."""
    recursion_desired = question[2] & 1
    return question[:2] + bytes((0x80 | recursion_desired, 0x80 | code)) + question[4:6] + bytes(6) + _asked(question)


def _asked(question: bytes) -> bytes:
    end = question.index(b"\0", _HEADER) + 5
    return question[_HEADER:end]


class DnsServer(asyncio.DatagramProtocol):
    """Answers on a UDP socket."""

    def __init__(self, is_of_cluster: Callable[[str], bool]) -> None:
        """`is_of_cluster` returns whether a name could only be one of the cluster: no other server is asked for it."""
        self._is_of_cluster = is_of_cluster
        self._asking: set[asyncio.Task[None]] = set()
        self._transport: asyncio.DatagramTransport

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override] # it is one
        """Keep the socket (called by the transport)."""
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a question in the background (called by the transport)."""
        if len(self._asking) < _MOST_QUESTIONS:
            task = asyncio.create_task(self._answer(data, addr))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)

    def close(self) -> None:
        """End what goes on."""
        for task in self._asking:
            task.cancel()
        self._transport.close()

    async def _answer(self, question: bytes, asker: tuple[str, int]) -> None:
        try:
            ours = self._is_of_cluster(name_of(question))
            answer = empty_answer(question, _NO_SUCH_NAME) if ours else await _ask(question)
        except ValueError:
            return
        self._transport.sendto(answer, asker)


async def _ask(question: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    for server in servers():
        family = socket.AF_INET6 if ":" in server[0] else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as connection:
                async with asyncio.timeout(_SECONDS):
                    await loop.sock_connect(connection, server)
                    await loop.sock_sendall(connection, question)
                    while (answer := await loop.sock_recv(connection, _LONGEST))[:2] != question[:2]:
                        pass
                    return answer
        except OSError:  # TimeoutError is one
            continue
    return empty_answer(question, _SERVER_FAILURE)
