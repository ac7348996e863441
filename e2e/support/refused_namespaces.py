"""Surroundings in which the machine lets nobody make namespaces: no capabilities, and no user namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

# What is allowed inside a user namespace is for its owner to say, whose further rights then go.
_REFUSING: Final = (
    "echo 0 > /proc/sys/user/max_user_namespaces && "
    'exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"'
)
REFUSED: Final[Sequence[str]] = ("unshare", "--user", "--map-root-user", "sh", "-c", _REFUSING, "sh")
"""What to put before a command so that it runs there; where they are rejected anyway it cannot."""
