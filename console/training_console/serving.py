"""Running the web server until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click
import structlog
from aiohttp import web

from training_console.export import export
from training_console.reading.archive import ArchiveTransport, run_of
from training_console.reading.cluster import Cluster, over_http
from training_console.reading.viewers import Authenticator, KubeconfigUser, Sessions, TrustedProxy, Viewer
from training_console.security import LOOPBACK, Settings
from training_console.server import Console
from training_local.cluster.connection import access
from training_local.cluster.registry import find
from training_local.errors import BadInput
from training_local.run.archive import ArchivedRun
from training_operator import descriptors
from training_operator.connections import bound
from training_operator.kube.config import ClusterConfig, ConfigError, load
from training_operator.kube.credentials import Fixed
from training_operator.kube.transport import Transport

KEEP_ALIVE_SECONDS: Final = 75.0
PARENT_SECONDS: Final = 1.0

Connect = Callable[[Viewer], Transport]
"""Makes the connection of a viewer."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line says."""

    kubeconfig: Path | None
    cluster: str | None
    host: str
    port: int
    auth: str
    user_header: str
    groups_header: str
    trusted_proxy: tuple[str, ...]
    allowed_host: tuple[str, ...]
    base_path: str
    frame_ancestors: str
    open_browser: bool
    archive: Path | None = None
    export: Path | None = None
    end_with_parent: bool = False


def run(wanted: Wanted) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    descriptors.raise_soft_limit()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    with suppress(KeyboardInterrupt):
        try:
            asyncio.run(_run(wanted))
        except (BadInput, ConfigError) as error:
            raise click.ClickException(str(error)) from None


async def _run(wanted: Wanted) -> None:
    authenticator, settings = authenticator_of(wanted), settings_of(wanted)
    if wanted.archive is None and wanted.export is not None:
        raise BadInput("--export needs --archive: the run to write")
    if wanted.archive is None:
        connect = over_http(await _config(wanted))
    else:
        run = run_of(wanted.archive)
        if wanted.export is not None:
            await export(run, wanted.export)
            return
        connect = _archived(run)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # on Windows, where Ctrl-C is a KeyboardInterrupt
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with serving(connect, authenticator, settings, wanted.host, wanted.port) as port:
        host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
        address = f"http://{host}:{port}{settings.base_path}/"
        click.echo(address)
        click.echo("Ctrl-C stops the console.", err=True)
        if wanted.open_browser:
            webbrowser.open(address)
        await _until(stopped, with_parent=wanted.end_with_parent)


async def _until(stopped: asyncio.Event, *, with_parent: bool) -> None:
    """Wait for a signal or, `with_parent`, until another process has become the parent of this one."""
    parent = os.getppid()
    while not stopped.is_set() and (not with_parent or os.getppid() == parent):
        with suppress(TimeoutError):
            async with asyncio.timeout(PARENT_SECONDS if with_parent else None):
                await stopped.wait()


@asynccontextmanager
async def serving(
    connect: Connect, authenticator: Authenticator, settings: Settings, host: str, port: int
) -> AsyncIterator[int]:
    """Serve the console inside the context; yields the port. Raises `BadInput` if the address cannot be taken."""
    try:
        listeners = bound(host, port)
    except OSError as error:
        raise BadInput(f"--port: cannot listen on {host}:{port}: {error.strerror or error}") from None
    cluster = Cluster(connect)
    runner = web.AppRunner(
        Console(cluster, authenticator, settings).application(),
        access_log=None,
        handler_cancellation=True,
        keepalive_timeout=KEEP_ALIVE_SECONDS,
        shutdown_timeout=1.0,
    )
    await runner.setup()
    try:
        for listener in listeners:
            await web.SockSite(runner, listener).start()
        yield listeners[0].getsockname()[1]
    finally:
        await runner.cleanup()
        await cluster.close()


def _archived(run: ArchivedRun) -> Connect:
    return lambda _: ArchiveTransport(run)


async def _config(wanted: Wanted) -> ClusterConfig:
    anonymous = wanted.auth == "token"
    if wanted.cluster is None:
        return await load(str(wanted.kubeconfig or ""), anonymous=anonymous)
    if wanted.kubeconfig is not None:
        raise BadInput("--cluster and --kubeconfig are mutually exclusive: use one of them")
    config = access(find(wanted.cluster))
    return replace(config, credentials=Fixed()) if anonymous else config


def authenticator_of(wanted: Wanted) -> Authenticator:
    """Return how viewers are known; raises `BadInput` for flags that do not fit each other."""
    if wanted.auth == "token":
        return Sessions()
    if wanted.auth == "header":
        if not wanted.trusted_proxy:
            raise BadInput("--auth header needs --trusted-proxy: the networks of the proxy, such as 10.0.0.0/8")
        try:
            return TrustedProxy(wanted.user_header, wanted.groups_header, wanted.trusted_proxy)
        except ValueError as error:
            raise BadInput(f"--trusted-proxy: {error}") from None
    if not _is_loopback(wanted.host):
        raise BadInput(
            f"--host {wanted.host}: with --auth kubeconfig any client of the console has the permissions of "
            "its kubeconfig, so it listens on the loopback interface only; use --auth header or token"
        )
    return KubeconfigUser()


def settings_of(wanted: Wanted) -> Settings:
    """Return how the console is reached; raises `BadInput` for a path that is none."""
    base = wanted.base_path.rstrip("/")
    if base and (not base.startswith("/") or not base.isascii() or set(base) & set("?#{}\"'<> ")):
        raise BadInput(f"--base-path: {wanted.base_path!r} is not a path such as /training")
    if set(wanted.frame_ancestors) & set(";,\r\n"):
        raise BadInput("--frame-ancestors: must be one list of sources, such as 'self' https://example.com")
    return Settings(LOOPBACK | {each.lower() for each in wanted.allowed_host}, base, wanted.frame_ancestors)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
