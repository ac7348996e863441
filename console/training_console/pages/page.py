"""What every page is: fragments of HTML that are sent again when they have changed."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Protocol

from aiohttp import web

COALESCE_SECONDS: Final = 0.3
"""Changes within so long are sent together."""
PAUSE_SECONDS: Final = 1.0
"""Between two messages to one browser."""
HEARTBEAT_SECONDS: Final = 20.0
"""Proxies end connections on which nothing comes for longer, and do not always tell that the browser has left."""
MOST_SNAPSHOTS: Final = 64
LONGEST_SINCE: Final = 32
SINCE: Final = "since"
"""Query parameter of a stream: what the browser shows already."""

Fragments = Mapping[str, str]
"""Id of an element -> the element as HTML, in the order of the page."""


class Page(Protocol):
    """One address, open in a browser."""

    template: str
    changed: asyncio.Event
    every: float
    """Seconds after which it is looked at again although nothing was told; 0 for seldom."""

    async def fragments(self) -> Fragments:
        """Return what changes while the page is open, as it is now."""
        ...

    def context(self) -> Mapping[str, Any]:
        """Return what else the template needs, after `fragments`."""
        ...


class Snapshots:
    """What browsers show, by a name that the page has: a stream that is opened again continues from there."""

    def __init__(self) -> None:
        self._shown: OrderedDict[str, Mapping[str, int]] = OrderedDict()

    def keep(self, fragments: Fragments, name: str = "") -> str:
        """Remember what a page shows; returns its name."""
        name = name or secrets.token_urlsafe(12)
        self._shown[name] = hashes(fragments)
        self._shown.move_to_end(name)
        while len(self._shown) > MOST_SNAPSHOTS:
            self._shown.popitem(last=False)
        return name

    def of(self, name: str) -> Mapping[str, int]:
        """Return what the page of this name shows; nothing if it is not known."""
        return self._shown.get(name, {})


def hashes(fragments: Fragments) -> dict[str, int]:
    """Reduce fragments to what tells whether they have changed."""
    return {name: hash(html) for name, html in fragments.items()}


def changes(before: Mapping[str, int], now: Fragments) -> dict[str, Any] | None:
    """Return what a browser must change: elements to set, each with the one that it follows, and elements that go."""
    names = list(now)
    known = hashes(now)
    placed = [
        [name, now[name], names[position - 1] if position and name not in before else None]
        for position, name in enumerate(names)
        if before.get(name) != known[name]
    ]
    gone = [name for name in before if name not in now]
    return {"set": placed, "gone": gone} if placed or gone else None


async def stream(
    request: web.Request, page: Page, snapshots: Snapshots, problems: tuple[type[Exception], ...]
) -> web.StreamResponse:
    """Send the changes of a page, as server-sent events, until the browser leaves, or until one of the `problems`.

    That is sent as a sentence: what the page is about may have been deleted, or the viewer may not see it any more.
    """
    name = request.query.get(SINCE, "")[:LONGEST_SINCE]
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )
    await response.prepare(request)
    with suppress(ConnectionError):
        await response.write(b"retry: 2000\n\n")
        while True:
            page.changed.clear()
            try:
                now = await page.fragments()
            except problems as error:
                await response.write(f"data: {json.dumps({'problem': str(error)})}\n\n".encode())
                break
            if (message := changes(snapshots.of(name), now)) is not None:
                await response.write(f"data: {json.dumps(message)}\n\n".encode())
                name = snapshots.keep(now, name)
            else:
                await response.write(b": nothing new\n\n")  # tells whether the browser is still there
            await asyncio.sleep(PAUSE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(page.every or HEARTBEAT_SECONDS):
                    await page.changed.wait()
            await asyncio.sleep(COALESCE_SECONDS)
    return response
