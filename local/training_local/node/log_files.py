"""The files in which logs lie: which there are, and which go before the disk is full."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_SEGMENT: Final = re.compile(r"(\d+)(?:\.(\d+))?\.log")
_LEAST_BYTES: Final = 4096
"""What a file takes of the disk, however little is in it."""


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How much is kept of what containers print; the oldest files go first."""

    segment_bytes: int = 1 << 20
    """Size of a file."""
    attempts: int = 2
    """The last so many of each container are kept."""
    container_bytes: int = 256 << 20
    total_bytes: int = 4 << 30
    """Of all containers together, or half of what the disk has, if that is less."""


@dataclass(slots=True)
class _Held:
    """The files of one container."""

    files: dict[Path, int] = field(default_factory=dict)
    """Bytes of each, the oldest first."""
    bytes: int = 0
    gone: bool = False
    """Whether its pod has been deleted: its logs can no longer be requested."""


class LogFiles:
    """The logs of all containers of a node, kept within limits.

    The newest file of each attempt stays as long as its pod: it may be at work, and says how the attempt ended.
    """

    def __init__(self, folder: Path, limits: LogLimits) -> None:
        """Take over what there is in `folder`, which is made."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self.folder, self.limits = folder, limits
        self._containers: dict[Path, _Held] = {}
        self._bytes = 0
        for directory in folder.glob("*/*/"):
            for number in segments(directory):
                path = segment(directory, *number)
                self._note(path, path.stat().st_size)
        self._most = min(limits.total_bytes, (shutil.disk_usage(folder).free + self._bytes) // 2)

    def begin(self, directory: Path, attempt: int) -> None:
        """Make room for the log of an attempt of a container: those long before it go."""
        for folder in (directory.parent, directory):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in segments(directory):
            if old[0] <= attempt - self.limits.attempts:
                self._remove(segment(directory, *old))

    def opened(self, path: Path) -> None:
        """Note a new file, the newest of its container."""
        self._note(path, 0)
        self._make_room(path.parent)

    def grew(self, path: Path, size: int) -> None:
        """Note that a file has grown to a size."""
        if (held := self._containers.get(path.parent)) and path in held.files:
            self._note(path, size)
            self._make_room(path.parent)

    def gone(self, pod: Path) -> None:
        """Note that a pod, whose logs are in this folder, has been deleted: they go first."""
        for directory, held in self._containers.items():
            held.gone = held.gone or directory.parent == pod

    def _note(self, path: Path, size: int) -> None:
        held = self._containers.setdefault(path.parent, _Held())
        more = max(size, _LEAST_BYTES) - held.files.get(path, 0)
        held.files[path] = held.files.get(path, 0) + more
        held.bytes += more
        self._bytes += more

    def _make_room(self, directory: Path) -> None:
        held = self._containers[directory]
        while held.bytes > self.limits.container_bytes and (oldest := _spare(held)):
            self._remove(oldest)
        while self._bytes > self._most and (oldest := self._oldest_of_all()):
            self._remove(oldest)

    def _oldest_of_all(self) -> Path | None:
        """One of a deleted pod, else of the container that holds most: a container with few lines keeps them."""
        in_order = sorted(self._containers.values(), key=lambda held: (not held.gone, -held.bytes))
        return next(filter(None, map(_spare, in_order)), None)

    def _remove(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()
        directory = path.parent
        if held := self._containers.get(directory):
            count = held.files.pop(path, 0)
            held.bytes -= count
            self._bytes -= count
            if not held.files:
                del self._containers[directory]
                with suppress(OSError):  # not empty
                    directory.rmdir()
                    directory.parent.rmdir()


def _spare(held: _Held) -> Path | None:
    """The oldest file of a container that may go."""
    newest = {} if held.gone else {_attempt(path): path for path in held.files}
    return next((path for path in held.files if newest.get(_attempt(path)) != path), None)


def _attempt(path: Path) -> str:
    return path.name.partition(".")[0]


def segment(directory: Path, attempt: int, number: int) -> Path:
    """The path of a file of an attempt's log."""
    return directory / (f"{attempt}.{number}.log" if number else f"{attempt}.log")


def segments(directory: Path) -> list[tuple[int, int]]:
    """The attempts of a container and the numbers of the files of each, in order."""
    return sorted(_found(directory)) if directory.is_dir() else []


def _found(directory: Path) -> Iterator[tuple[int, int]]:
    for entry in directory.iterdir():
        if match := _SEGMENT.fullmatch(entry.name):
            yield int(match[1]), int(match[2] or 0)


def attempts(directory: Path) -> list[int]:
    """The attempts of a container of which there is a log."""
    return sorted({attempt for attempt, _ in segments(directory)})
