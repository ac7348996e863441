"""From JSON to a row; what is not built as expected is skipped, and never ends a watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

Row = TypeVar("Row")


def reduced(reduce: Callable[[dict[str, Any]], Row]) -> Callable[[bytes], Row]:
    """Return a decoder that raises nothing but `msgspec.MsgspecError`, as that of a `Resource` must."""

    def decode(stored: bytes) -> Row:
        try:
            return reduce(msgspec.json.decode(stored))
        except (AttributeError, KeyError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, msgspec.MsgspecError):
                raise
            raise msgspec.ValidationError(f"{type(error).__name__}: {error}") from None

    return decode
