"""Bytes between two connections: each end, each break, and the limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from training_local.relay import End, Service, TcpEnd, relay

Serve = Callable[[TcpEnd], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve, most: int = 9) -> AsyncIterator[tuple[str, int]]:
    service = Service(serve, most)
    async with await asyncio.start_server(service.accept, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()
        await service.close()


async def connected(address: tuple[str, int]) -> TcpEnd:
    return TcpEnd(*await asyncio.open_connection(*address))


async def everything(end: TcpEnd) -> bytes:
    said = b""
    async with asyncio.timeout(20):
        while data := await end.read():
            said += data
    return said


def relayed_to(address: tuple[str, int]) -> Serve:
    async def serve(end: TcpEnd) -> None:
        other = await connected(address)
        await relay(end, other)
        other.close()

    return serve


async def reverse(end: TcpEnd) -> None:
    await end.write((await everything(end))[::-1])


async def test_each_side_ends_by_itself() -> None:
    async with serving(reverse) as there, serving(relayed_to(there)) as here:
        client = await connected(here)
        await client.write(b"hello")
        await client.finish()
        assert await everything(client) == b"olleh"
        client.close()


async def test_a_break_is_passed_on() -> None:
    async def break_off(end: TcpEnd) -> None:
        await end.read()
        await end.reset()

    async with serving(break_off) as there, serving(relayed_to(there)) as here:
        client = await connected(here)
        await client.write(b"hello")
        with pytest.raises(ConnectionResetError):
            await everything(client)


class Spoken(End):
    """An end that says something from time to time."""

    def __init__(self, *pauses: float) -> None:
        self._pauses = list(pauses)
        self.heard = b""
        self.given_up_at = 0.0

    async def read(self) -> bytes:
        await asyncio.sleep(self._pauses.pop(0) if self._pauses else 1e6)
        return b"."

    async def write(self, data: bytes) -> None:
        self.heard += data

    async def finish(self) -> None: ...

    async def reset(self) -> None:
        self.given_up_at = asyncio.get_running_loop().time()


@pytest.mark.virtual_time
async def test_four_hours_without_a_byte_are_the_most() -> None:
    begun = asyncio.get_running_loop().time()
    one, other = Spoken(3 * 3600, 3 * 3600), Spoken()
    await relay(one, other)
    assert other.heard == b".."
    assert one.given_up_at == other.given_up_at == begun + 10 * 3600


async def test_more_than_the_limit_are_sent_away_until_one_ends() -> None:
    async with serving(reverse, most=1) as there:
        first, second = await connected(there), await connected(there)
        with pytest.raises(ConnectionResetError):
            await everything(second)
        await first.finish()
        assert await everything(first) == b""
        third = await connected(there)
        await third.write(b"ab")
        await third.finish()
        assert await everything(third) == b"ba"


async def test_a_service_that_closes_ends_what_it_serves() -> None:
    async with serving(reverse) as there:
        client = await connected(there)
    assert await everything(client) == b""
