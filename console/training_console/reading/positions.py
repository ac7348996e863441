"""Places in Kueue's queues: from its visibility API where the viewer may read that, else computed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import quote

from training_console.model.queues import Position, WorkloadRow, computed, said
from training_console.reading.feeds import NoAnswer, NotAllowed

API: Final = "/apis/visibility.kueue.x-k8s.io"
VERSIONS: Final = ("v1beta2", "v1beta1")
MOST_QUEUES: Final = 20
"""That are asked about for one page; in others places are computed."""
FRESH_SECONDS: Final = 10.0
"""An answer is good for so long."""
SILENT_SECONDS: Final = 300.0
"""After a rejection Kueue is not asked again for so long."""

Get = Callable[[str, Mapping[str, str]], Awaitable[Mapping[str, Any] | None]]
"""Reads a path of the API server as the viewer."""
Places = dict[tuple[str, str], Position]
"""By namespace and name of the workload."""
T = TypeVar("T")


class Positions:
    """What one viewer knows of the order of queues."""

    def __init__(self, get: Get) -> None:
        self._get = get
        self._known: dict[tuple[str, str], tuple[float, Places]] = {}
        self._silent_until = 0.0

    async def of(self, rows: Iterable[WorkloadRow]) -> Mapping[str, Position]:
        """Return the places of all workloads that wait, by uid."""
        waiting = [row for row in rows if row.waits]
        queues = sorted({(row.namespace, row.queue) for row in waiting})[:MOST_QUEUES]
        answers = await asyncio.gather(*(self._queue(*queue) for queue in queues))
        told = {name: place for answer in answers for name, place in answer.items()}
        places = computed(waiting)
        return places | {row.uid: told[key] for row in waiting if (key := (row.namespace, row.name)) in told}

    async def _queue(self, namespace: str, queue: str) -> Places:
        now = asyncio.get_running_loop().time()
        until, known = self._known.get((namespace, queue), (0.0, {}))
        if now < max(until, self._silent_until):
            return known if now < until else {}
        found = await self._asked(namespace, queue)
        if found is None:
            self._silent_until = now + SILENT_SECONDS
        if len(self._known) >= 10 * MOST_QUEUES:
            self._known.clear()
        self._known[namespace, queue] = now + FRESH_SECONDS, found or {}
        return found or {}

    async def _asked(self, namespace: str, queue: str) -> Places | None:
        """Ask Kueue; None where it does not answer, or not this viewer."""
        where = f"namespaces/{quote(namespace, safe='')}/localqueues/{quote(queue, safe='')}/pendingworkloads"
        for version in VERSIONS:
            try:
                answer = await self._get(f"{API}/{version}/{where}", {"limit": "1000"})
                if answer is not None:
                    return said(answer)
            except (NotAllowed, NoAnswer, KeyError, TypeError, ValueError, AttributeError):
                return None
        return None
