"""How every command ends: with an exit status, in order when interrupted, with one sentence for a user's error."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, Final

from training_local.apply import BadInput

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_TIMEOUT: Final = 124
EXIT_INTERRUPTED: Final = 130


def finish(work: Coroutine[Any, Any, int]) -> None:
    """Run `work` to its end; an interrupt ends it in order, a user's error is one sentence."""
    code = EXIT_USAGE
    try:
        code = asyncio.run(_interruptible(work))
    except* BadInput as group:
        print(f"training-operator local: {_innermost(group)}", file=sys.stderr)
    sys.exit(code)


def _innermost(error: BaseException) -> BaseException:
    """Return the error inside the groups into which the parts of the cluster wrap it."""
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _interruptible(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED
