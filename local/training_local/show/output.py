"""Standard output that never makes the cluster wait, whether a terminal is stopped or a pager is being read."""

from __future__ import annotations

import asyncio
import io
import os
import threading
from collections import deque
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, TextIO

MOST_WAITING: Final = 1 << 20
"""Characters that may wait to be written before those who can wait should do so."""
_LAST_SECONDS: Final = 5.0
"""How long an untimely end waits for a reader."""


class Output(io.TextIOBase):
    """A text stream that a thread writes out, inside its context."""

    def __init__(self, file: TextIO) -> None:
        self._descriptor, self._encoding = file.fileno(), file.encoding
        self._terminal = file.isatty()
        self._texts: deque[str] = deque()
        self._size = 0
        self._closing = False
        self._error: OSError | None = None
        self._change = threading.Condition()
        self._ended = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=self._write_out, name="output", daemon=True)

    async def __aenter__(self) -> Self:
        """Begin to write."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait until the rest has been read; after an error or interrupt not for long."""
        with self._change:
            self._closing = True
            self._change.notify_all()
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS if kind else None):
                await self._ended.wait()

    @property
    def encoding(self) -> str:  # type: ignore[override]  # an attribute in typeshed, read-only here
        """That of the file."""
        return self._encoding

    @property
    def idle(self) -> bool:
        """Whether everything has been written."""
        return self._size == 0

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._terminal

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._descriptor

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, text: str) -> int:
        """Have `text` written soon; raises `OSError` if what came before could not be."""
        with self._change:
            if self._error is not None:
                raise self._error
            self._texts.append(text)
            self._size += len(text)
            self._change.notify_all()
        return len(text)

    async def room(self) -> None:
        """Wait while too much waits to be written."""
        if self._size > MOST_WAITING:
            await asyncio.to_thread(self._wait_for_room)

    def _wait_for_room(self) -> None:
        with self._change:
            while self._size > MOST_WAITING and not self._closing:
                self._change.wait()

    def _write_out(self) -> None:
        while text := self._next():
            rest = memoryview(text.encode(self._encoding, "backslashreplace"))
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError as error:
                self._error = error
            with self._change:
                self._size -= len(text)
                self._change.notify_all()
        with suppress(RuntimeError):  # the loop did not wait for us
            self._loop.call_soon_threadsafe(self._ended.set)

    def _next(self) -> str:
        """Wait for text and take all there is; empty at the end."""
        with self._change:
            while not self._texts and not self._closing:
                self._change.wait()
            text = "".join(self._texts)
            self._texts.clear()
        return text
