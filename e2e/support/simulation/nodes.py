"""Nodes as objects: what the cluster says of them, whatever runs there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from e2e.support.simulation.api import Api
from e2e.support.simulation.kubelet import NODE

from training_operator.kube.transport import MERGE_PATCH

NODES = "/api/v1/nodes"


class Nodes:
    """The node objects of a cluster."""

    def __init__(self, api: Api, now: Callable[[], datetime]) -> None:
        self._api, self._now = api, now

    async def join(self, *names: str) -> None:
        """Nodes appear, and are ready."""
        for name in names or (NODE,):
            await self._api.send("POST", NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
            await self.ready(name)

    async def ready(self, name: str = NODE, status: str = "True") -> None:
        """The cluster knows how the node is; `Unknown` if nothing is heard of it."""
        since = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        conditions = [{"type": "Ready", "status": status, "lastTransitionTime": since}]
        patch = {"status": {"conditions": conditions}}
        await self._api.send("PATCH", f"{NODES}/{name}/status", patch, content_type=MERGE_PATCH)

    async def leave(self, name: str = NODE) -> None:
        """The node is deleted."""
        await self._api.send("DELETE", f"{NODES}/{name}")
