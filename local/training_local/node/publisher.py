"""Bringing the status of one pod to the API server: the newest one, and only if it is another than before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from training_local.node.api import TransportApi
from training_local.node.podspec import Metadata
from training_local.node.retry import persistently


class StatusPublisher:
    """Writes a pod's status after every change; changes during a write are written together."""

    def __init__(self, api: TransportApi, pod: Metadata, render: Callable[[], dict[str, Any]]) -> None:
        self._api, self._pod, self._render = api, pod, render
        self._dirty = asyncio.Event()
        self._closing = False
        self._muted = False
        self._written: dict[str, Any] | None = None

    def changed(self) -> None:
        """Note that the status may be another."""
        self._dirty.set()

    def mute(self) -> None:
        """Write nothing any more."""
        self._muted = True

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
            await persistently(self._write, f"status of pod {self._pod.namespace}/{self._pod.name}")
            if closing:
                return

    async def _write(self) -> None:
        """Write the status as it is at the time of the attempt, unless it is what was written last."""
        status = self._render()
        if not self._muted and status != self._written:
            await self._api.patch_status(self._pod, status)
            self._written = status
