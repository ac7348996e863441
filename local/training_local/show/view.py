"""Showing a job while it runs: a live picture on a terminal, lines where piped, JSON lines where asked for."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Protocol, Self, TextIO, cast

from rich.console import Console

from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage
from training_local.run.progress import JobProgress, JobRef
from training_local.show.json_lines import JsonView
from training_local.show.live import LiveView
from training_local.show.output import Output
from training_local.show.plain import PlainView


class View(Protocol):
    """Something that shows a job's progress and its replicas' log lines, inside its context."""

    def __enter__(self) -> Self:
        """Begin."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal in order."""
        ...

    def progress(self, progress: JobProgress) -> None:
        """Show what has become of the job."""
        ...

    def line(self, line: LogLine) -> None:
        """Show one log line of a replica."""
        ...

    def usage(self, usage: Mapping[str, Usage]) -> None:
        """Show what pods, by name, use of the machine."""
        ...

    def notice(self, text: str) -> None:
        """Show a sentence that the user should know now; empty if there is none any more."""
        ...


def choose_view(job: JobRef, out: Output, *, as_json: bool) -> View:
    """JSON where asked for, a live picture on a terminal, plain lines elsewhere."""
    file = cast("TextIO", out)  # it has all of one that is used
    if as_json:
        return JsonView(file)
    console = Console(file=file, highlight=False)
    if console.is_terminal and not console.is_dumb_terminal:
        return LiveView(job, console, lambda: out.idle)
    return PlainView(job, file)
