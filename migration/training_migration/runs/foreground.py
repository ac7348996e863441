"""Work that Ctrl-C and SIGTERM end in good order: everything that has been created is removed first."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from training_operator.logs import configure
from training_operator.settings import LogFormat, LogLevel

T = TypeVar("T")


def finish(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end; raises KeyboardInterrupt when it was interrupted and has tidied up.

    Of the log of a cluster that it starts, users see warnings only.
    """
    configure(LogFormat.CONSOLE, LogLevel.WARNING)
    try:
        return asyncio.run(_interruptible(work))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _interruptible(work: Coroutine[Any, Any, T]) -> T:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    return await task
