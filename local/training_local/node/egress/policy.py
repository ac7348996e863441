"""Where pods may connect to outside of the cluster (no effects)."""

from __future__ import annotations

import ipaddress
from typing import Final

from training_local.node.egress.mode import NetworkMode

PODS: Final = ipaddress.ip_network("10.244.0.0/16")
"""Addresses of pods; nothing outside is reached by one of these."""
MACHINE: Final = "10.245.0.1"
"""Stands for this machine's loopback address where pods may reach that."""
MACHINE_NAME: Final = "host.containers.internal"

_METADATA: Final = frozenset({"100.100.100.200", "168.63.129.16", "fd00:ec2::254"})
"""Where clouds publish a machine's credentials, beside link-local addresses."""


class NotAllowedError(ConnectionError):
    """A connection that pods may not make."""


def destination(address: str, mode: NetworkMode) -> str:
    """Return the address to connect with for a pod that wants to reach one; raises `NotAllowedError`.

    What listens on this machine's loopback address only is for its programs, and link-local addresses give credentials
    to whoever is on the machine.
    """
    wanted = ipaddress.ip_address(address)
    if isinstance(wanted, ipaddress.IPv6Address) and wanted.ipv4_mapped:
        wanted = wanted.ipv4_mapped
    if mode is NetworkMode.HOST and str(wanted) == MACHINE:
        return "127.0.0.1"
    private = wanted.is_loopback or wanted.is_link_local or str(wanted) in _METADATA
    nowhere = wanted.is_unspecified or wanted.is_multicast or wanted.is_reserved or wanted in PODS
    if nowhere or (private and mode is not NetworkMode.HOST):
        raise NotAllowedError(f"pods may not connect to {address}")
    return str(wanted)
