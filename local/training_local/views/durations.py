"""Spans of time and amounts as people read them."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def clock(span: timedelta) -> str:
    """Return a running clock: `0:07`, `1:02:03`."""
    seconds = max(int(span.total_seconds()), 0)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def age(span: timedelta) -> str:
    """Return a rough span as `kubectl get` shows it: `7s`, `3m`, `5h`, `12d`."""
    seconds = max(int(span.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def in_seconds(span: timedelta) -> str:
    """Return what is left of a short wait: `7 s`."""
    return f"{max(round(span.total_seconds()), 0)} s"


def memory(amount: int) -> str:
    """Return bytes with a binary unit: `153 MiB`."""
    value, unit = float(amount), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if value < 10 and unit else f"{value:.0f} {_UNITS[unit]}"
