"""What a node needs of the world, and what it offers to the API server, as protocols."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from training_local.node.podspec import Metadata, Wire

Followed = Literal["pods", "services", "nodes", "persistentvolumeclaims", "configmaps", "secrets"]


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it is now, or, if `gone`, as it was last."""

    object: Wire
    gone: bool = False


class NodeApi(Protocol):
    """The API server as a node uses it. Methods raise `OSError` when it cannot be reached."""

    def follow(self, plural: Followed) -> AsyncIterator[Change]:
        """Yield every object there is, then every change, for ever; lost connections are made up for."""
        ...

    async def get(self, plural: str, namespace: str, name: str) -> Wire | None:
        """Read an object; None if there is none."""
        ...

    async def owner_annotations(self, pod: Metadata) -> Mapping[str, str]:
        """Read the annotations of the job that controls a pod; none if it is controlled by no job."""
        ...

    async def services(self, namespace: str) -> tuple[int, list[Wire]]:
        """Read the services of a namespace as they are now, and the version of the cluster that has them."""
        ...

    async def register(self, node: Wire) -> None:
        """Create the node object, or bring it and its status up to date."""
        ...

    async def bind(self, pod: Metadata, node_name: str) -> None:
        """Assign a pod to a node; nothing happens if it has gone or is assigned already."""
        ...

    async def bind_claim(self, claim: Wire) -> None:
        """Mark a volume claim as bound; nothing happens if it is, cannot be or has gone."""
        ...

    async def patch_status(self, pod: Metadata, status: Wire) -> None:
        """Merge `status` into the status of exactly this pod; nothing happens if it has gone."""
        ...

    async def confirm_deletion(self, pod: Metadata) -> None:
        """Remove the object of a pod whose processes have gone."""
        ...

    async def record(self, pod: Metadata, kind: Literal["Normal", "Warning"], reason: str, message: str) -> None:
        """Record an event about a pod; an identical one counts up."""
        ...


class ApiEndpoint(Protocol):
    """How pods reach the API server."""

    @property
    def authority(self) -> bytes:
        """What a client must trust, as PEM."""
        ...

    async def open(self, listener: socket.socket) -> None:
        """Answer whoever connects to a socket that listens."""
        ...

    async def close(self, listener: socket.socket) -> None:
        """Let nobody in any more by this socket, and close it."""
        ...

    def issue(self, namespace: str, name: str, uid: str) -> str:
        """Return a new token of a service account."""
        ...

    def revoke(self, token: str) -> None:
        """Let a token open nothing any more."""
        ...
