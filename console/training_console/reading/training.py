"""How far a job is, by the last lines of its logs: read while its page is open, and remembered for the table."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from training_console.model.pods import PodRow
from training_console.model.training import Training, training_of
from training_local.run.pod_logs import LogChoice, LogUnavailable, read_log
from training_operator.kube.transport import Transport

MOST_REPLICAS: Final = 4
"""That are read: those that the operator counts first, which is where programs print."""
SILENT_TYPES: Final = ("ps", "evaluator")
"""Replica types that do not tell of steps."""
LINES: Final = 40
FRESH_SECONDS: Final = 10.0
MOST_JOBS: Final = 5_000


class TrainingSeen:
    """What one viewer's pages have found, by the uid of the job."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Training] = OrderedDict()

    def of(self, uid: str) -> Training | None:
        """Return what was found last."""
        return self._known.get(uid)

    def keep(self, uid: str, training: Training) -> None:
        """Remember it."""
        self._known[uid] = training
        self._known.move_to_end(uid)
        while len(self._known) > MOST_JOBS:
            self._known.popitem(last=False)


class TrainingLogs:
    """Reads the logs of one job, not more often than anything can be seen of it."""

    def __init__(self, transport: Transport, container: str) -> None:
        self._transport, self._container = transport, container
        self._next = 0.0
        self._read: object = None
        self._found: Training | None = None

    async def of(self, pods: Sequence[PodRow]) -> Training | None:
        """Look into the logs of those pods that run or have run; None if they tell nothing."""
        begun = [pod for pod in pods if pod.runs and pod.replica.replica_type not in SILENT_TYPES][:MOST_REPLICAS]
        now, ended = asyncio.get_running_loop().time(), all(run.ended for pod in begun for run in pod.runs)
        which = ended, [(pod.uid, len(pod.runs)) for pod in begun]
        if which != self._read or (not ended and now >= self._next):
            self._read, self._next = which, now + FRESH_SECONDS
            logs = await asyncio.gather(*map(self._last_lines, begun))
            self._found = training_of(dict(zip((pod.replica.short_name for pod in begun), logs, strict=True)))
        return self._found

    async def _last_lines(self, pod: PodRow) -> list[tuple[str, str]]:
        lines: list[tuple[str, str]] = []
        with suppress(LogUnavailable, OSError):
            choice = LogChoice(self._container, LINES)
            log = read_log(self._transport, pod.namespace, pod.replica, choice)
            lines.extend([(line.stamp, line.text) async for line in log])
        return lines
