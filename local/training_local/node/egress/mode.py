"""What pods reach, as users choose it."""

from __future__ import annotations

from enum import StrEnum


class NetworkMode(StrEnum):
    """What pods reach beside the pods of their job and the API server."""

    CLUSTER = "cluster"
    """Names resolve, and connections lead to the Internet."""
    PROXY = "proxy"
    """The same for programs that heed `http_proxy` and `https_proxy`."""
    HOST = "host"
    """As `cluster`, and to this machine's loopback address."""
    NONE = "none"
