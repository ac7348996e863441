"""A program in a running container, connected with the user's own streams: the client of the API's `exec`.

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
from training_local.run import terminal
from training_local.run.targets import PodRef
from training_operator.kube.config import ClusterConfig

V5: Final = "v5.channel.k8s.io"
V4: Final = "v4.channel.k8s.io"
_STDIN, _STDOUT, _STDERR, _ERROR, _RESIZE, _CLOSE = 0, 1, 2, 3, 4, 255
_CONNECT_SECONDS: Final = 10.0

FIND_SHELL: Final = """\
[ -n "$2" ] && TERM=$2 && export TERM
for shell in "$1" bash sh; do command -v "$shell" >/dev/null 2>&1 && exec "$shell"; done"""
"""Becomes the shell that the user prefers and the container has. Its arguments: that shell, the kind of terminal."""


@dataclass(frozen=True, slots=True)
class Execution:
    """What to execute where."""

    pod: PodRef
    container: str
    command: Sequence[str]
    tty: bool
    stdin: bool

    @property
    def query(self) -> list[tuple[str, str]]:
        """The parameters of the request (PodExecOptions)."""
        streams = {"stdin": self.stdin, "stdout": True, "stderr": not self.tty, "tty": self.tty}
        asked = [(name, "true") for name, wanted in streams.items() if wanted]
        return [("container", self.container), *asked, *(("command", part) for part in self.command)]

    @property
    def path(self) -> str:
        """The subresource."""
        return f"/api/v1/namespaces/{self.pod.namespace}/pods/{self.pod.replica.pod}/exec"


def shell_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the user's shell, or of one that is there."""
    return ["sh", "-c", FIND_SHELL, "sh", environment.get("SHELL", ""), environment.get("TERM", "")]


def container_of(pod: PodRef, named: str) -> str:
    """Return the container to enter; raises `BadInput` if there is none of that name, or if it does not run."""
    names = [
        container["name"]
        for field in ("containers", "initContainers")
        for container in pod.stored["spec"].get(field) or ()
    ]
    container = named or pod.container or names[0]
    if container not in names:
        raise BadInput(f"{pod} has no container {container}; it has: {', '.join(names)}")
    replica = pod.replica
    if replica.phase in ("Succeeded", "Failed"):
        how = f" with {replica.last_end.brief}" if replica.last_end else ""
        look = f"training-operator local logs {replica.pod} -n {pod.namespace}"
        raise BadInput(f"{pod} has ended{how}: only a running container can be entered; its log: {look}")
    state = _state(pod.stored.get("status") or {}, container)
    if "running" not in state:
        why = replica.waiting or "it is being started"
        raise BadInput(f"container {container} of {pod} does not run: {why}")
    return container


def _state(status: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    known = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((each.get("state") or {} for each in known if each["name"] == container), {})


async def execute(config: ClusterConfig, execution: Execution) -> int:
    """Run the program with the user's streams and return its exit status.

    Raises `BadInput` with the server's sentence if it cannot be run, and `ConnectionError` if the connection breaks.
    """
    connector = aiohttp.TCPConnector(ssl=config.tls or False)
    authorization = await config.credentials.authorization()
    headers = {"Authorization": authorization} if authorization else {}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        url = f"{config.server.rstrip('/')}{execution.path}"
        async with asyncio.timeout(_CONNECT_SECONDS):
            try:
                socket = await session.ws_connect(
                    url,
                    params=execution.query,
                    protocols=(V5, V4),
                    max_msg_size=0,
                    server_hostname=config.server_name or None,
                    proxy=config.proxy or None,
                )
            except aiohttp.WSServerHandshakeError:
                raise BadInput(await _refusal(session, url, execution)) from None
            except aiohttp.ClientError as error:
                raise ConnectionError(str(error)) from None
        async with socket:
            with ExitStack() as stack:
                if execution.tty:
                    stack.enter_context(terminal.raw())
                return await _converse(socket, execution)


async def _refusal(session: aiohttp.ClientSession, url: str, execution: Execution) -> str:
    """Ask again without WebSocket: only then the client library hands out the answer's sentence."""
    async with session.get(url, params=execution.query) as answer:
        try:
            return str((await answer.json())["message"])
        except (ValueError, KeyError, aiohttp.ClientError):
            return f"{execution.pod} cannot be entered: the API server answers {answer.status}"


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
            told = json.dumps({"Width": window.columns, "Height": window.lines}).encode()
            await socket.send_bytes(bytes((_RESIZE,)) + told)
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
    """Read how the program ended; raises `BadInput` if it could not be run."""
    if status.get("status") == "Success":
        return 0
    causes = (status.get("details") or {}).get("causes") or ()
    code = next((cause["message"] for cause in causes if cause.get("reason") == "ExitCode"), "")
    if not code.isdecimal():
        raise BadInput(str(status.get("message") or "the program could not be run"))
    return int(code)
