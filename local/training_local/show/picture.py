"""The picture of a running job: a pure function of what is known and of the size of the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from textwrap import wrap
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from training_api.printable import legible, printable
from training_local.durations import clock
from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage
from training_local.run.progress import JobProgress
from training_local.show import replica_table
from training_local.show.cells import fitted
from training_local.show.colours import OTHER_STATE, STATE_STYLES, colour_of

BAR_WIDTH: Final = 40
_FEWEST_LOG_LINES: Final = 3


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a picture may depend on."""

    job: str
    progress: JobProgress
    begun: datetime
    """When the job was started to be followed."""
    now: datetime
    usage: Mapping[str, Usage] = field(default_factory=dict)
    lines: Sequence[LogLine] = ()
    """The newest log lines, oldest first."""
    steps: tuple[int, int] | None = None
    """Steps done, and how many there are to be."""
    notice: str = ""
    """What the user should know now, in one sentence."""


def draw(scene: Scene, width: int, height: int) -> Text:
    """Return the picture as at most `height` lines of at most `width` cells: state, replicas, progress, last lines."""
    above = [_head(scene), *_sentences(scene, width), *_limits(scene)]
    below = _bar(scene, width)
    space = max(height - len(above) - len(below), 0)
    logs = min(len(scene.lines), max(_FEWEST_LOG_LINES, space // 3))
    replicas = scene.progress.replicas
    table = replica_table.rows(replicas, scene.usage, scene.now, width, space - logs)
    room = space - len(table)
    lines = [*above, *table, *below, *_log_lines(scene.lines[-room:] if room > 0 else (), width)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n", no_wrap=True, overflow="crop").join(lines[:height])


def _head(scene: Scene) -> Text:
    state = scene.progress.state or "waiting"
    holding = [condition["type"] for condition in scene.progress.conditions if condition["status"] == "True"]
    return Text.assemble(
        (scene.job, "bold"),
        "  ",
        (state, STATE_STYLES.get(state, OTHER_STATE)),
        "  ",
        (clock(scene.now - scene.begun), "dim"),
        (f"  conditions {', '.join(holding)}" if len(holding) > 1 else "", "dim"),
    )


def _sentences(scene: Scene, width: int) -> list[Text]:
    """The sentences on the whole: the newest condition's, and what the user should know."""
    message = [Text(fitted(legible(scene.progress.message), width), "dim")] if scene.progress.message else []
    notice = legible(scene.notice)
    # The standard library counts characters, some of which are two cells wide.
    columns = max(width if cell_len(notice) == len(notice) else width // 2, 1)
    return [*message, *(Text(line, OTHER_STATE) for line in wrap(notice, columns))]


def _limits(scene: Scene) -> list[Text]:
    """What is left of the job's limits, in one line; none if it has no limits."""
    progress, parts = scene.progress, []
    if progress.backoff_limit is not None:
        parts.append(f"restarts {progress.restarts} of {progress.backoff_limit}")
    elif progress.restarts:
        parts.append(f"restarts {progress.restarts}")
    if progress.deadline is not None and progress.started_at and not progress.outcome:
        parts.append(f"deadline in {clock(progress.started_at + progress.deadline - scene.now)}")
    if progress.time_to_live is not None:
        if progress.completed_at:
            parts.append(f"deleted in {clock(progress.completed_at + progress.time_to_live - scene.now)}")
        else:
            parts.append(f"deleted {clock(progress.time_to_live)} after its end")
    wanted = sum(progress.expected.values())
    if progress.replicas and len(progress.replicas) < wanted and not progress.outcome:
        parts.append(f"{len(progress.replicas)} of {wanted} replicas created")
    return [Text(" · ".join(parts), "dim")] if parts else []


def _bar(scene: Scene, width: int) -> list[Text]:
    if scene.steps is None:
        return []
    done, total = scene.steps
    count = f" {done}/{total}"
    length = max(min(BAR_WIDTH, width - len(count)), 0)
    filled = length * min(done, total) // max(total, 1)
    return [Text.assemble(("█" * filled, "cyan"), ("░" * (length - filled), "dim"), count)]


def _log_lines(lines: Sequence[LogLine], width: int) -> list[Text]:
    prefix = max((cell_len(line.replica.short_name) for line in lines), default=0)
    shown = []
    for line in lines:
        name = line.replica.short_name
        space = " " * (prefix - cell_len(name))
        text = fitted(printable(line.text), max(width - prefix - len(" | "), 0))
        shown.append(Text.assemble((f"{name}{space} | ", colour_of(line.replica)), text))
    return shown
