"""What the node and the supervisor program say to each other: JSON lines over a Unix socket, with descriptors."""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_BLOCK = 65536
_MOST_DESCRIPTORS = 16

BACKLOG = 512
"""How many connections may wait at once for the API server: all ranks of a large job start together."""

Message = Mapping[str, Any]


class Setup(NamedTuple):
    """The first message: which kind of sandbox to build."""

    mode: str
    """`netns` or `host`."""
    root: str
    """An empty directory on which the private root may be mounted."""
    hidden: str
    """Directory that containers must not see, except the parts they name."""
    resolver: Sequence[tuple[str, str]]
    """Files to show instead of the machine's resolver configuration: (source, target)."""
    cluster: str = ""
    """Id of the cluster, by which its processes are found again after it has been killed."""
    gateway: tuple[str, int] = ("", 0)
    """Address in the pods' network at which the node can be reached, and length of its network part; none if empty."""

    redirect: int = 0
    """Port of the gateway at which connections from pods to the outside end; 0 if there is no way out."""


class PodSpec(NamedTuple):
    """What the containers of one pod share."""

    id: str
    hostname: str
    address: str
    prefix: int
    hosts: str
    """File shown as `/etc/hosts`; rewritten in place by the node."""
    shm_bytes: int
    memory: Sequence[tuple[str, int]] = ()
    """Volumes in memory: (directory, bytes; 0 for no limit)."""
    share_processes: bool = False


class Mount(NamedTuple):
    """A file or directory of the machine shown inside a container."""

    source: str
    target: str
    readonly: bool = False


class ContainerSpec(NamedTuple):
    """One attempt of one container."""

    id: str
    pod: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    mounts: Sequence[Mount] = ()
    own: Sequence[Mount] = ()
    """Folders that the container has in the place of the machine's; of what is below those it sees `visible`."""
    visible: Sequence[str] = ()
    """Parts of what is hidden that the container sees."""
    hidden: Sequence[str] = ()
    """Further directories, files and sockets that the container must not see."""
    cgroups: Sequence[str] = ()
    """Files of control groups that the process enters before anything else, by writing 0 to them."""


class ExecSpec(NamedTuple):
    """A further program inside a running container."""

    id: str
    pod: str
    container: str
    """Id of the attempt of the container."""
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: str
    terminal: bool = False
    """Whether its standard input is a terminal that it is to control."""
    cgroups: Sequence[str] = ()


def encode(operation: str, **fields: object) -> bytes:
    """One message as a line."""
    return json.dumps({"op": operation, **fields}).encode() + b"\n"


class Channel:
    """The blocking end of the conversation, in the supervisor."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = b""
        self._descriptors: deque[int] = deque()

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    def send(self, operation: str, **fields: object) -> None:
        """Say something; raises `OSError` when no process listens any more."""
        self._socket.sendall(encode(operation, **fields))

    def hand_over(self, descriptors: Sequence[int], operation: str, **fields: object) -> None:
        """Say something that comes with descriptors, which are closed here."""
        data = encode(operation, **fields)
        try:
            sent = socket.send_fds(self._socket, [data], descriptors)
            self._socket.sendall(data[sent:])
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def receive(self) -> list[dict[str, Any]] | None:
        """Wait for data and return the complete messages in it; None when the other side has gone."""
        data, descriptors, _, _ = socket.recv_fds(
            self._socket, _BLOCK, _MOST_DESCRIPTORS, getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        )
        self._descriptors.extend(descriptors)
        if not data:
            return None
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def take(self, count: int) -> list[int]:
        """The descriptors that came with the next message."""
        return [self._descriptors.popleft() for _ in range(count)]

    def close(self) -> None:
        """Hang up."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._socket.close()
