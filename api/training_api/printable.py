"""Text of others made fit to be shown: nothing in it steers a terminal, hides, or has no end."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator

LIMIT: Final = 1024
"""Characters of one text, as Kubernetes allows them to the message of an event."""
_CUT: Final = "..."
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
"""What changes colours only; it goes without a trace."""
_LINE_ENDS: Final = re.compile(r"\s*[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
_JOINERS: Final = "\u200c\u200d"
"""They shape letters and emoji, and are no more than that."""


def legible(text: str, most: int = LIMIT) -> str:
    """Return `text` as one line of at most `most` characters; it stays as it is if that is what it is.

    Controls, what turns the direction of writing, and whatever else cannot be seen show as `\\x1b` or `\\u202e`. This
    stands between text of users and all conditions, events and log lines.
    """
    if len(text) <= most and text.isprintable():
        return text
    start = text[: 8 * most].strip("\r\n")  # enough: only colours become shorter
    shown = _escaped(_LINE_ENDS.sub(" ", _COLOURS.sub("", start)))
    return shown if len(shown) <= most and len(text) <= 8 * most else shown[: most - len(_CUT)] + _CUT


Legible = Annotated[str, AfterValidator(legible)]
"""A field of a model that holds nothing else, whoever sets it."""


def printable(line: str) -> str:
    """Return what a program has printed as a terminal may show it: what a progress bar has overwritten is gone."""
    shown = line.rstrip("\r\n").rpartition("\r")[2]
    return _escaped(_COLOURS.sub("", shown).expandtabs(8))


def _escaped(text: str) -> str:
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    code = ord(char)
    if char == "\t" or (char.isspace() and code > 0x9F):
        return " "
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
