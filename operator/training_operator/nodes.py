"""The cache of nodes, for operators that replace pods on lost ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta

from training_controllers.model.records import NodeRecord
from training_operator.cache.reflector import Reflector
from training_operator.cache.store import Change, Store
from training_operator.kube.client import KubeClient
from training_operator.kube.resources import NODES


class NodeCache:
    """Which nodes are lost, and since when (the port `Nodes`); calls `on_change` for each change of that."""

    def __init__(
        self,
        client: KubeClient,
        lost_after: timedelta,
        *,
        rng: random.Random,
        now: Callable[[], datetime],
        undecodable: Callable[[], None],
        on_change: Callable[[str], None],
    ) -> None:
        self._lost_after, self._now = lost_after, now
        self._on_change = on_change
        self._store = Store[NodeRecord]()
        self._store.subscribe(self._changed)
        # Nodes have no namespace. Optional: jobs on healthy nodes must not wait for the permission.
        self.reflector = Reflector(client, NODES, self._store, rng=rng, undecodable=undecodable, optional=True)

    @property
    def lost_after(self) -> timedelta:
        """Return for how long a node has to be lost until its pods count as lost."""
        return self._lost_after

    def lost(self, names: Collection[str]) -> Mapping[str, datetime | None]:
        """Return those of the nodes that are lost.

        While the cache may be stale they are lost since now, so that no pod is deleted for an old state of its node.
        """
        if not self.reflector.synced.is_set():
            return {}
        found = {name: self._store.get("", name) for name in names}
        lost = {name: node for name, node in found.items() if node is None or node.unready_since is not None}
        if self.reflector.last_error:
            return dict.fromkeys(lost, self._now())
        return {name: node.unready_since if node is not None else None for name, node in lost.items()}

    def _changed(self, change: Change[NodeRecord]) -> None:
        old, new = change.old, change.new
        before, after = (each.unready_since if each is not None else None for each in (old, new))
        node = new or old
        if node is not None and (old is None or new is None or before != after):
            self._on_change(node.name)
