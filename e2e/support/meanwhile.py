"""Work that continues next to other work, and whose failure is not lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager


@asynccontextmanager
async def meanwhile(work: Awaitable[None]) -> AsyncIterator[None]:
    """Do something else while the context lasts."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()
