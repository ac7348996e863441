"""Text of others made fit for a terminal: nothing that a container prints can move the cursor or clear the screen."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len, set_cell_size

_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
"""What changes colours only; it goes without a trace."""

_CONTROLS: Final = r"\x00-\x08\x0a-\x1f\x7f-\x9f"
_DIRECTIONS: Final = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNPRINTABLE: Final = re.compile(rf"[{_CONTROLS}{_DIRECTIONS}\u2028\u2029\ud800-\udfff]")
"""C0 and C1 controls except the tab, line separators, what turns the direction of writing, lone surrogates."""


def printable(text: str) -> str:
    """Return `text` as one line: what a progress bar has overwritten is gone, other controls show as `\\x1b`."""
    shown = text.rstrip("\r\n").rpartition("\r")[2]
    return _UNPRINTABLE.sub(_escape, _COLOURS.sub("", shown)).expandtabs(8)


def one_line(text: str) -> str:
    """Return a message of several lines as one, fit for a terminal."""
    return printable(" ".join(text.split()))


def fitted(text: str, width: int) -> str:
    """Return `text` cut to `width` cells of a terminal, the cut marked; wide characters take two."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
