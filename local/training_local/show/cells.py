"""Text cut to the cells of a terminal, and tables that are not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table

_WIDE: Final = 1000


def print_table(titles: Sequence[str], rows: Iterable[Sequence[str]], below: Iterable[str]) -> None:
    """Print a table with lines below it; a narrow terminal wraps its lines, since names in it are to be copied."""
    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False, soft_wrap=True, width=_WIDE)
    console.print(table)
    for line in below:
        console.print(line, markup=False)


def fitted(text: str, width: int) -> str:
    """Return `text` cut to `width` cells of a terminal, the cut marked; wide characters take two."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""
