"""The subresource `exec` of pods: a program inside a running container, over a WebSocket.

Protocols `v4.channel.k8s.io` and, with a way to end standard input, `v5.channel.k8s.io` (KEP-4006): the first byte of a
message is its channel.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from aiohttp import WSMsgType, web

from training_local.apiserver.errors import ApiError, Json, bad_request
from training_local.apiserver.options import Query, flag
from training_local.apiserver.pods import chosen_container
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.state import State

OutputName = Literal["stdout", "stderr"]

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"

_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_OUTPUTS = {"stdout": _STDOUT, "stderr": _STDERR}
_LONGEST_MESSAGE = 32 << 20
_WAITING_MESSAGES = 16
_END = b""

UPGRADE_REQUIRED = "Upgrade request required"
"""What the real server says to a request that does not ask to leave HTTP."""


@dataclass(frozen=True, slots=True)
class ExecOptions:
    """What to execute where, and which streams the client wants (PodExecOptions)."""

    container: str
    command: Sequence[str]
    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """Columns and lines of the client's terminal."""

    width: int
    height: int


Execution = Callable[["Channels"], Awaitable[int]]
"""Executes the program and returns its exit status; raises `ApiError` if it cannot be executed."""


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """A valid request, of which only the node knows whether it can be fulfilled."""

    options: ExecOptions
    start: Callable[[], Execution]
    """Raises `ApiError` at once if the container does not run."""


def exec_request(
    state: State,
    target: RequestInfo,
    query: Query,
    command: Sequence[str],
    start: Callable[[Json, ExecOptions], Execution] | None,
) -> ExecRequest:
    """Read a request; raises `ApiError` for a pod without node, an unknown container, or nothing to execute.

    `command` is every value of the query parameter of this name; `start` is what the node does, if there is one.
    """
    pod = state.require(target.type, target.namespace, target.name).object()
    container = chosen_container(query, target.name, pod)
    if not pod["spec"].get("nodeName") or start is None:
        raise bad_request(f"pod {target.name} does not have a host assigned")
    tty = flag(query, "tty")
    options = ExecOptions(
        container=container,
        command=tuple(command),
        stdin=flag(query, "stdin"),
        stdout=flag(query, "stdout"),
        stderr=flag(query, "stderr") and not tty,  # a terminal has one output
        tty=tty,
    )
    if not options.command:
        raise bad_request("you must specify at least one query parameter `command`: the program and its arguments")
    if not (options.stdin or options.stdout or options.stderr):
        raise bad_request("you must specify at least 1 of stdin, stdout, stderr")
    return ExecRequest(options, partial(start, pod, options))


def ended(code: int, command: Sequence[str]) -> Json:
    """Return the Status of a program that has ended."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    how = f"error executing command [{' '.join(command)}], exit code {code}"
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {how}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def check_upgrade(http: web.BaseRequest) -> str:
    """Return the protocol to speak; raises `ApiError` if the client asks for none that is known here."""
    upgrade = http.headers.get("Upgrade", "").lower()
    if not upgrade:
        raise bad_request(UPGRADE_REQUIRED)
    if upgrade != "websocket":
        raise bad_request(
            f"this server executes commands over WebSocket only, not over {http.headers['Upgrade']}: use kubectl 1.30 "
            "or newer, without KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false (kubectl 1.29 needs it to be true)"
        )
    offered = [each.strip() for each in http.headers.get("Sec-WebSocket-Protocol", "").split(",")]
    for protocol in (V5, V4):
        if protocol in offered:
            return protocol
    raise bad_request(f"unable to negotiate a WebSocket subprotocol: {V5} and {V4} are known, not {offered}")


class Channels:
    """The streams of one execution on a WebSocket."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self._socket = socket
        self._input: asyncio.Queue[bytes] = asyncio.Queue(_WAITING_MESSAGES)
        self._sizes: asyncio.Queue[TerminalSize] = asyncio.Queue()

    async def input(self) -> AsyncIterator[bytes]:
        """Yield what the client sends to standard input, until it says that there will be no more."""
        while data := await self._input.get():
            yield data

    async def sizes(self) -> AsyncIterator[TerminalSize]:
        """Yield every size of the client's terminal, for ever."""
        while True:
            yield await self._sizes.get()

    async def output(self, stream: OutputName, data: bytes) -> None:
        """Send what the program prints; waits while the client is slow."""
        await self._send(_OUTPUTS[stream], data)

    async def _send(self, channel: int, data: bytes) -> None:
        await self._socket.send_bytes(bytes((channel,)) + data)

    async def open(self, request: ExecRequest) -> None:
        """Send an empty message on the first channel that the client reads, which shows it that it is connected."""
        options = request.options
        await self._send(_STDOUT if options.stdout else _STDERR if options.stderr else _ERROR, b"")

    async def close(self, status: Json) -> None:
        """Say how it ended, and end the connection."""
        await self._send(_ERROR, json.dumps(status).encode())
        await self._socket.close()

    async def listen(self) -> None:
        """Sort what the client sends until it leaves."""
        async for message in self._socket:
            if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
                data = message.data if isinstance(message.data, bytes) else message.data.encode()
                await self._take(data[:1], data[1:])

    async def _take(self, channel: bytes, data: bytes) -> None:
        if channel == bytes((_STDIN,)) and data:
            await self._input.put(data)
        elif channel == bytes((_CLOSE,)) and data == bytes((_STDIN,)) and self._socket.ws_protocol == V5:
            await self._input.put(_END)
        elif channel == bytes((_RESIZE,)):
            with suppress(ValueError, TypeError, KeyError):  # as the real server: what is no size is passed over
                size = json.loads(data)
                self._sizes.put_nowait(TerminalSize(int(size["Width"]), int(size["Height"])))


async def execute(http: web.BaseRequest, request: ExecRequest) -> web.WebSocketResponse:
    """Execute what is asked for over the connection of `http`; raises `ApiError` before it is upgraded.

    A request for a container that does not run is rejected before the upgrade with version 4, where a kubelet answers,
    and on the error channel with version 5, where the API server has upgraded before it asks the kubelet.
    """
    protocol = check_upgrade(http)
    try:
        execution: Execution | ApiError = request.start()
    except ApiError as error:
        if protocol == V4:
            raise
        execution = error
    socket = web.WebSocketResponse(protocols=(protocol,), compress=False, max_msg_size=_LONGEST_MESSAGE, timeout=1)
    await socket.prepare(http)
    channels = Channels(socket)
    with suppress(ConnectionError):  # the client has left
        await channels.open(request)
        if isinstance(execution, ApiError):
            await channels.close(execution.status())
        else:
            await _run(channels, execution, request.options.command)
    return socket


async def _run(channels: Channels, execution: Execution, command: Sequence[str]) -> None:
    listening = asyncio.create_task(channels.listen())
    running = asyncio.create_task(_outcome(channels, execution))
    try:
        # A client that leaves takes its streams with it; the program goes on, as on a cluster.
        await asyncio.wait([listening, running], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            listening.cancel()
            await asyncio.wait([listening])
            outcome = running.result()
            await channels.close(outcome.status() if isinstance(outcome, ApiError) else ended(outcome, command))
    finally:
        for task in (listening, running):
            task.cancel()
        await asyncio.wait([listening, running])


async def _outcome(channels: Channels, execution: Execution) -> int | ApiError:
    try:
        return await execution(channels)
    except ApiError as error:
        return error
