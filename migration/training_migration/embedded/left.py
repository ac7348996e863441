"""Why an object is left as it is."""

from __future__ import annotations


class Left(Exception):
    """An object cannot be converted in place; the text is one sentence."""
