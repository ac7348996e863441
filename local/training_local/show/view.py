"""Showing a job while it runs: a live picture on a terminal, lines where piped, JSON lines where asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from rich.console import Console

from training_local.run.progress import JobRef
from training_local.show.json_lines import JsonView
from training_local.show.live import LiveView
from training_local.show.output import Output
from training_local.show.plain import PlainView

View = JsonView | LiveView | PlainView


@contextmanager
def choose_view(job: JobRef, out: Output, *, as_json: bool) -> Iterator[View]:
    """JSON where asked for, a live picture on a terminal, plain lines elsewhere."""
    file = cast("TextIO", out)  # it has all of one that is used
    console = Console(file=file, highlight=False)
    if as_json:
        yield JsonView(file)
    elif console.is_terminal and not console.is_dumb_terminal:
        with LiveView(job, console, lambda: out.idle) as view:
            yield view
    else:
        yield PlainView(job, file)
