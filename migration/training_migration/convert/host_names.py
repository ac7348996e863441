"""Signs of v1's host names in texts."""

from __future__ import annotations

import re
from typing import Final

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
