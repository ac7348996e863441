"""How every command ends: with an exit status, in order when interrupted, with one sentence for a user's error."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from training_local.cluster.registry import STATE_VARIABLE, state_folder
from training_local.errors import BadInput, innermost
from training_operator.logs import configure
from training_operator.settings import LogFormat, LogLevel

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_TIMEOUT: Final = 124
EXIT_INTERRUPTED: Final = 130
EXIT_NO_READER: Final = 141
"""Of a program that SIGPIPE ends, because its output is no longer read, as in `... | head`."""


def finish(work: Coroutine[Any, Any, int]) -> None:
    """Run `work` to its end; a user's error is one sentence.

    SIGINT, SIGTERM and SIGHUP end it in order, a further SIGINT at once. Standard output is for what was asked for;
    warnings of the cluster's parts go to standard error.
    """
    configure(LogFormat.CONSOLE, LogLevel.WARNING)
    code = EXIT_USAGE
    try:
        code = asyncio.run(_interruptible(work))
    except* BadInput as group:
        print(f"training-operator local: {innermost(group)}", file=sys.stderr)
    except* BrokenPipeError:
        _turn_away_from_terminal()
        code = EXIT_NO_READER
    except* OSError as group:
        if getattr(innermost(group), "errno", None) not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(
            f"training-operator local: no space is left on the disk of {state_folder()} ({STATE_VARIABLE} moves it), "
            "or where the output goes",
            file=sys.stderr,
        )
    sys.exit(code)


@contextmanager
def one_sentence() -> Iterator[None]:
    """Print a user's error as one sentence, for work before the event loop: there any signal ends the process."""
    try:
        yield
    except BadInput as error:
        print(f"training-operator local: {error}", file=sys.stderr)
        sys.exit(EXIT_USAGE)


async def _interruptible(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    ending = False

    def end(number: signal.Signals) -> None:
        nonlocal ending
        if number is signal.SIGHUP:
            _turn_away_from_terminal()
        if ending and number is signal.SIGINT:
            os._exit(EXIT_INTERRUPTED)  # supervisors end with us, and files with the next start
        if not ending:
            ending = True
            task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number is not signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            loop.add_signal_handler(number, end, number)
    try:
        return await task
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED


def _turn_away_from_terminal() -> None:
    """Let what is still printed go nowhere: writing to a terminal or reader that has gone is an error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
