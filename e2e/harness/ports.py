"""Unused TCP ports of the loopback interface."""

from __future__ import annotations

import random
import socket

_RESERVED: list[socket.socket] = []
"""One for each port that this process has been given; the kernel closes them when it ends."""


def free_ports(count: int) -> list[int]:
    """Ports that no other process of this machine is given as well, as long as this one lives.

    They are below those which the kernel gives to outgoing connections, so that none is lost before it is used.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(20_000, 32_000)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
            # A name in the kernel: what serves at the port may start seconds later.
            reservation.bind(f"\0training-operator/port/{port}")
        except OSError:
            reservation.close()
            continue
        _RESERVED.append(reservation)
        found.append(port)
    return found
