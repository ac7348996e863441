"""What replicas print: one, or several interleaved in the order of time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import web

from training_api.printable import printable
from training_console.model.pods import PodRow
from training_console.pages.html import Macros
from training_console.pages.job import JobName
from training_console.reading.cluster import Reader
from training_local.run.pod_logs import LogChoice, LogFollower, LogLine, LogUnavailable, merged, read_log
from training_local.run.watching import watch

TAILS: Final = (200, 1_000, 5_000)
"""Lines that a page may begin with, of all replicas together."""
MOST_REPLICAS: Final = 16
"""Interleaved on one page."""
LONGEST_LINE: Final = 4_000
LONGEST_SEARCH: Final = 200
BATCH_SECONDS: Final = 0.3
MOST_IN_BATCH: Final = 1_000
TRACEBACK: Final = "Traceback (most recent call last)"
COLOURS: Final = 8


@dataclass(frozen=True, slots=True)
class Shown:
    """One line as the page has it."""

    replica: str
    colour: int
    stamp: str
    text: str
    traceback: bool


@dataclass(frozen=True, slots=True)
class LogQuery:
    """What an address asks for."""

    replica: str = ""
    """Short name; empty for all."""
    tail: int = TAILS[0]
    search: str = ""
    previous: bool = False

    @classmethod
    def read(cls, request: web.Request) -> LogQuery:
        """Read the query of an address; what makes no sense is ignored."""
        query = request.query
        tail = int(query["tail"]) if query.get("tail", "").isdecimal() else TAILS[0]
        search = query.get("q", "")[:LONGEST_SEARCH]
        return cls(query.get("replica", ""), tail if tail in TAILS else TAILS[0], search, "previous" in query)

    def lets_through(self, line: LogLine) -> bool:
        """Whether the line has what is searched for."""
        return self.search.lower() in line.text.lower()


def chosen(pods: Sequence[PodRow], query: LogQuery) -> list[PodRow]:
    """Return the pods that a page shows: those with failures first where there are too many."""
    if query.replica:
        return [pod for pod in pods if pod.replica.short_name == query.replica]
    worst = {pod.name for pod in sorted(pods, key=lambda pod: not pod.failures)[:MOST_REPLICAS]}
    return [pod for pod in pods if pod.name in worst]


def shown(line: LogLine, colours: Mapping[str, int]) -> Shown:
    """Make a line fit to be shown."""
    name = line.replica.short_name
    return Shown(name, colours[name], line.stamp, printable(line.text[:LONGEST_LINE]), line.text.startswith(TRACEBACK))


@dataclass(frozen=True, slots=True)
class Logs:
    """The logs of some replicas of a job."""

    reader: Reader
    job: JobName
    pods: Sequence[PodRow]
    query: LogQuery

    @property
    def _container(self) -> str:
        """The one that trains; empty for the first."""
        return self.job.info.container if self.job.info else ""

    async def lines(self) -> tuple[list[Shown], list[str]]:
        """Return the last lines in the order of time, and why some replicas have none."""
        tail = max(self.query.tail // max(len(self.pods), 1), 1)
        problems: list[str] = []
        colours = self._colours()
        logs = [self._of(pod, tail, problems) for pod in self.pods]
        return [shown(line, colours) async for line in merged(logs) if self.query.lets_through(line)], problems

    async def follow(self, request: web.Request, macros: Macros) -> web.StreamResponse:
        """Send what is printed after the stamp `since` of the address, until the browser leaves."""
        since, names, colours = request.query.get("since", ""), {pod.name for pod in self.pods}, self._colours()
        transport, namespace = self.reader.transport, self.job.namespace
        follower = LogFollower(transport, namespace, LogChoice(self._container, self.query.tail))

        def seen(change: str, pod: dict[str, Any]) -> None:
            if change != "DELETED" and pod["metadata"]["name"] in names:
                follower.take(pod)

        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        path = f"/api/v1/namespaces/{namespace}/pods"
        watching = asyncio.create_task(watch(transport, path, {"labelSelector": self.job.pod_selector}, seen))
        try:
            with suppress(OSError):
                await response.write(b"retry: 60000\n\n")
                async for line in follower.lines():
                    await asyncio.sleep(BATCH_SECONDS)
                    batch = [each for each in (line, *follower.pending()) if each.stamp > since]
                    found = [shown(each, colours) for each in batch[-MOST_IN_BATCH:] if self.query.lets_through(each)]
                    if found:
                        made = [macros("log_line", each, False) for each in found]
                        await response.write(f"data: {json.dumps({'append': made})}\n\n".encode())
        finally:
            watching.cancel()
            await asyncio.gather(watching, follower.close(), return_exceptions=True)
        return response

    async def download(self, request: web.Request) -> web.StreamResponse:
        """Send the whole logs as text, in the order of time."""
        name = "-".join(part for part in (self.job.name, self.query.replica) if part)
        attachment = f'attachment; filename="{name}.log"'
        response = web.StreamResponse(
            headers={"Content-Type": "text/plain; charset=utf-8", "Content-Disposition": attachment}
        )
        await response.prepare(request)
        async for line in merged([self._of(pod, None, []) for pod in self.pods]):
            await response.write(f"{line.stamp} {line.replica.short_name} {line.text}\n".encode())
        return response

    def _colours(self) -> dict[str, int]:
        return {pod.replica.short_name: position % COLOURS for position, pod in enumerate(self.pods)}

    async def _of(self, pod: PodRow, tail: int | None, problems: list[str]) -> AsyncIterator[LogLine]:
        choice = LogChoice(self._container, tail, previous=self.query.previous)
        try:
            async for line in read_log(self.reader.transport, pod.namespace, pod.replica, choice):
                yield line
        except (LogUnavailable, OSError) as error:
            problems.append(f"{pod.replica.short_name}: {error}")
