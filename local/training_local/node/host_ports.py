"""Host ports of pods without a network of their own."""

from __future__ import annotations

import socket
from contextlib import closing

from training_local.node.podspec import Pod

_KINDS = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}


def taken(pod: Pod) -> str:
    """The first of the pod's host ports that another program of this machine has, as a sentence; else empty.

    Those of other pods are the scheduler's business.
    """
    for container in pod.containers:
        for port in container.ports:
            kind = _KINDS.get(port.protocol)
            if port.host_port and kind and not _free(port.host_ip, port.host_port, kind):
                return f"hostPort {port.host_port} of container {container.name} is taken by a program of this machine"
    return ""


def _free(address: str, port: int, kind: socket.SocketKind) -> bool:
    with closing(socket.socket(socket.AF_INET, kind)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
