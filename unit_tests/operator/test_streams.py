import asyncio

import pytest

from training_operator.kube.exchange import BUFFERED_MOST, GATHER_SECONDS, GATHERED_BYTES, StreamConnection

pytestmark = pytest.mark.virtual_time

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n"


class Wire(asyncio.Transport):
    """Notes whether it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False
        self.is_read = True

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True

    def is_closing(self) -> bool:
        return self.closed


def connected() -> tuple[Wire, StreamConnection]:
    wire = Wire()
    connection = StreamConnection("server", wire, 60.0)
    connection.connection_made(wire)
    connection.data_received(HEAD)
    return wire, connection


async def test_after_a_change_a_stream_is_not_read_for_a_moment_so_that_more_changes_come_at_once() -> None:
    wire, connection = connected()
    await asyncio.sleep(GATHER_SECONDS)
    assert wire.is_read
    connection.data_received(b"a")
    await asyncio.sleep(GATHER_SECONDS * 0.9)
    assert not wire.is_read
    connection.data_received(b"b")  # what TLS had read before
    await asyncio.sleep(GATHER_SECONDS)
    assert wire.is_read
    assert await anext(connection.pieces()) == b"ab"


async def test_a_stream_of_which_much_comes_at_once_is_read_on() -> None:
    wire, connection = connected()
    await asyncio.sleep(GATHER_SECONDS)
    for _ in range(BUFFERED_MOST // GATHERED_BYTES):
        connection.data_received(b"x" * GATHERED_BYTES)
        assert wire.is_read
    connection.data_received(b"x" * GATHERED_BYTES)  # more than may wait to be taken
    await asyncio.sleep(2 * GATHER_SECONDS)
    assert not wire.is_read
    await anext(connection.pieces())
    assert wire.is_read


async def test_a_connection_that_closes_meanwhile_is_not_read_again() -> None:
    wire, connection = connected()
    wire.closed = True
    connection.connection_lost(None)
    await asyncio.sleep(2 * GATHER_SECONDS)
    assert not wire.is_read
    with pytest.raises(ConnectionError, match="the server has closed the connection"):
        await anext(connection.pieces())
