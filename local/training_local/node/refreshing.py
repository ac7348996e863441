"""Keeping volumes up to date: config maps and secrets that change while pods run show in their files."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal, Protocol

from training_local.node.api import TransportApi
from training_local.node.environment import CONFIG_MAP, SECRET, Key, data_of

PLURALS: Final[Mapping[str, Literal["configmaps", "secrets"]]] = {CONFIG_MAP: "configmaps", SECRET: "secrets"}
GATHER_SECONDS: Final = 0.5
"""A host list changes with each worker that starts: its readers are served together. A kubelet takes up to a minute."""

Objects = Mapping[Key, Mapping[str, bytes]]


class Refreshed(Protocol):
    """A pod whose volumes may be made of objects."""

    @property
    def namespace(self) -> str:
        """Where its objects are."""
        ...

    def refresh(self, objects: Objects) -> None:
        """Bring its volumes up to date, as far as they have these."""
        ...


class Refresher:
    """Tells the pods of a node which config maps and secrets have changed."""

    def __init__(self, api: TransportApi, pods: Callable[[], Collection[Refreshed]]) -> None:
        self._api, self._pods = api, pods
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
                for pod in self._pods():
                    if pod.namespace in changed:
                        pod.refresh(changed[pod.namespace])

    async def _follow(self, kind: str) -> None:
        async for change in self._api.follow(PLURALS[kind]):
            if not change.gone:  # pods keep what they have of an object that is deleted
                metadata = change.object["metadata"]
                self._changed[metadata["namespace"]][kind, metadata["name"]] = data_of(change.object, kind)
                self._woken.set()
