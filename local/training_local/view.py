"""Showing a job while it runs: a live picture on a terminal, lines where piped, JSON lines where asked for."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Protocol, TextIO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from training_local.follow import JobProgress, JobRef, Replica

LAST_LINES = 8
REPLICA_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
STATE_STYLES = {"Succeeded": "bold green", "Failed": "bold red"}
PHASE_STYLES = {"Running": "cyan", "Succeeded": "green", "Failed": "bold red", "Pending": "dim", "Terminating": "dim"}
STEPS_DONE = re.compile(r"\b(?:step|epoch|round|iteration)\W+(\d+)\s*/\s*(\d+)", re.IGNORECASE)
"""How training scripts commonly report progress: `step 12/60`."""


class View(Protocol):
    """Something that shows a job's progress and its replicas' log lines."""

    def progress(self, progress: JobProgress) -> None:
        """Show what has become of the job."""
        ...

    def line(self, replica: Replica, text: str) -> None:
        """Show one log line of a replica."""
        ...

    def close(self) -> None:
        """Leave the terminal in order."""
        ...


class PlainView:
    """One line for each change of a condition or a replica, and every log line with its replica."""

    def __init__(self, job: JobRef, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._job, self._out, self._clock, self._started = job, out or sys.stdout, clock, clock()
        self._said: set[str] = set()

    def progress(self, progress: JobProgress) -> None:
        """Print what has not been printed yet."""
        for condition in progress.conditions:
            if condition["status"] == "True":
                self._say(f"{self._job} {condition['type']}: {condition.get('message', '')}")
        for r in progress.replicas:
            ended = f", ended with {r.ended}" if r.ended else ""
            restarts = f", {r.restarts} restarts" if r.restarts else ""
            self._say(f"{r.pod} {r.phase} (node rank {r.rank}{restarts}{ended})")

    def line(self, replica: Replica, text: str) -> None:
        """Print the line behind the name of its pod."""
        print(f"{replica.pod} | {text}", file=self._out, flush=True)

    def close(self) -> None:
        """Nothing to put in order."""

    def _say(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            print(f"{self._clock() - self._started:6.1f}s {text}", file=self._out, flush=True)


class JsonView:
    """One JSON object per line: `{"progress": ...}` or `{"log": ...}`."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout

    def progress(self, progress: JobProgress) -> None:
        """Print state, conditions and replicas."""
        replicas = [{name: getattr(r, name) for name in Replica.__slots__} for r in progress.replicas]
        conditions = [dict(c) for c in progress.conditions]
        self._print({"progress": {"state": progress.state, "conditions": conditions, "replicas": replicas}})

    def line(self, replica: Replica, text: str) -> None:
        """Print the pod's name and the text."""
        self._print({"log": {"pod": replica.pod, "text": text}})

    def close(self) -> None:
        """Nothing to put in order."""

    def _print(self, value: object) -> None:
        print(json.dumps(value), file=self._out, flush=True)


class LiveView:
    """A picture that is redrawn in place: state and clock, replicas, progress, last log lines."""

    def __init__(self, job: JobRef, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._job, self._clock, self._started = job, clock, clock()
        self._progress = JobProgress()
        self._lines: deque[tuple[str, str, str]] = deque(maxlen=LAST_LINES)
        self._colours: dict[str, str] = {}
        self._steps: tuple[int, int] | None = None
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=8)
        self._live.start()

    def progress(self, progress: JobProgress) -> None:
        """Take over the new state; the picture follows with the next refresh."""
        self._progress = progress

    def line(self, replica: Replica, text: str) -> None:
        """Add the line to the last ones and look for progress in it."""
        colour = self._colours.setdefault(replica.pod, REPLICA_COLOURS[len(self._colours) % len(REPLICA_COLOURS)])
        self._lines.append((colour, replica.pod, text))
        if found := STEPS_DONE.search(text):
            self._steps = int(found[1]), int(found[2])

    def close(self) -> None:
        """Draw the last state and leave it standing."""
        self._live.stop()

    def _draw(self) -> RenderableType:
        head = Text.assemble(
            (str(self._job), "bold"),
            "  ",
            (
                self._progress.state or "waiting",
                "bold green" if self._progress.outcome == "Succeeded" else "bold yellow",
            ),
            (f"  {self._clock() - self._started:.1f} s", "dim"),
        )
        return Group(head, self._replicas(), self._bar(), *map(self._log_line, self._lines))

    def _replicas(self) -> Table:
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("REPLICA", "PHASE", "NODE RANK", "RESTARTS", "ENDED"):
            table.add_column(column)
        for r in self._progress.replicas:
            table.add_row(r.pod, Text(r.phase, PHASE_STYLES.get(r.phase, "")), r.rank, str(r.restarts), r.ended)
        return table

    def _bar(self) -> RenderableType:
        if self._steps is None:
            return Text("")
        done, total = self._steps
        row = Table.grid(padding=(0, 1))
        row.add_row(ProgressBar(total=max(total, 1), completed=done, width=40), f"{done}/{total}")
        return row

    @staticmethod
    def _log_line(line: tuple[str, str, str]) -> Text:
        colour, pod, text = line
        return Text.assemble((f"{pod} | ", colour), text, no_wrap=True, overflow="ellipsis")


def choose_view(job: JobRef, *, as_json: bool) -> View:
    """JSON where asked for, a live picture on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonView()
    console = Console()
    return LiveView(job, console) if console.is_terminal else PlainView(job)
