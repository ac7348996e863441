"""Serving probes and metrics over plain HTTP: /healthz, /readyz, /metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from training_operator.connections import Connections, bound

IDLE_MOST: Final = 256
"""Connections without a request that are kept on a port: kubelets and Prometheus have a handful."""
KEEP_ALIVE_SECONDS: Final = 75.0
"""Longer than between two scrapes."""

Check = Callable[[], str]
"""Says what is wrong; empty if nothing is."""
Routes = Mapping[str, Callable[[], web.Response]]


class CannotListen(Exception):
    """An address cannot be served; the message is one sentence for the user."""


def probe_routes(healthy: Check, ready: Check) -> Routes:
    """Return the answers of the two probes."""
    return {"/healthz": lambda: _said(healthy()), "/readyz": lambda: _said(ready())}


def metric_routes(exposition: Callable[[], bytes]) -> Routes:
    """Return the answer of the metrics."""
    kind = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
    return {"/metrics": lambda: web.Response(body=exposition(), headers=kind)}


def _said(wrong: str) -> web.Response:
    return web.Response(text=wrong or "ok", status=500 if wrong else 200)


@asynccontextmanager
async def serving(address: str, routes: Routes, flag: str) -> AsyncIterator[int]:
    """Serve `routes` on `address` (`HOST:PORT`, `:PORT`, or `0` for nowhere) inside the context; yields the port.

    Raises `CannotListen`, naming `flag`, if the address is taken or not ours.
    """
    if address == "0":
        yield 0
        return
    host, _, port = address.rpartition(":")
    try:
        listeners = bound(host.strip("[]") or None, int(port))
    except OSError as error:
        raise CannotListen(f"{flag}: cannot listen on {address}: {error.strerror or error}") from None

    async def answer(request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="405: Method Not Allowed")
        found = routes.get(request.path)
        return found() if found else web.Response(status=404, text="404: Not Found")

    connections = Connections(answer, idle_most=IDLE_MOST, keepalive_timeout=KEEP_ALIVE_SECONDS)
    async with connections.listening(listeners):
        try:
            yield listeners[0].getsockname()[1]
        finally:
            await connections.close()
