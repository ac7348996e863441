"""Saying something to the API server until it listens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

_log = structlog.get_logger(__name__)

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 10.0


async def persistently(call: Callable[[], Awaitable[None]], what: str) -> None:
    """Repeat `call` with growing pauses while it raises `OSError`: no answer, or a rejection that may pass."""
    pause = _FIRST_PAUSE
    while True:
        try:
            await call()
        except OSError as error:
            _log.warning("the API server rejected it", what=what, error=str(error))
        else:
            return
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
