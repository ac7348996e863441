"""How pods are kept apart, as users choose it."""

from __future__ import annotations

from enum import StrEnum


class SandboxMode(StrEnum):
    """How pods are kept apart."""

    AUTO = "auto"
    NETNS = "netns"
    HOST = "host"
