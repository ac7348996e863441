"""Serving probes and metrics over plain HTTP: /healthz, /readyz, /metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

Check = Callable[[], str]
"""Says what is wrong; empty if nothing is."""


class CannotListen(Exception):
    """An address cannot be served; the message is one sentence for the user."""


def probe_routes(healthy: Check, ready: Check) -> list[web.RouteDef]:
    """Return the routes of the two probes."""
    return [web.get("/healthz", _answer(healthy)), web.get("/readyz", _answer(ready))]


def metric_routes(exposition: Callable[[], bytes]) -> list[web.RouteDef]:
    """Return the route of the metrics."""

    async def answer(_: web.Request) -> web.Response:
        kind = {"Content-Type": "text/plain; version=0.0.4; charset=utf-8"}
        return web.Response(body=exposition(), headers=kind)

    return [web.get("/metrics", answer)]


def _answer(check: Check) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        wrong = check()
        return web.Response(text=wrong or "ok", status=500 if wrong else 200)

    return answer


@asynccontextmanager
async def serving(address: str, routes: list[web.RouteDef], flag: str) -> AsyncIterator[int]:
    """Serve `routes` on `address` (`HOST:PORT`, `:PORT`, or `0` for nowhere) inside the context; yields the port.

    Raises `CannotListen`, naming `flag`, if the address is taken or not ours.
    """
    if address == "0":
        yield 0
        return
    host, _, port = address.rpartition(":")
    application = web.Application()
    application.add_routes(routes)
    runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host.strip("[]") or None, int(port))
        try:
            await site.start()
        except OSError as error:
            raise CannotListen(f"{flag}: cannot listen on {address}: {error.strerror or error}") from None
        yield runner.addresses[0][1] if runner.addresses else int(port)
    finally:
        await runner.cleanup()
