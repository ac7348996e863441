"""A comparison of two runs as text, Markdown, JSON and as a piece of an HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

import msgspec

from training_migration.compare import Comparison
from training_migration.comparison.rows import Answer
from training_migration.report.columns import Table
from training_migration.report.svg import Cell, Curve, curves, matrix
from training_migration.runs.record import RunRecord, Side

SCHEMA: Final = "migrate.compare/1"
COLOURS: Final[Mapping[str, str]] = {
    Answer.EQUAL: "green",
    Answer.DIFFERENT: "bold red",
    Answer.INCONCLUSIVE: "yellow",
    Answer.NOTE: "dim",
}
_CLASSES: Final[Mapping[str, str]] = {Answer.EQUAL: "good", Answer.DIFFERENT: "bad", Answer.INCONCLUSIVE: "maybe"}
_MOST_CURVES: Final = 8


def comparison_table(comparison: Comparison) -> Table:
    """One row for each aspect."""
    rows = [(row.aspect, row.v1, row.v2, row.answer.value, row.reason) for row in comparison.rows]
    return Table(("aspect", "v1", "v2", "verdict", "reason"), rows)


def as_text(comparison: Comparison, *, terminal: bool) -> str:
    """The table and the sentence that sums it up."""
    return f"{comparison_table(comparison).text(COLOURS, terminal=terminal)}\n\n{comparison.headline}"


def as_markdown(comparison: Comparison) -> str:
    """A section."""
    return f"## {comparison.outcome.value}\n\n{comparison.headline}\n\n{comparison_table(comparison).markdown()}"


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Everything, with both records."""
    rows = [
        {"aspect": row.aspect, "v1": row.v1, "v2": row.v2, "verdict": row.answer.value, "reason": row.reason}
        for row in comparison.rows
    ]
    return {
        "schema": SCHEMA,
        "outcome": comparison.outcome.value,
        "headline": comparison.headline,
        "rows": rows,
        "runs": {"v1": msgspec.to_builtins(comparison.v1), "v2": msgspec.to_builtins(comparison.v2)},
    }


def as_html(comparison: Comparison) -> str:
    """A piece of a page: `svg.STYLE` belongs to it."""
    pictures = "".join([*_matrices(comparison), *_curves(comparison)])
    return (
        f'<section class="mig"><p><strong>{escape(comparison.headline)}</strong></p>'
        f'<div class="pictures">{pictures}</div>{comparison_table(comparison).html(_CLASSES)}</section>'
    )


def _matrices(comparison: Comparison) -> Iterator[str]:
    """Which pod had which rank, of each side that had a witness."""
    for record in (comparison.v1, comparison.v2):
        if record.processes:
            side = record.side.value
            yield _figure(f"Ranks on {side}", side, rank_matrix(record))


def _figure(title: str, colour: str, picture: str) -> str:
    return f'<figure><figcaption class="{colour}">{escape(title)}</figcaption>{picture}</figure>'


def rank_matrix(record: RunRecord) -> str:
    """Pods from top to bottom, ranks from left to right; one picture for each group of ranks."""
    pods = [(pod.role, pod.index) for pod in record.pods]
    pods += [place for p in record.processes or () if (place := (p.role, p.index)) not in pods]
    groups: dict[str, list[Cell]] = {}
    columns: dict[str, int] = {}
    for process in record.processes or ():
        if process.rank is not None:
            where = (process.role, process.index)
            title = f"{process.role} {process.index} is rank {process.rank} of {process.world_size}"
            cell = Cell(pods.index(where), process.rank, record.side.value, title)
            groups.setdefault(process.group, []).append(cell)
            columns[process.group] = max(columns.get(process.group, 1), process.world_size or 1, process.rank + 1)
    names = [f"{role} {index}" for role, index in pods]
    label = f"Which pod had which rank on {record.side.value}"
    pictures = [
        (f"<p>{escape(group)}</p>" if group else "") + matrix(label, names, columns[group], cells)
        for group, cells in sorted(groups.items())
    ]
    return "".join(pictures) or matrix(label, names, 1, [])


def _curves(comparison: Comparison) -> Iterator[str]:
    """Each metric of both sides in one picture."""
    found: dict[str, list[Curve]] = {}
    for record in (comparison.v1, comparison.v2):
        for series in record.metrics or ():
            title = f"{series.name} of rank {series.rank} on {record.side.value}"
            found.setdefault(series.name, []).append(
                Curve(record.side.value, title, series.points, wide=record.side is Side.V1)
            )
    legend = '<span class="v1">v1</span>, <span class="v2">v2</span>'
    for name, lines in sorted(found.items()):
        by_side = [[line for line in lines if line.colour == side][:_MOST_CURVES] for side in ("v1", "v2")]
        if picture := curves(f"{name} on both sides", [*by_side[0], *by_side[1]]):
            yield f"<figure><figcaption>{escape(name)}: {legend}</figcaption>{picture}</figure>"
