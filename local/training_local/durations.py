"""Spans of time: as `kubectl` shows them, as a running clock, as a short wait; since the start of the command."""

from __future__ import annotations

import os
import time
from datetime import datetime, timedelta
from pathlib import Path

_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def age(moment: str | None, now: str) -> str:
    """Return how long ago `moment` was, both RFC 3339; `<unknown>` if there is none."""
    if not moment:
        return "<unknown>"
    return human((datetime.fromisoformat(now) - datetime.fromisoformat(moment)).total_seconds())


def human(seconds: float) -> str:
    """Return a span in two or three significant digits: `5m12s`, `3h`, `2d4h`."""
    whole = int(seconds)
    if whole < 0:
        # Clocks of two machines may differ a little.
        return "<invalid>" if whole < -1 else "0s"
    if whole < 3 * _HOUR:
        return _minutes(whole)
    if whole < 8 * _HOUR:
        return _pair(whole, _HOUR, "h", _MINUTE, "m")
    return f"{whole // _HOUR}h" if whole < 2 * _DAY else _days(whole)


def clock(span: timedelta) -> str:
    """Return a running clock: `0:07`, `1:02:03`."""
    seconds = max(int(span.total_seconds()), 0)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def in_seconds(span: timedelta) -> str:
    """Return what is left of a short wait: `7 s`."""
    return f"{max(round(span.total_seconds()), 0)} s"


def _minutes(whole: int) -> str:
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    return _pair(whole, _MINUTE, "m", 1, "s") if whole < 10 * _MINUTE else f"{whole // _MINUTE}m"


def _days(whole: int) -> str:
    if whole < 8 * _DAY:
        return _pair(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _pair(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _pair(whole: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = whole % large // small
    return f"{whole // large}{large_name}{rest}{small_name}" if rest else f"{whole // large}{large_name}"


def age_of_process(stat: Path = Path("/proc/self/stat")) -> float:
    """Return how many seconds ago this process was started; 0 where the system does not say."""
    try:
        ticks = int(stat.read_text().rpartition(")")[2].split()[19])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError):  # no /proc, as on macOS
        return 0.0


_BEGUN = time.monotonic() - age_of_process()


def since_command() -> float:
    """Return the seconds since the command was started: loading it is part of what its user waits for."""
    return time.monotonic() - _BEGUN
