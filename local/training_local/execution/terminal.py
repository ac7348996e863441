"""The user's own standard streams while a program elsewhere uses them: raw terminal, input as it comes, sizes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Final

_STDIN: Final = 0
_STDOUT: Final = 1
_BLOCK: Final = 1 << 16


def interactive() -> bool:
    """Whether a person sits before both ends: then the program elsewhere gets a terminal, too."""
    return os.isatty(_STDIN) and os.isatty(_STDOUT)


@contextmanager
def raw() -> Iterator[None]:
    """Let every key reach the program elsewhere, Ctrl-C included; afterwards the terminal is as before."""
    before = termios.tcgetattr(_STDIN)
    tty.setraw(_STDIN)
    try:
        yield
    finally:
        termios.tcsetattr(_STDIN, termios.TCSAFLUSH, before)


@contextmanager
def resized(call: Callable[[], None]) -> Iterator[None]:
    """Call `call` whenever the window gets another size."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGWINCH, call)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


def size() -> os.terminal_size:
    """Return columns and lines of the window."""
    return os.get_terminal_size(_STDOUT)


async def typed() -> AsyncIterator[bytes]:
    """Yield standard input as it comes, until its end."""
    while data := await _read():
        yield data


async def _read() -> bytes:
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    try:
        loop.add_reader(_STDIN, _settle, readable)
    except PermissionError:  # a file, which cannot be waited for and need not be
        return os.read(_STDIN, _BLOCK)
    try:
        await readable
    finally:
        loop.remove_reader(_STDIN)
    try:
        return os.read(_STDIN, _BLOCK)
    except OSError:  # the terminal has gone
        return b""


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def write(data: bytes, *, error: bool = False) -> None:
    """Print at once what the program elsewhere prints."""
    stream = (sys.stderr if error else sys.stdout).buffer
    stream.write(data)
    stream.flush()
