"""A command that goes on in the background once it has done what the terminal waits for."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Final, Self

_UP: Final = b"up"


class Detached:
    """The process in the background; its parent stays with the terminal until that is released or this one ends."""

    def __init__(self, report: int) -> None:
        self._report = report

    @classmethod
    def enter(cls) -> Self:
        """Return in a child process with a session of its own; the parent waits for it and never returns.

        The child prints where the parent would, until it lets go. If it ends before, its exit status is the parent's.
        """
        reading, report = os.pipe()
        sys.stdout.flush()
        if child := os.fork():
            os.close(report)
            _wait(reading, child)
        os.close(reading)
        os.setsid()
        # What is started from here on must not hold the terminal's or a pipe's other end open.
        sys.stdout, sys.stderr = (
            os.fdopen(os.dup(each.fileno()), "w", 1, each.encoding, each.errors) for each in (sys.stdout, sys.stderr)
        )
        _connect(os.open(os.devnull, os.O_RDWR), 0, 1, 2)
        return cls(report)

    def let_go(self, log: Path) -> None:
        """Release the terminal; output goes to the file `log`, which only its owner can read."""
        mine = [stream.fileno() for stream in (sys.stdout, sys.stderr)]  # loggers hold on to these streams
        _connect(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 1, 2, *mine)
        os.write(self._report, _UP)
        os.close(self._report)


def _wait(reading: int, child: int) -> None:
    """Wait until the child lets go or ends, and end with its exit status; an interrupt is passed on."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: os.kill(child, received))
    if os.read(reading, len(_UP)) == _UP:
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _connect(descriptor: int, *streams: int) -> None:
    for stream in streams:
        os.dup2(descriptor, stream)
    os.close(descriptor)
