"""Text cut to the cells of a terminal."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def fitted(text: str, width: int) -> str:
    """Return `text` cut to `width` cells of a terminal, the cut marked; wide characters take two."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""
