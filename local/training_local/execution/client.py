"""The client of the API's `exec`: a program in a running container, connected with this process's standard streams.

One WebSocket, subprotocol `v5.channel.k8s.io` or its predecessor `v4`: the first byte of a message is its channel.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import aiohttp

from training_local.errors import BadInput
from training_local.execution import terminal

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_CONNECT_SECONDS: Final = 30.0


class ExecError(BadInput):
    """The program cannot be run; the message is the server's sentence."""

    def __init__(self, status: Mapping[str, Any]) -> None:
        super().__init__(str(status.get("message") or "the program could not be run"))
        self.reason = str(status.get("reason") or "")


@dataclass(frozen=True, slots=True)
class Execution:
    """What to execute where."""

    namespace: str
    pod: str
    container: str
    """Empty for the default one."""
    command: Sequence[str]
    stdin: bool
    tty: bool = False

    @property
    def query(self) -> list[tuple[str, str]]:
        """The parameters of the request (PodExecOptions)."""
        streams = {"stdin": self.stdin, "stdout": True, "stderr": not self.tty, "tty": self.tty}
        asked = [(name, "true") for name, wanted in streams.items() if wanted]
        chosen = [("container", self.container)] if self.container else []
        return [*chosen, *asked, *(("command", part) for part in self.command)]

    @property
    def path(self) -> str:
        """The subresource."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.pod}/exec"


async def execute(
    session: aiohttp.ClientSession,
    server: str,
    execution: Execution,
    server_hostname: str | None = None,
    proxy: str | None = None,
) -> int:
    """Run the program with this process's streams and return its exit status.

    Raises `ExecError` with the server's sentence if it cannot be run, and `ConnectionError` if the connection breaks.
    """
    url = f"{server.rstrip('/')}{execution.path}"
    async with asyncio.timeout(_CONNECT_SECONDS):
        try:
            socket = await session.ws_connect(
                url,
                params=execution.query,
                protocols=(V5, V4),
                max_msg_size=0,
                server_hostname=server_hostname,
                proxy=proxy,
            )
        except aiohttp.WSServerHandshakeError:
            raise ExecError(await failure_status(session, url, execution.query, execution.pod)) from None
        except aiohttp.ClientError as error:
            raise ConnectionError(str(error)) from None
    async with socket:
        with ExitStack() as stack:
            if execution.tty:
                stack.enter_context(terminal.raw())
            return await _converse(socket, execution)


async def failure_status(
    session: aiohttp.ClientSession, url: str, query: Sequence[tuple[str, str]], pod: str
) -> Mapping[str, Any]:
    """Ask again without WebSocket: only then the client library hands out the answer's sentence."""
    async with session.get(url, params=query) as answer:
        try:
            status: Mapping[str, Any] = await answer.json()
            return status
        except (ValueError, aiohttp.ClientError):
            return {"message": f"pod {pod} cannot be entered: the API server responds with {answer.status}"}


async def _converse(socket: aiohttp.ClientWebSocketResponse, execution: Execution) -> int:
    async with asyncio.TaskGroup() as tasks:
        sending = []
        if execution.stdin:
            sending.append(tasks.create_task(_send_input(socket)))
        if execution.tty:
            sending.append(tasks.create_task(_send_sizes(socket)))
        status = await _show_output(socket)
        for task in sending:
            task.cancel()
    return _exit_status(status)


async def _send_input(socket: aiohttp.ClientWebSocketResponse) -> None:
    async for data in terminal.typed():
        await socket.send_bytes(bytes((_STDIN,)) + data)
    if socket.protocol == V5:
        await socket.send_bytes(bytes((_CLOSE, _STDIN)))


async def _send_sizes(socket: aiohttp.ClientWebSocketResponse) -> None:
    changed = asyncio.Event()
    with terminal.resized(changed.set):
        while True:
            window = terminal.size()
            size = json.dumps({"Width": window.columns, "Height": window.lines}).encode()
            await socket.send_bytes(bytes((_RESIZE,)) + size)
            await changed.wait()
            changed.clear()


async def _show_output(socket: aiohttp.ClientWebSocketResponse) -> dict[str, Any]:
    """Print what arrives, and return the Status that comes at the end."""
    async for message in socket:
        data = message.data if isinstance(message.data, bytes) else str(message.data).encode()
        channel, content = data[:1], data[1:]
        if channel == bytes((_ERROR,)):
            status: dict[str, Any] = json.loads(content)
            return status
        if content:
            terminal.write(content, error=channel == bytes((_STDERR,)))
    raise ConnectionError("the connection to the container broke")


def _exit_status(status: Mapping[str, Any]) -> int:
    """Read how the program ended; raises `ExecError` if it could not be run."""
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or ()
    code = next((cause["message"] for cause in causes if cause.get("reason") == "ExitCode"), "")
    if not code.isdecimal():
        raise ExecError(status)
    return int(code)
