"""Signs of v1's host names in texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final


def _cut(host: str, field: int, *, rest: bool) -> str:
    parts = host.split("-")[field - 1 :]
    return "-".join(parts if rest else parts[:1])


V1_HOST: Final = re.compile(
    r"-(master|worker|launcher|ps|chief|evaluator)-(?=\d|[{$%\"'(*]|$)(?!\d+-[\d{$%\"'])"
    r"|[\w}]-(launcher)(?=[\"'\s:,]|$)"
)
"""The name of a pod of any job."""
RANK_OF_HOST: Final = re.compile(
    r"gethostname\(\)[^#\n]*(?:split|\[|re\.)|platform\.node\(\)[^#\n]*split|HOSTNAME[\"'\])]+[^#\n]*split"
    r"|\$\{HOSTNAME(?:##|%%|#|%|//|:)|\$\{?HOSTNAME\}?[^\n]*\|\s*(?:awk|cut|sed|grep|rev)"
    r"|\bhostname\b[^\n]*\|\s*(?:awk|cut|sed|grep|rev)"
)
"""A rank that is taken from the name of the host."""
_HOST: Final = r"(?:hostname(?: -s)?|echo \"?\$\{?HOSTNAME\}?\"?)"
TAKEN: Final[Sequence[tuple[re.Pattern[str], Callable[[str, re.Match[str]], str]]]] = (
    (
        re.compile(rf"\$\(\s*{_HOST}\s*\|\s*cut\s+-d\s*['\"]?-['\"]?\s+-f\s*(\d+)(-?)\s*\)"),
        lambda host, found: _cut(host, int(found[1]), rest=bool(found[2])),
    ),
    (
        re.compile(
            rf"\$\(\s*{_HOST}\s*\|\s*(?:awk\s+-F\s*['\"]?-['\"]?\s+'\{{\s*print\s+\$NF\s*\}}'|sed\s+'s/\.\*-//'"
            r"|rev\s*\|\s*cut\s+-d\s*['\"]?-['\"]?\s+-f\s*1\s*\|\s*rev|grep\s+-[Eo]+\s+'\[0-9\][*+]\$')\s*\)"
            r"|\$\{HOSTNAME##\*-\}"
        ),
        lambda host, found: host.rpartition("-")[2],
    ),
)
"""Shell expressions that take the rank from the host name, and what they make of one."""


def from_host_name(text: str, host: str) -> str:
    """The text with what a shell takes from the name of the host in place of the expressions that take it."""
    for pattern, taken in TAKEN:
        text = pattern.sub(partial(taken, host), text)
    return text
