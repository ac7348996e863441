"""The server as a `Transport` in the same process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from e2e.support.api_client import Client, virtual_now, virtual_server

from training_local.apiserver.metrics_api import Amounts, Measurement
from training_local.apiserver.pods import LogOptions
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import Request

pytestmark = pytest.mark.virtual_time

POD_PATH = "/api/v1/namespaces/n/pods"


async def test_silence_is_a_time_out() -> None:
    async with virtual_server() as client:
        request = Request("GET", POD_PATH, {"watch": "1"}, timeout=20)
        async with client.transport.stream(request) as stream:
            with pytest.raises(TimeoutError):
                await anext(aiter(stream.lines))
        assert not client.server.state.storage.collection(("", "pods")).subscribers


async def test_a_rejected_stream_has_the_whole_body() -> None:
    async with virtual_server() as client:
        request = Request("GET", POD_PATH, {"watch": "1", "labelSelector": "a in b"})
        async with client.transport.stream(request) as stream:
            assert stream.status == 400
            assert json.loads(stream.body)["reason"] == "BadRequest"
            assert [line async for line in stream.lines] == []


async def test_closing_ends_streams_and_rejects_requests() -> None:
    async with virtual_server() as client:
        async with client.transport.stream(Request("GET", POD_PATH, {"watch": "1"})) as stream:
            await client.transport.close()
            assert [line async for line in stream.lines] == []
        with pytest.raises(OSError, match="closed"):
            await client.transport.request(Request("GET", POD_PATH))


async def test_an_answer_takes_a_turn_of_the_loop() -> None:
    """Otherwise a client could starve everybody else, and tests would not see interleavings that HTTP has."""
    async with virtual_server() as client:
        turns: list[str] = []
        asyncio.get_running_loop().call_soon(turns.append, "other")
        await client.transport.request(Request("GET", POD_PATH))
        assert turns == ["other"]


async def test_an_error_of_the_body_leaves_a_running_server_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with ApiServer(BUILTIN, lambda definition: (), now=virtual_now).running():
            raise KeyError("of the test")


class _Printed:
    """A node with the log of a container that prints two lines."""

    def usage(self) -> Measurement:
        return Measurement(virtual_now(), Amounts(0, 0, 1))

    def lines(self, pod: dict[str, object], options: LogOptions) -> AsyncIterator[list[bytes]]:
        self.asked = options
        return self._lines()

    async def _lines(self) -> AsyncIterator[list[bytes]]:
        yield [b"one\n"]
        await asyncio.sleep(5)
        yield [b"two\n"]


async def test_logs_come_from_their_source() -> None:
    source: Any = _Printed()  # without the other methods of a node
    server = ApiServer(BUILTIN, lambda definition: (), now=virtual_now)
    server.attach_node(source)
    async with server.running():
        client = Client(server)
        await client.create("/api/v1/namespaces", "n")
        await client.create(POD_PATH, "a", spec={"nodeName": "n1"})
        query = {"follow": "true", "tailLines": "5", "container": "c"}
        async with InMemoryTransport(server).stream(Request("GET", f"{POD_PATH}/a/log", query)) as stream:
            assert [line async for line in stream.lines] == [b"one\n", b"two\n"]
        assert source.asked == LogOptions(container="c", follow=True, tail_lines=5)
        assert await client.call("GET", f"{POD_PATH}/a/log") == (200, b"one\ntwo\n")
