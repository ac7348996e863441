"""Controllers inside of the server: they follow all changes and work off what these entail, between requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

import structlog

from training_local.apiserver.errors import ApiError
from training_local.apiserver.storage import Change, Storage, StoreKey

_log = structlog.get_logger(__name__)
_RETRY_SECONDS: Final = 1.0


class Controller(Protocol):
    """One concern: takes note of changes at once, acts on them later."""

    def observe(self, key: StoreKey, change: Change) -> bool:
        """Take note of a change; returns whether there is work."""
        ...

    async def work(self) -> None:
        """Do all there is to do; a write that is rejected (a full disk) stays to be done."""
        ...


@contextmanager
def due_again(due: dict[str, None], name: str) -> Iterator[None]:
    """Put `name` back among what is due if the work on it fails."""
    try:
        yield
    except ApiError:
        due[name] = None
        raise


class ControllerManager:
    """Runs controllers whenever one of them has work; one after the other, in their order."""

    def __init__(self, storage: Storage, controllers: Sequence[Controller]) -> None:
        self._controllers = controllers
        self._wake = asyncio.Event()
        storage.observers.append(self._observe)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                for controller in self._controllers:
                    await controller.work()
            except ApiError as error:
                _log.warning("garbage collection waits", reason=error.message)
                self._wake.set()
                await asyncio.sleep(_RETRY_SECONDS)
            await asyncio.sleep(0)  # requests get their turn, however much there is to do

    def _observe(self, key: StoreKey, change: Change) -> None:
        for controller in self._controllers:
            if controller.observe(key, change):
                self._wake.set()
