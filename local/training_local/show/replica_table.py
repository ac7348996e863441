"""The table of replicas: which rows and columns there is room for, the ones worth a look first; no effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from training_api.printable import legible
from training_local.durations import human, in_seconds
from training_local.run.pod_metrics import Usage, in_bytes
from training_local.run.progress import Replica
from training_local.show.cells import fitted
from training_local.show.colours import PHASE_STYLES, colour_of

GAP: Final = "  "
INDENT: Final = "  "
_NARROWEST_WHY: Final = 32
"""Cells that a reason takes before other columns keep theirs."""


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: its cells, how it stands, and how soon it goes where there is no room (0: never)."""

    title: str
    cell: Callable[[Replica], str]
    style: Callable[[Replica], str] = lambda _: ""
    right: bool = False
    goes: int = 0


def columns(usage: Mapping[str, Usage], now: datetime) -> list[_Column]:
    """Return all columns that a table can have."""

    def cpu(replica: Replica) -> str:
        return f"{usage[replica.pod].cpu:.2f}" if replica.pod in usage else ""

    def used_memory(replica: Replica) -> str:
        return in_bytes(usage[replica.pod].memory) if replica.pod in usage else ""

    def old(replica: Replica) -> str:
        return human((now - replica.created_at).total_seconds()) if replica.created_at else ""

    return [
        _Column("REPLICA", lambda r: r.short_name, colour_of),
        _Column("PHASE", lambda r: r.stands, lambda r: PHASE_STYLES.get(r.stands, "")),
        _Column("RANK", lambda r: "" if r.rank == "-" else r.rank, right=True, goes=3),
        _Column("RESTARTS", lambda r: str(r.restarts) if r.restarts else "", right=True, goes=5),
        _Column("LAST END", lambda r: r.last_end.brief if r.last_end else "", _end_style, goes=6),
        _Column("CPU", cpu, right=True, goes=4),
        _Column("MEMORY", used_memory, right=True, goes=2),
        _Column("AGE", old, right=True, goes=1),
        _Column("WHY", lambda r: why(r, now), lambda _: "yellow"),
    ]


def why(replica: Replica, now: datetime) -> str:
    """Return what a replica waits for, with the time that is left of a back-off; empty if it does not wait."""
    if replica.waiting is None:
        return ""
    if replica.again_at is not None:
        return f"{replica.waiting.reason}, again in {in_seconds(replica.again_at - now)}"
    text = legible(str(replica.waiting))
    # The first sentence of the scheduler says what is missing; the others are about preemption, and long.
    return text.partition(". ")[0] if replica.waiting.reason == "Unschedulable" else text


def rows(replicas: Sequence[Replica], usage: Mapping[str, Usage], now: datetime, width: int, height: int) -> list[Text]:
    """Return the table in at most `height` lines (more only where there are more types) of `width` cells."""
    if not replicas:
        return []
    shown = _most_interesting(replicas, height)
    fitting = _fitting(columns(usage, now), [r for r in replicas if r.pod in shown], width)
    lines = [_line([(c.title, "dim") for c, _ in fitting], fitting)]
    for name, members in groupby(replicas, key=lambda r: r.replica_type):
        group = list(members)
        lines.append(Text(fitted(f"{name or 'pods'}: {_counted(group)}", width), style="bold"))
        of_group = [r for r in group if r.pod in shown]
        lines += [_line([(c.cell(r), c.style(r)) for c, _ in fitting], fitting) for r in _by_interest(of_group)]
        if rest := [r for r in group if r.pod not in shown]:
            lines.append(Text(fitted(f"{INDENT}… {_counted(rest, ' more')}", width), style="dim"))
    return lines


def height_of(replicas: Sequence[Replica]) -> int:
    """Return the lines that a table with all replicas takes."""
    return 1 + len({r.replica_type for r in replicas}) + len(replicas) if replicas else 0


def _most_interesting(replicas: Sequence[Replica], height: int) -> set[str]:
    """Names of the pods to show: all if they fit, else those worth a look, leaving a line per type for the rest."""
    if height_of(replicas) <= height:
        return {r.pod for r in replicas}
    types = Counter(r.replica_type for r in replicas)
    room = max(height - 1 - 2 * len(types), 0)
    shown = _by_interest(replicas)[:room]
    hidden = types - Counter(r.replica_type for r in shown)
    # The line that would say `1 more` can as well show it.
    return {r.pod for r in replicas if r in shown or hidden[r.replica_type] == 1}


def _by_interest(replicas: Sequence[Replica]) -> list[Replica]:
    """Worst first; of those that are equally well, the ones that changed last; a calm group stays in order."""
    if len({_severity(r) for r in replicas}) == 1 and _severity(replicas[0]) >= _CALM:
        return sorted(replicas, key=lambda r: r.index)
    changed = sorted(replicas, key=lambda r: r.changed_at.timestamp() if r.changed_at else 0.0, reverse=True)
    return sorted(changed, key=_severity)


_CALM: Final = 5


def _severity(replica: Replica) -> int:
    if replica.phase == "Failed":
        return 0
    if replica.waiting is not None and not replica.waiting.harmless:
        return 1
    if replica.phase == "Pending":
        return 2
    if replica.phase == "Terminating":
        return 3
    if replica.restarts:
        return 4
    return 6 if replica.phase == "Succeeded" else _CALM


def _counted(replicas: Sequence[Replica], more: str = "") -> str:
    counts = Counter(r.stands for r in sorted(replicas, key=_severity))
    return ", ".join(f"{count}{more} {phase}" for phase, count in counts.items())


def _fitting(wanted: Sequence[_Column], replicas: Sequence[Replica], width: int) -> list[tuple[_Column, int]]:
    """The columns for which there is something to show and room, with their widths; the last one takes the rest."""
    sized = []
    for column in wanted:
        cells = [column.cell(r) for r in replicas]
        if any(cells) or (column.goes == 0 and column.title != "WHY"):
            sized.append((column, max(map(cell_len, (column.title, *cells)))))
    while _needed(sized) > width and any(column.goes for column, _ in sized):
        first = min((column for column, _ in sized if column.goes), key=lambda column: column.goes)
        sized = [(column, size) for column, size in sized if column is not first]
    column, size = sized[-1]
    return [*sized[:-1], (column, min(size, max(width - _needed(sized[:-1]) - len(GAP), 0)))]


def _needed(sized: Sequence[tuple[_Column, int]]) -> int:
    sizes = [min(size, _NARROWEST_WHY) if column.title == "WHY" else size for column, size in sized]
    return len(INDENT) + sum(sizes) + len(GAP) * (len(sizes) - 1)


def _line(cells: Sequence[tuple[str, str]], fitting: Sequence[tuple[_Column, int]]) -> Text:
    line = Text(INDENT, no_wrap=True, overflow="crop")
    for (text, style), (column, size) in zip(cells, fitting, strict=True):
        shown = fitted(text, size)
        space = " " * (size - cell_len(shown))
        line.append(space + shown if column.right else shown + space, style)
        line.append(GAP)
    line.rstrip()
    return line


def _end_style(replica: Replica) -> str:
    return "red" if replica.last_end is not None and replica.last_end.failed else ""
