"""The live picture on a terminal, redrawn in place."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from rich.console import Console
from rich.live import Live

from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage
from training_local.run.progress import JobProgress, JobRef
from training_local.show.picture import Scene, draw
from training_local.show.steps import Steps

REDRAW_SECONDS: Final = 0.25
_LINES_KEPT: Final = 200


class LiveView:
    """Fills the terminal with the picture while the job runs, and leaves its last state standing."""

    def __init__(
        self,
        job: JobRef,
        console: Console,
        ready: Callable[[], bool],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Draw on `console`, a new picture only while it is `ready`: a stopped terminal shall not get all it missed."""
        self._job, self._console, self._now = job, console, now
        self._ready = ready
        self._begun = now()
        self._progress = JobProgress()
        self._usage: Mapping[str, Usage] = {}
        self._lines: deque[LogLine] = deque(maxlen=_LINES_KEPT)
        self._steps = Steps()
        self._notice = ""
        # The other screen: whatever the size of the terminal becomes, there is nothing above to be overwritten.
        self._live = Live(console=console, screen=True, auto_refresh=False, transient=True)
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        """Take over the terminal."""
        self._live.start()
        self._redraw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back, with the last picture on it."""
        if self._timer is not None:
            self._timer.cancel()
        self._live.stop()
        width, height = self._console.size
        self._console.print(draw(self._scene(), width, height - 1), soft_wrap=True)

    def progress(self, progress: JobProgress) -> None:
        """Take over the new state; the picture follows with the next redraw."""
        self._progress = progress

    def line(self, line: LogLine) -> None:
        """Add the line to the last ones and look for progress in it."""
        self._lines.append(line)
        self._steps.take(line.replica.short_name, line.text)

    def usage(self, usage: Mapping[str, Usage]) -> None:
        """Take over what the pods use now."""
        self._usage = usage

    def notice(self, text: str) -> None:
        """Show the sentence until another one, or none, takes its place."""
        self._notice = text

    def _redraw(self) -> None:
        if self._ready():
            width, height = self._console.size
            self._live.update(draw(self._scene(), width, height), refresh=True)
        self._timer = asyncio.get_running_loop().call_later(REDRAW_SECONDS, self._redraw)

    def _scene(self) -> Scene:
        return Scene(
            job=str(self._job),
            progress=self._progress,
            begun=self._begun,
            now=self._now(),
            usage=self._usage,
            lines=tuple(self._lines),
            steps=self._steps.slowest,
            notice=self._notice,
        )
