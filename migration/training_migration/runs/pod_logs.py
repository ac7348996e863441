"""What pods of a cluster print, followed while they run: v2 deletes pods at the end, and their logs with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from training_migration.runs.api import Api

Json = dict[str, Any]

_ATTEMPTS_TO_READ: Final = 5
_RETRY_SECONDS: Final = 1.0


class PodLogs:
    """Follows the log of one container of each pod, attempt by attempt."""

    def __init__(self, api: Api, container_of: Callable[[Json], str]) -> None:
        self._api, self._container_of = api, container_of
        self._lines: dict[tuple[str, int], list[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def note(self, pod: Json) -> None:
        """Follow what has begun to run since this pod was noted last."""
        container, uid = self._container_of(pod), pod["metadata"]["uid"]
        for status in (pod.get("status") or {}).get("containerStatuses") or ():
            if status["name"] != container:
                continue
            attempt = int(status.get("restartCount") or 0)
            if attempt and (uid, attempt - 1) not in self._lines:
                self._start(pod, container, attempt - 1, previous="true")
            if {"running", "terminated"} & (status.get("state") or {}).keys() and (uid, attempt) not in self._lines:
                self._start(pod, container, attempt, follow="true")

    def _start(self, pod: Json, container: str, attempt: int, **query: str) -> None:
        lines = self._lines[pod["metadata"]["uid"], attempt] = []
        task = asyncio.create_task(self._read(pod, container, lines, query))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read(self, pod: Json, container: str, lines: list[str], query: dict[str, str]) -> None:
        for _ in range(_ATTEMPTS_TO_READ):
            lines.clear()
            with suppress(OSError):
                async for line in self._api.log(pod, container, **query):
                    lines.append(line)  # noqa: PERF401 - what has come counts also where it breaks off
                return
            await asyncio.sleep(_RETRY_SECONDS)

    async def drain(self, seconds: float) -> None:
        """Wait until the logs of everything that has ended are here, then stop."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for task in self._tasks:
            task.cancel()

    @property
    def attempts(self) -> dict[str, list[list[str]]]:
        """Uid of a pod -> the lines of each attempt, the first one first."""
        found: dict[str, list[list[str]]] = {}
        for uid, attempt in sorted(self._lines):
            found.setdefault(uid, []).append(self._lines[uid, attempt])
        return found
