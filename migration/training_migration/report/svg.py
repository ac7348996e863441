"""Pictures of a report: inline SVG without any text of others that is not escaped, in colours of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

STYLE: Final = """
.mig {--mig-v1:#1f6fb2;--mig-v2:#b5530a;--mig-bad:#b3261e;--mig-good:#1b7f4b;--mig-maybe:#8a6100;--mig-line:#8885}
@media (prefers-color-scheme: dark) {
.mig {--mig-v1:#6cb6f5;--mig-v2:#f0a35e;--mig-bad:#ff8a80;--mig-good:#6fd39b;--mig-maybe:#e8c15a;--mig-line:#8885}}
.mig svg {max-width:100%;height:auto;color:inherit}
.mig svg text {fill:currentColor;font:11px system-ui,sans-serif}
.mig table {border-collapse:collapse}
.mig th,.mig td {text-align:left;vertical-align:top;padding:.25em .8em .25em 0;border-bottom:1px solid var(--mig-line)}
.mig td {overflow-wrap:anywhere}
.mig .pictures {display:flex;flex-wrap:wrap;gap:1.5em}
.mig .v1 {color:var(--mig-v1)} .mig .v2 {color:var(--mig-v2)}
.mig .good {color:var(--mig-good)} .mig .bad {color:var(--mig-bad);font-weight:600} .mig .maybe {color:var(--mig-maybe)}
""".strip()
"""For all pieces of this package; a page needs it once. Colours follow the page's scheme, light or dark."""

_CELL: Final = 14
_MOST_LINES: Final = 48
_MOST_POINTS: Final = 400
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 200, 52, 24, 10


@dataclass(frozen=True, slots=True)
class Cell:
    """A place in a matrix that is filled."""

    line: int
    column: int
    colour: str
    """One of the classes of `STYLE`."""
    title: str
    """What a pointer over it shows."""


def matrix(label: str, lines: Sequence[str], columns: int, cells: Sequence[Cell]) -> str:
    """Cells by line (each with a name) and column (numbered from 0); of very many, the first ones."""
    shown, wide = lines[:_MOST_LINES], min(columns, _MOST_LINES)
    left = 8 + 7 * max(map(len, shown), default=0)
    width, height = left + wide * _CELL + 10, 20 + len(shown) * _CELL + 4
    parts = [_open(label, width, height)]
    step = 1 if wide <= 16 else 4
    parts += [_text(left + n * _CELL + _CELL / 2, 12, str(n), "middle") for n in range(0, wide, step)]
    for number, name in enumerate(shown):
        parts.append(_text(left - 6, 20 + number * _CELL + 11, name, "end"))
    for line in range(len(shown)):
        parts += [_square(left, line, column, "none", "") for column in range(wide)]
    parts += [
        _square(left, c.line, c.column, c.colour, c.title) for c in cells if c.line < len(shown) and c.column < wide
    ]
    note = _hidden(len(lines) - len(shown), "pods") + _hidden(columns - wide, "ranks")
    return "".join([*parts, "</svg>"]) + (f"<p>{note}</p>" if note else "")


def _hidden(count: int, what: str) -> str:
    return f"{count} more {what}. " if count > 0 else ""


def _square(left: float, line: int, column: int, colour: str, title: str) -> str:
    at = f'x="{left + column * _CELL + 1:g}" y="{20 + line * _CELL + 1:g}" width="{_CELL - 2}" height="{_CELL - 2}"'
    if colour == "none":
        return f'<rect {at} fill="none" stroke="var(--mig-line)"/>'
    return f'<rect {at} class="{escape(colour)}" fill="currentColor"><title>{escape(title)}</title></rect>'


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points; one without a value is a gap."""

    colour: str
    title: str
    points: Sequence[tuple[float, float | None]]
    wide: bool = False
    """Whether it is a broad band, on which an equal curve can be seen."""


def curves(label: str, lines: Sequence[Curve]) -> str:
    """All curves in one picture with common axes; empty where no point has a value."""
    known = [(x, y) for line in lines for x, y in line.points if y is not None]
    if not known:
        return ""
    low_x, high_x = min(x for x, _ in known), max(x for x, _ in known)
    low_y, high_y = min(y for _, y in known), max(y for _, y in known)

    def place(x: float, y: float) -> str:
        across = (x - low_x) / (high_x - low_x) if high_x > low_x else 0.5
        up = (y - low_y) / (high_y - low_y) if high_y > low_y else 0.5
        return f"{_LEFT + across * (_WIDTH - _LEFT - 8):.1f},{_HEIGHT - _BOTTOM - up * (_HEIGHT - _BOTTOM - _TOP):.1f}"

    base = _HEIGHT - _BOTTOM
    parts = [
        _open(label, _WIDTH, _HEIGHT),
        f'<path d="M{_LEFT},{_TOP}V{base}H{_WIDTH - 8}" fill="none" stroke="var(--mig-line)"/>',
        _text(_LEFT - 6, _TOP + 8, f"{high_y:.3g}", "end"),
        *([_text(_LEFT - 6, base, f"{low_y:.3g}", "end")] if high_y > low_y else []),
        _text(_LEFT, _HEIGHT - 6, f"step {low_x:g}", "start"),
        *([_text(_WIDTH - 8, _HEIGHT - 6, f"{high_x:g}", "end")] if high_x > low_x else []),
    ]
    for line in lines:
        parts += [_stretch(line, [place(x, y) for x, y in run]) for run in _runs(_thinned(line.points))]
    return "".join([*parts, "</svg>"])


def _thinned(points: Sequence[tuple[float, float | None]]) -> Sequence[tuple[float, float | None]]:
    """Few enough points for a picture, first and last among them."""
    if len(points) <= _MOST_POINTS:
        return points
    step = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def _runs(points: Sequence[tuple[float, float | None]]) -> list[list[tuple[float, float]]]:
    """The stretches between gaps."""
    found: list[list[tuple[float, float]]] = [[]]
    for x, y in points:
        if y is None:
            found.append([])
        else:
            found[-1].append((x, y))
    return [run for run in found if run]


def _stretch(line: Curve, places: Sequence[str]) -> str:
    title = f"<title>{escape(line.title)}</title>"
    if len(places) == 1:
        x, y = places[0].split(",")
        return f'<circle class="{escape(line.colour)}" cx="{x}" cy="{y}" r="2.5" fill="currentColor">{title}</circle>'
    width, opacity = (6, 0.35) if line.wide else (1.6, 1)
    return (
        f'<polyline class="{escape(line.colour)}" points="{" ".join(places)}" fill="none" stroke="currentColor"'
        f' stroke-width="{width}" opacity="{opacity}">{title}</polyline>'
    )


def _open(label: str, width: float, height: float) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(label)}">'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'
