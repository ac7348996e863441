"""Keeping volumes up to date: config maps and secrets that change while pods run show in their files."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final, Literal

from training_local.node.api import TransportApi
from training_local.node.environment import CONFIG_MAP, SECRET, Key, data_of

PLURALS: Final[Mapping[str, Literal["configmaps", "secrets"]]] = {CONFIG_MAP: "configmaps", SECRET: "secrets"}
GATHER_SECONDS: Final = 0.5
"""A host list changes with each worker that starts: its readers are served together. A kubelet takes up to a minute."""

Objects = Mapping[Key, Mapping[str, bytes]]


class Refresher:
    """Follows config maps and secrets, and refreshes the volumes of the pods that have them."""

    def __init__(self, api: TransportApi, refresh: Callable[[str, Objects], None]) -> None:
        """`refresh` is given a namespace and its objects that have changed."""
        self._api, self._refresh = api, refresh
        self._changed: defaultdict[str, dict[Key, Mapping[str, bytes]]] = defaultdict(dict)
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for kind in PLURALS:
                tasks.create_task(self._follow(kind))
            while True:
                await self._woken.wait()
                await asyncio.sleep(GATHER_SECONDS)
                self._woken.clear()
                changed, self._changed = self._changed, defaultdict(dict)
                for namespace, objects in changed.items():
                    self._refresh(namespace, objects)

    async def _follow(self, kind: str) -> None:
        async for change in self._api.follow(PLURALS[kind]):
            if not change.gone:  # pods keep what they have of an object that is deleted
                metadata = change.object["metadata"]
                self._changed[metadata["namespace"]][kind, metadata["name"]] = data_of(change.object, kind)
                self._woken.set()
