"""A comparison of two renderings as text, Markdown, JSON and as a piece of an HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from training_migration.diff.model import Difference, Item, Likeness, Pair, Summary
from training_migration.diff.pairing import Place
from training_migration.findings import Severity
from training_migration.index_lists import ranges
from training_migration.report.columns import Table
from training_migration.report.svg import Cell, matrix

Json = dict[str, Any]

SCHEMA: Final = "migrate.diff/1"
COLOURS: Final[Mapping[str, str]] = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.INFO: "dim",
    Likeness.SAME: "green",
    Likeness.EQUIVALENT: "green",
}
_CLASSES: Final[Mapping[str, str]] = {Severity.ERROR: "bad", Severity.WARNING: "maybe"}
_OUTCOMES: Final = {
    Summary.DIFFERENT: "bad",
    Summary.LIFE_CYCLE: "maybe",
    Summary.COMPAT: "good",
    Summary.EQUIVALENT: "good",
}
_TITLES: Final = ("severity", "aspect", "what", "v1", "v2", "verdict", "reason")
_LONGEST: Final = 60


def title_of(pair: Pair) -> str:
    """Which pods: `worker 0 to 61 = node 1 to 62`."""
    return f"{_places(pair.v1)} = {_places(pair.v2)}"


def _places(places: Sequence[Place]) -> str:
    return f"{places[0].role} {ranges(place.index for place in places)}" if places else "none"


def sections(difference: Difference, *, everything: bool) -> Iterator[tuple[str, list[Item]]]:
    """Title and items of each part; without `everything` only what differs."""
    for pair in difference.pairs:
        yield title_of(pair), _chosen(pair.items, everything)
    yield "the whole job", _chosen(difference.whole, everything)
    yield "what happens when", _chosen(difference.situations, everything)


def _chosen(items: Iterable[Item], everything: bool) -> list[Item]:
    return [item for item in items if everything or item.severity is not None]


def _table(items: Sequence[Item]) -> Table:
    return Table(_TITLES, [_row(item) for item in items])


def _row(item: Item) -> tuple[str, ...]:
    texts = (item.path, _short(item.v1), _short(item.v2), item.verdict.value, item.reason)
    return (item.severity.value if item.severity else "", item.aspect.value, *texts)


def _short(text: str) -> str:
    """What fits into a table; JSON has all of it."""
    line = text.replace("\n", " ")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def as_text(difference: Difference, *, everything: bool = False, terminal: bool = False) -> str:
    """A table for each group of pods, one for the whole, and the sentence that sums it up."""
    parts = [
        f"{difference.job}, started by {difference.launcher}",
        *(f"{side}: {text}" for side, text in _training(difference)),
    ]
    for title, items in sections(difference, everything=everything):
        shown = _table(items).text(COLOURS, terminal=terminal) if items else "nothing differs"
        parts.append(f"\n{title}\n{shown}")
    return "\n".join([*parts, "", difference.headline])


def _training(difference: Difference) -> Iterator[tuple[str, str]]:
    return zip(("v1", "v2"), difference.training, strict=True)


def as_markdown(difference: Difference, *, everything: bool = False) -> str:
    """A section."""
    parts = [f"## {difference.job}", f"**{difference.headline}**"]
    parts.append("\n".join(f"- {side}: {text}" for side, text in _training(difference)))
    for title, items in sections(difference, everything=everything):
        parts += [f"### {title}", _table(items).markdown() if items else "Nothing differs."]
    return "\n\n".join(parts)


def as_json(difference: Difference) -> Json:
    """Everything, what is the same included."""
    return {
        "schema": SCHEMA,
        "job": difference.job,
        "launcher": difference.launcher,
        "summary": difference.summary.value,
        "headline": difference.headline,
        "everyNodeAlone": difference.every_node_alone,
        "training": dict(_training(difference)),
        "pairs": [
            {
                "v1": [str(place) for place in pair.v1],
                "v2": [str(place) for place in pair.v2],
                "items": [_item(item) for item in pair.items],
            }
            for pair in difference.pairs
        ],
        "whole": [_item(item) for item in difference.whole],
        "situations": [_item(item) for item in difference.situations],
        "notCompared": [{"path": each.path, "reason": each.reason} for each in difference.not_compared],
    }


def _item(item: Item) -> Json:
    return {
        "aspect": item.aspect.value,
        "path": item.path,
        "v1": item.v1,
        "v2": item.v2,
        "verdict": item.verdict.value,
        "severity": item.severity.value if item.severity else None,
        "reason": item.reason,
    }


def as_html(difference: Difference) -> str:
    """A piece of a page: `svg.STYLE` belongs to it."""
    head = (
        f"<h2>{escape(difference.job)}</h2>"
        f'<p class="{_OUTCOMES[difference.summary]}"><strong>{escape(difference.headline)}</strong></p>'
    )
    pictures = "".join(
        f'<figure><figcaption class="{side}">{side}: {escape(text)}</figcaption>{picture}</figure>'
        for (side, text), picture in zip(_training(difference), meeting_pictures(difference), strict=True)
    )
    return f'<section class="mig">{head}<div class="pictures">{pictures}</div>{"".join(_html(difference))}</section>'


def _html(difference: Difference) -> Iterator[str]:
    for title, items in sections(difference, everything=False):
        yield f"<h3>{escape(title)}</h3>"
        yield _table(items).html(_CLASSES) if items else "<p>Nothing differs.</p>"


def meeting_pictures(difference: Difference) -> tuple[str, str]:
    """For each side which pods know which: pods from top to bottom, those that they know from left to right."""
    first, second = (_picture(side, meets) for side, meets in zip(("v1", "v2"), difference.meets, strict=True))
    return first, second


def _picture(side: str, meets: Mapping[Place, frozenset[int]]) -> str:
    names = [str(place) for place in meets]
    cells = [
        Cell(line, column, side, f"{place} is configured with pod {column}")
        for line, (place, known) in enumerate(meets.items())
        for column in sorted(known)
    ]
    return matrix(f"Which pod is configured with which on {side}", names, len(names), cells)
