"""Surroundings in which the machine denies namespaces: no capabilities, and no user namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# What is allowed inside a user namespace is for its owner to say, whose further rights then go.
_DENYING: Final = (
    "echo 0 > /proc/sys/user/max_user_namespaces && "
    'exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"'
)
DENIED: Final[Sequence[str]] = ("unshare", "--user", "--map-root-user", "sh", "-c", _DENYING, "sh")
"""What to put before a command so that it runs there; where namespaces are denied anyway it cannot."""
