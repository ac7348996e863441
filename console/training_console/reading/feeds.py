"""Lists that are watched while a page shows them: one watch for all open pages of a viewer, none without any."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final, Generic, TypeVar

from training_operator.cache.reflector import Reflector
from training_operator.cache.store import Change, Store
from training_operator.kube.client import KubeClient
from training_operator.kube.resources import Cacheable, Resource

R = TypeVar("R", bound=Cacheable)
Key = tuple[str, str, str, str]
"""Path, kind, label selector and name."""

LINGER_SECONDS: Final = 15.0
"""A feed without readers is kept so long: the next page often needs it again."""
PATIENCE_SECONDS: Final = 10.0
"""For the first list."""
MOST_OBJECTS: Final = 20_000
"""Of one feed, so that no viewer can fill the memory of the console."""


class NotAllowed(Exception):
    """The viewer may not read this; the message is the API server's sentence."""


class NoAnswer(Exception):
    """The API server has not answered in time; the message says what is known."""


class Feed(Generic[R]):
    """All objects of one resource, of a namespace or everywhere, kept current."""

    def __init__(self, client: KubeClient, resource: Resource[R], namespace: str, selector: str) -> None:
        self.store = Store[R]()
        self.readers = 0
        self.closing: asyncio.TimerHandle | None = None
        self._listeners: dict[asyncio.Event, Callable[[R], bool]] = {}
        self._kept: set[str] = set()
        """Uids, also of what a list has delivered that is not stored yet."""
        self._left_out = ""
        self._reflector = Reflector(
            client,
            resource,
            self.store,
            rng=random.Random(),
            namespace=namespace,
            selector=selector,
            keep=self._keep,
            optional=True,
            on_change=self._tell,
        )
        self.store.subscribe(self._changed)
        self._task = asyncio.create_task(self._reflector.run())

    async def ready(self, *, required: bool, patience: float | None) -> None:
        """Wait for the first list, with `patience` seconds only so long; its listeners are told when it is there.

        Raises `NotAllowed` where a `required` resource may not be listed, and `NoAnswer`: with `patience` only where
        a `required` one could not be asked for.
        """
        with suppress(TimeoutError):  # which a busy event loop may raise although the list is there
            async with asyncio.timeout(PATIENCE_SECONDS if patience is None else patience):
                await self._reflector.settled.wait()
        if self.coming:
            why = self._reflector.last_error
            if patience is not None and not (required and why):
                return
            raise NoAnswer(why or f"The API server has not sent all {self._reflector.name} yet.")
        if required and self._reflector.last_error and not self.absent and not self._reflector.synced.is_set():
            raise NotAllowed(self._reflector.last_error)

    @property
    def absent(self) -> bool:
        """Whether the API server has no such resource."""
        return self._reflector.absent

    @property
    def coming(self) -> bool:
        """Whether the first list is still on its way."""
        return not self._reflector.settled.is_set()

    @property
    def complaint(self) -> str:
        """Why it is not current, or not whole; empty if it is."""
        if self.coming:
            return f"The API server has not sent all {self._reflector.name} yet."
        return "" if self.absent else self._reflector.last_error or self._left_out

    @contextmanager
    def listened(self, event: asyncio.Event, concerns: Callable[[R], bool] = lambda _: True) -> Iterator[None]:
        """Set `event` inside the context at each change of an object that it `concerns`."""
        self._listeners[event] = concerns
        try:
            yield
        finally:
            del self._listeners[event]

    async def close(self) -> None:
        """End the watch."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def _keep(self, record: R) -> bool:
        """Whether there is room for a record; what is known already stays current."""
        if record.uid not in self._kept and len(self._kept) >= MOST_OBJECTS:
            self._left_out = f"There are more than {MOST_OBJECTS:,} {self._reflector.name}: the rest is not shown."
            return False
        self._kept.add(record.uid)
        return True

    def _changed(self, change: Change[R]) -> None:
        if change.new is None and change.old is not None:
            self._kept.discard(change.old.uid)
        for event, concerns in self._listeners.items():
            if any(record is not None and concerns(record) for record in (change.old, change.new)):
                event.set()

    def _tell(self) -> None:
        for event in self._listeners:
            event.set()


class Feeds:
    """The feeds of one viewer."""

    def __init__(self, client: Callable[[str], KubeClient], linger: float = LINGER_SECONDS) -> None:
        """Take a function that returns the client which sees the objects of one name; of all, if it is empty."""
        self._client, self.linger = client, linger
        self._feeds: dict[Key, Feed[Any]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def open_feeds(self) -> int:
        """How many lists are watched."""
        return len(self._feeds)

    @asynccontextmanager
    async def open(
        self,
        resource: Resource[R],
        namespace: str = "",
        selector: str = "",
        *,
        name: str = "",
        required: bool = True,
        patience: float | None = None,
    ) -> AsyncIterator[Feed[R]]:
        """Hand out the feed of a resource, or of its one object of a name, current when it comes.

        With `patience` it may come before its objects do. Raises `NotAllowed` and `NoAnswer`.
        """
        key = resource.path(namespace), resource.kind, selector, name
        feed: Feed[R] = self._feeds.get(key) or Feed(self._client(name), resource, namespace, selector)
        self._feeds[key] = feed
        feed.readers += 1
        if feed.closing is not None:
            feed.closing.cancel()
            feed.closing = None
        linger = self.linger
        try:
            await feed.ready(required=required, patience=patience)
            yield feed
        except NotAllowed:
            linger = 0.0
            raise
        finally:
            feed.readers -= 1
            if not feed.readers and self._feeds.get(key) is feed:
                feed.closing = asyncio.get_running_loop().call_later(linger, self._end, key, feed)

    def _end(self, key: Key, feed: Feed[Any]) -> None:
        del self._feeds[key]
        task = asyncio.create_task(feed.close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all feeds."""
        feeds = list(self._feeds.values())
        self._feeds.clear()
        for feed in feeds:
            if feed.closing is not None:
                feed.closing.cancel()
        await asyncio.gather(*(feed.close() for feed in feeds), *self._ending)
