"""Bringing the status of one pod to the API server: the newest one, and only if it is another than before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from training_local.node.podspec import Metadata
from training_local.node.ports import NodeApi

_RETRY_SECONDS = 0.5


class StatusPublisher:
    """Writes a pod's status after every change; changes during a write are written together."""

    def __init__(self, api: NodeApi, pod: Metadata, render: Callable[[], dict[str, Any]]) -> None:
        self._api, self._pod, self._render = api, pod, render
        self._dirty = asyncio.Event()
        self._closing = False
        self._written: dict[str, Any] | None = None

    def changed(self) -> None:
        """Note that the status may be another."""
        self._dirty.set()

    def close(self) -> None:
        """Let `run` return once the last status has been written."""
        self._closing = True
        self._dirty.set()

    async def run(self) -> None:
        """Write until closed."""
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            closing = self._closing
            await self._write()
            if closing:
                return

    async def _write(self) -> None:
        status = self._render()
        while status != self._written:
            with suppress(OSError):
                await self._api.patch_status(self._pod, status)
                self._written = status
                return
            await asyncio.sleep(_RETRY_SECONDS)
            status = self._render()
