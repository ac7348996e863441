"""Tables for a terminal, for a file, for Markdown and for a page."""

from __future__ import annotations

import importlib.util
import io
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_GAP: Final = "  "


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under titles; in each row the first cells may be empty where they repeat what is above."""

    titles: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def plain(self) -> str:
        """Aligned columns without any colour; the last one is as wide as it needs to be."""
        lines = [self.titles, *self.rows]
        widths = [max(len(line[column]) for line in lines) for column in range(len(self.titles))]
        return "\n".join(
            _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def markdown(self) -> str:
        """A table as code hosts show it."""
        marks = ["---"] * len(self.titles)
        lines = [self.titles, marks, *self.rows]
        return "\n".join(f"| {' | '.join(map(_in_markdown, line))} |" for line in lines)

    def html(self, classes: Mapping[str, str]) -> str:
        """A table of a page; cells that are a key of `classes` have that class."""
        head = "".join(f"<th>{escape(title)}</th>" for title in self.titles)
        rows = "".join(f"<tr>{''.join(_in_html(cell, classes.get(cell)) for cell in row)}</tr>" for row in self.rows)
        return f"<table><tr>{head}</tr>{rows}</table>"

    def text(self, colours: Mapping[str, str], *, terminal: bool) -> str:
        """As `plain`; for a terminal cells that are a key of `colours` in that colour, if there is the package rich."""
        return _rich(self, colours) if terminal and importlib.util.find_spec("rich") else self.plain()


def _in_markdown(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")


def _in_html(cell: str, style: str | None) -> str:
    return f'<td class="{style}">{escape(cell)}</td>' if style else f"<td>{escape(cell)}</td>"


def _rich(table: Table, colours: Mapping[str, str]) -> str:
    # Only here: rich comes with an extra.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table as RichTable  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=io.StringIO(), force_terminal=True, width=shutil.get_terminal_size((120, 24)).columns)
    drawn = RichTable(box=None, pad_edge=False, header_style="bold")
    for title in table.titles:
        drawn.add_column(title, overflow="fold")
    for row in table.rows:
        drawn.add_row(*(Text(cell, style=colours.get(cell, "")) for cell in row))
    with console.capture() as shown:
        console.print(drawn)
    return shown.get().rstrip("\n")
