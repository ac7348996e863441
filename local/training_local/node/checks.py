"""What probes and hooks do: run a program in the container, send an HTTP request, open a connection."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin, urlsplit

import aiohttp

from training_local.node.podspec import Container, Wire
from training_local.node.probes import ProbeResult
from training_local.node.programs import Program, output
from training_local.node.sandbox.client import SandboxError

USER_AGENT: Final = "kube-probe/1.34"
_MOST_BYTES = 10 << 10
_MOST_REDIRECTS = 10


@dataclass(frozen=True, slots=True)
class Inside:
    """How to reach into a running container and its pod's network."""

    container: Container
    address: str
    launch: Callable[[Sequence[str]], Awaitable[Program]]
    open_socket: Callable[[], Awaitable[socket.socket]]

    def port(self, given: int | str) -> int:
        """The number of a port that is given by number or by name; raises `ValueError`."""
        for port in self.container.ports:
            if port.name == given:
                return port.container_port
        return int(given)


async def ask(action: Wire, inside: Inside, seconds: float) -> ProbeResult:
    """Carry out the action of a probe within so many seconds."""
    try:
        if "exec" in action:
            return await _execute(action["exec"].get("command") or (), inside, seconds)
        if "httpGet" in action:
            return await _get(action["httpGet"], inside, seconds)
        return await _connect(action["tcpSocket"], inside, seconds)
    except (SandboxError, ValueError) as error:
        return ProbeResult(False, str(error))


async def _execute(command: Sequence[str], inside: Inside, seconds: float | None) -> ProbeResult:
    program = await inside.launch(command)
    try:
        async with asyncio.timeout(seconds):
            code, said = await output(program, _MOST_BYTES)
    except TimeoutError:
        program.process.signal(signal.SIGKILL)
        return ProbeResult(False, f'command "{" ".join(command)}" timed out after {seconds:g}s')
    finally:
        program.close()
    return ProbeResult(code == 0, said.decode(errors="replace"))


async def _connect(action: Wire, inside: Inside, seconds: float) -> ProbeResult:
    host, port = action.get("host") or inside.address, inside.port(action["port"])
    with await inside.open_socket() as connection:
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().sock_connect(connection, (_numeric(host), port))
        except TimeoutError:
            return ProbeResult(False, f"dial tcp {host}:{port}: i/o timeout")
        except OSError as error:
            return ProbeResult(False, f"dial tcp {host}:{port}: {_go_error(error)}")
    return ProbeResult(True)


async def _get(action: Wire, inside: Inside, seconds: float) -> ProbeResult:
    url = _url(action, inside)
    try:
        async with asyncio.timeout(seconds):
            status = await _request(url, action, inside)
    except TimeoutError:
        said = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        return ProbeResult(False, f'Get "{url}": {said}')
    except aiohttp.ClientConnectorError as error:
        return ProbeResult(False, f'Get "{url}": dial tcp {urlsplit(url).netloc}: {_go_error(error.os_error)}')
    except (aiohttp.ClientError, OSError) as error:
        return ProbeResult(False, f'Get "{url}": {error}')
    if 200 <= status < 400:
        return ProbeResult(True)
    return ProbeResult(False, f"HTTP probe failed with statuscode: {status}")


def _url(action: Wire, inside: Inside) -> str:
    """The URL of an `httpGet` action; raises `ValueError` for an unknown port."""
    scheme, host = str(action.get("scheme") or "HTTP").lower(), action.get("host") or inside.address
    path = str(action.get("path") or "/")
    return f"{scheme}://{host}:{inside.port(action['port'])}{path if path.startswith('/') else f'/{path}'}"


async def _request(url: str, action: Wire, inside: Inside) -> int:
    """The status of an answer; redirections are followed as long as they stay at the same host."""
    headers = {"User-Agent": USER_AGENT, "Accept": "*/*"}
    headers |= {header["name"]: header.get("value", "") for header in action.get("httpHeaders") or ()}
    for _ in range(_MOST_REDIRECTS):
        status, location = await _request_once(url, headers, inside)
        target = urljoin(url, location)
        if not 300 <= status < 400 or not location or urlsplit(target).hostname != urlsplit(url).hostname:
            return status
        url = target
    raise aiohttp.ClientError(f"stopped after {_MOST_REDIRECTS} redirects")


async def _request_once(url: str, headers: Mapping[str, str], inside: Inside) -> tuple[int, str]:
    with await inside.open_socket() as opened:
        # Certificates are not checked, as by a kubelet: they are not made for addresses of pods.
        connector = aiohttp.TCPConnector(ssl=False, socket_factory=lambda _: opened)
        async with (
            aiohttp.ClientSession(connector=connector, headers=headers) as session,
            session.get(url, allow_redirects=False) as answer,
        ):
            return answer.status, answer.headers.get("Location", "")


def _numeric(host: str) -> str:
    """The address; names are not looked up here, because they mean something else inside."""
    return str(ipaddress.ip_address(host))


def _go_error(error: OSError) -> str:
    return f"connect: {(os.strerror(error.errno) if error.errno else str(error)).lower()}"


async def hook(action: Wire, inside: Inside) -> str:
    """Carry out a lifecycle hook; return what was wrong, empty if nothing was."""
    try:
        if "exec" in action:
            outcome = await _execute(action["exec"].get("command") or (), inside, None)
            return "" if outcome.ok else outcome.text or "the command failed"
        if "httpGet" in action:
            await _request(_url(action["httpGet"], inside), action["httpGet"], inside)
        if "sleep" in action:
            await asyncio.sleep(action["sleep"].get("seconds") or 0)
    except (SandboxError, ValueError, aiohttp.ClientError, OSError) as error:
        return str(error)
    return ""
