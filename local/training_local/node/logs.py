"""Container output on disk: written as it comes, in rotated files, and read back as `kubectl logs` wants it.

Each record is a line with a head of fixed width: time, stream and whether it ends a line (`F`) or is part of one (`P`).
A process only ever waits for the disk: readers take what they show from the files.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import structlog

from training_local.apiserver.pods import LogOptions
from training_local.node.log_files import LogFiles, segment, segments

_log = structlog.get_logger(__name__)

STREAMS = ("stdout", "stderr")

_TIME_WIDTH = 30
_HEAD_WIDTH = _TIME_WIDTH + len(" stdout F ")
_TAG = _HEAD_WIDTH - 2
_BLOCK = 1 << 16
_PIPE_BYTES = 1 << 20
_LONGEST_LINE = 1 << 14  # as container runtimes split lines
_LONGEST_SHOWN = 1 << 20  # a reader does not hold more of one line in memory


def _stamp(nanoseconds: int) -> str:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:09d}Z"


class LogWriter:
    """The log of one attempt of one container while its process runs."""

    def __init__(self, files: LogFiles, directory: Path, attempt: int) -> None:
        """Raises `OSError` if no file can be opened."""
        files.begin(directory, attempt)
        self._files, self._directory, self._attempt = files, directory, attempt
        self._loop = asyncio.get_running_loop()
        self._number = 0
        self._path = segment(directory, attempt, 0)
        self._file = self._open(self._path)
        self._size = 0
        self._losing = False
        self._rests = dict.fromkeys(STREAMS, b"")
        self._pipes: dict[str, int] = {}
        self._change = self._loop.create_future()
        self.ended = asyncio.Event()

    def pipes(self) -> tuple[int, int]:
        """Make the pipes to be given to the process as standard output and error; the caller closes them."""
        ends: list[int] = []
        try:
            for stream in STREAMS:
                self._pipes[stream], write = os.pipe()
                ends.append(write)
        except OSError:  # too many files are open
            for descriptor in (*ends, *self._pipes.values(), self._file):
                os.close(descriptor)
            raise
        for stream, read in self._pipes.items():
            os.set_blocking(read, False)
            with suppress(OSError, AttributeError):  # not granted, or not Linux; then the usual size has to do
                fcntl.fcntl(read, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
            self._loop.add_reader(read, self._take, stream)
        return ends[0], ends[1]

    def change(self) -> asyncio.Future[None]:
        """What is done as soon as something more is written or the log ends."""
        return self._change

    async def finish(self, patience: float) -> None:
        """Take in the rest of the output, at most for `patience` seconds (another process may hold it), and end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self.ended.wait()
        for stream in list(self._pipes):
            self._end(stream)

    def _open(self, path: Path) -> int:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._files.opened(path)
        return opened

    def _take(self, stream: str) -> None:
        try:
            data = os.read(self._pipes[stream], _BLOCK)
        except BlockingIOError:
            return
        if data:
            self._add(stream, data)
        else:
            self._end(stream)

    def _add(self, stream: str, data: bytes) -> None:
        head = f"{_stamp(time.time_ns())} {stream} ".encode()
        whole, newline, rest = (self._rests[stream] + data).rpartition(b"\n")
        records = b""
        if newline:
            records = head + b"F " + whole.replace(b"\n", b"\n" + head + b"F ") + b"\n"
        if len(rest) >= _LONGEST_LINE:
            records, rest = records + head + b"P " + rest + b"\n", b""
        self._rests[stream] = rest
        if records:
            self._write(records)

    def _end(self, stream: str) -> None:
        if rest := self._rests[stream]:
            self._rests[stream] = b""
            self._write(f"{_stamp(time.time_ns())} {stream} P ".encode() + rest + b"\n")
        read = self._pipes.pop(stream)
        self._loop.remove_reader(read)
        os.close(read)
        if not self._pipes:
            os.close(self._file)
            self.ended.set()
            self._announce()

    def _write(self, records: bytes) -> None:
        """Write whole records; where the disk takes none they are lost, and the program goes on."""
        try:
            if self._size and self._size + len(records) > self._files.limits.segment_bytes:
                self._rotate()
            view = memoryview(records)
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            if not self._losing:
                _log.warning(
                    "the output of a container is lost: its log cannot be written",
                    log=str(self._path),
                    error=str(error),
                )
            self._losing = True
            with suppress(OSError):
                os.ftruncate(self._file, self._size)  # no part of a record
            return
        self._losing = False
        self._size += len(records)
        self._files.grew(self._path, self._size)
        self._announce()

    def _rotate(self) -> None:
        path = segment(self._directory, self._attempt, self._number + 1)
        opened = self._open(path)
        os.close(self._file)
        self._number, self._path, self._file, self._size = self._number + 1, path, opened, 0

    def _announce(self) -> None:
        if not self._change.done():
            self._change.set_result(None)
        self._change = self._loop.create_future()


class LogReader:
    """Reads one attempt's log, and follows it while `writer` is at work."""

    def __init__(self, directory: Path, attempt: int, writer: LogWriter | None) -> None:
        self._directory, self._attempt, self._writer = directory, attempt, writer

    async def read(self, options: LogOptions) -> AsyncIterator[list[bytes]]:
        """Yield batches of the lines that are asked for, each with its newline, the last one as it is."""
        shape = _Shape(options)
        async for block in self._blocks(options):
            if lines := list(shape.lines(block)):
                yield lines
            if shape.full:
                return
            await asyncio.sleep(0)  # a long log must not hold up other work
        if rest := list(shape.end()):
            yield rest

    async def _blocks(self, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield whole records, from where the wanted ones can begin."""
        number, offset = self._start(options.tail_lines)
        rest = b""
        while True:
            ended = self._writer is None or self._writer.ended.is_set()
            changed = self._writer.change() if self._writer else None
            newer = [n for n in self._numbers() if n > number]
            try:
                with segment(self._directory, self._attempt, number).open("rb") as file:
                    file.seek(offset)
                    while block := file.read(_BLOCK):
                        offset += len(block)
                        whole, newline, rest = (rest + block).rpartition(b"\n")
                        yield whole + newline
            except FileNotFoundError:
                pass  # rotated away before it was read
            if newer:
                number, offset = newer[0], 0
            elif ended or not options.follow or changed is None:
                return
            else:
                await asyncio.shield(changed)

    def _start(self, tail_lines: int | None) -> tuple[int, int]:
        """Segment and offset of the first of the last `tail_lines` lines."""
        numbers = self._numbers()
        first = numbers[0] if numbers else 0
        if tail_lines is None:
            return first, 0
        for number in reversed(numbers):
            with suppress(FileNotFoundError):  # it went meanwhile
                data = segment(self._directory, self._attempt, number).read_bytes()
                starts = list(_line_starts(data))
                if len(starts) >= tail_lines:
                    return number, starts[-tail_lines] if tail_lines else len(data)
                tail_lines -= len(starts)
        return first, 0

    def _numbers(self) -> list[int]:
        return [number for attempt, number in segments(self._directory) if attempt == self._attempt]


def _line_starts(data: bytes) -> Iterator[int]:
    """Offsets at which lines of output (not parts of them) begin."""
    offset, continued = 0, False
    while offset < len(data):
        if not continued:
            yield offset
        continued = data[offset + _TAG : offset + _TAG + 1] == b"P"
        end = data.find(b"\n", offset)
        offset = end + 1 if end >= 0 else len(data)


class _Shape:
    """Turns records into the lines that the client wants to see."""

    def __init__(self, options: LogOptions) -> None:
        self._timestamps = options.timestamps
        self._since = _since(options)
        self._left = options.limit_bytes
        self._line = b""

    @property
    def full(self) -> bool:
        """Whether as much has been given out as was asked for."""
        return self._left == 0

    def lines(self, records: bytes) -> Iterator[bytes]:
        """The lines that end in these records, without their heads."""
        for record in records.split(b"\n")[:-1]:
            if record < self._since:
                continue
            if self._timestamps and not self._line:
                self._line = record[: _TIME_WIDTH + 1]
            self._line += record[_HEAD_WIDTH:]
            part = record[_TAG : _TAG + 1] == b"P"
            if not part:
                self._line += b"\n"
            if not part or len(self._line) > _LONGEST_SHOWN:
                yield from self.end()

    def end(self) -> Iterator[bytes]:
        """What there is of a line that has no end yet."""
        line, self._line = self._line, b""
        if self._left is not None:
            line = line[: self._left]
            self._left -= len(line)
        if line:
            yield line


def _since(options: LogOptions) -> bytes:
    """The stamp from which on records are wanted."""
    if options.since_seconds is not None:
        return _stamp(time.time_ns() - options.since_seconds * 1_000_000_000).encode()
    if options.since_time:
        return _stamp(int(datetime.fromisoformat(options.since_time).timestamp() * 1e9)).encode()
    return b""
