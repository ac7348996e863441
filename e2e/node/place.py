"""Where a node lives on this machine: a number of its own, and the names and addresses that follow from it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from e2e.harness.binaries import cache_folder
from e2e.harness.errors import HarnessError
from e2e.node.leftovers import remove_cgroups, remove_folder, remove_interface

PLACES = 10


@dataclass(frozen=True, slots=True)
class Place:
    """Names and addresses of one node; the networks are those that RFC 2544 sets aside for tests."""

    number: int

    @property
    def name(self) -> str:
        """Name of its interface on the host and of its control groups."""
        return f"e2e-node{self.number}"

    @property
    def folder(self) -> Path:
        """Where its files are: keys, settings, logs, etcd's data."""
        return cache_folder() / "node" / str(self.number)

    @property
    def address(self) -> str:
        """The node's own, at which API server and DNS answer as well."""
        return f"198.18.{self.number}.1"

    @property
    def host_address(self) -> str:
        """The host's in the network of the pods."""
        return f"198.18.{self.number}.254"

    @property
    def pods(self) -> str:
        """Network of the pods."""
        return f"198.18.{self.number}.0/24"

    @property
    def services(self) -> str:
        """Network of the services."""
        return f"198.19.{self.number}.0/24"

    @property
    def mac(self) -> str:
        """Fixed address of the bridge: else it takes the lowest of its ports', which come and go."""
        return f"0a:00:00:00:00:{self.number:02x}"

    def clear(self) -> None:
        """Remove what is left of a node whose processes have ended, however they ended."""
        remove_interface(self.name)
        remove_cgroups(self.name)
        remove_folder(self.folder)


@contextmanager
def reserved() -> Iterator[Place]:
    """A free place for the time of the context, cleared before and after; killed nodes' places are cleared as well."""
    clear_abandoned()
    for number in range(PLACES):
        with ExitStack() as stack:
            if _lock(stack, number):
                place = Place(number)
                place.clear()
                stack.callback(place.clear)
                yield place
                return
    raise HarnessError(f"{PLACES} nodes run on this machine already")


def clear_abandoned() -> None:
    """Clear all places that no living process has."""
    for number in range(PLACES):
        with ExitStack() as stack:
            if _lock(stack, number):
                Place(number).clear()


def _lock(stack: ExitStack, number: int) -> bool:
    """Whether place `number` was free; it is ours until the stack is left, or until this process dies in any way."""
    # The abstract name lives as long as the socket, and in the same network namespace as the interface of that number.
    lock = stack.enter_context(socket.socket(socket.AF_UNIX))
    with suppress(OSError):
        lock.bind(f"\0training-operator-e2e-node-{number}")
        return True
    return False
