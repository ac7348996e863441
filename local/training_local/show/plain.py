"""Plain lines: what changed, when, and every log line behind its replica; for pipes and files."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TextIO

from training_api.printable import legible, printable
from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage
from training_local.run.progress import JobProgress, JobRef, Replica


class PlainView:
    """One line for each change of a condition or a replica, and every log line with its replica."""

    def __init__(self, job: JobRef, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._job, self._out, self._clock, self._started = job, out or sys.stdout, clock, clock()
        self._said: dict[str, str] = {}

    def progress(self, progress: JobProgress) -> None:
        """Print what has changed."""
        for condition in progress.conditions:
            if condition["status"] == "True":
                about = f"condition {condition['type']}"
                self._say(about, f"{self._job} {condition['type']}: {condition.get('message', '')}")
        for replica in progress.replicas:
            self._say(replica.pod, _stands(replica))

    def line(self, line: LogLine) -> None:
        """Print the line behind the name of its replica."""
        print(f"{line.replica.short_name} | {printable(line.text)}", file=self._out, flush=True)

    def usage(self, usage: Mapping[str, Usage]) -> None:
        """Not shown: it changes all the time."""

    def notice(self, text: str) -> None:
        """Print the sentence if it is not the last one."""
        if text:
            self._say("notice", text)

    def _say(self, about: str, text: str) -> None:
        if self._said.get(about) != text:
            self._said[about] = text
            print(f"{self._clock() - self._started:6.1f}s {legible(text)}", file=self._out, flush=True)


def _stands(replica: Replica) -> str:
    """One sentence on a replica: where it stands, why it waits, how it ended last."""
    notes = [f"node rank {replica.rank}"] if replica.rank != "-" else []
    if replica.restarts:
        notes.append(f"{replica.restarts} restart{'s' if replica.restarts > 1 else ''}")
    if replica.last_end is not None:
        notes.append(f"ended with {replica.last_end.brief}")
    details = f" ({', '.join(notes)})" if notes else ""
    waiting = f": {replica.waiting}" if replica.waiting and not replica.waiting.harmless else ""
    return f"{replica.pod} {replica.stands}{details}{waiting}"
