"""The informer of one resource: lists it into a store, watches it, and relists after 410 Gone or a rejected version."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from enum import Enum, auto
from typing import Final, Generic, TypeVar

import msgspec
import structlog

from training_controllers.ports import ApiError, NotFound
from training_operator.cache.store import Key, Store
from training_operator.kube.client import KubeClient, Metadata, WatchEvent, metadata_of
from training_operator.kube.errors import Forbidden, Gone, Invalid
from training_operator.kube.permissions import missing_permission
from training_operator.kube.resources import Cacheable, Resource

R = TypeVar("R", bound=Cacheable)
OwnerCheck = Callable[[], Awaitable[str]]
"""Returns why a resource is another operator's; empty if it is ours."""

FIRST_DELAY: Final = 0.8
LONGEST_DELAY: Final = 30.0
CALM: Final = 120.0
"""After so many seconds without a failure the delay starts from the beginning."""
ABSENT_DELAY: Final = 5.0
"""Seconds between two attempts at a resource that the server does not have, or that is another operator's."""
SETTLING: Final = 1.0
"""Seconds until discovery shows a new CRD for certain; watches end with the old one."""


class State(Enum):
    """What a reflector does next."""

    RELISTING = auto()
    """It takes everything the server has: at the start, and after 410 Gone."""
    WATCHING = auto()
    """It watches from the version of the store."""
    ABSENT = auto()
    """It waits for the resource, which the server does not have."""
    IGNORING = auto()
    """It waits until the resource is its business: another operator's CRD, or no permission."""


class _ForeignCrd(Exception):
    """The CRD is another operator's; the text says how that shows."""


class Reflector(Generic[R]):
    """Keeps a store equal to what the server has: lists everything, then watches changes, indefinitely.

    The list is a stream of initial events or, from servers without them, comes in pages. An object that cannot be
    decoded is logged, counted and skipped; its cached record stays. An `optional` resource without permission is not
    waited for, and its cached records stay. `on_change` is called when the resource appears on the server, or vanishes
    from it.
    """

    def __init__(
        self,
        client: KubeClient,
        resource: Resource[R],
        store: Store[R],
        *,
        rng: random.Random,
        namespace: str = "",
        selector: str = "",
        keep: Callable[[R], bool] = lambda record: True,
        undecodable: Callable[[], None] = lambda: None,
        optional: bool = False,
        on_change: Callable[[], None] = lambda: None,
        foreign_crd: OwnerCheck | None = None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._store = store
        self._rng = rng
        self._namespace = namespace
        self._selector = selector
        self._keep = keep
        self._undecodable = undecodable
        self._optional = optional
        self._on_change = on_change
        self._foreign_crd = foreign_crd
        self._state = State.RELISTING
        self._streaming = True
        self._cut_short = False
        self._last_error = ""
        self._log = structlog.get_logger().bind(resource=resource.qualified)
        self._progress = 0.0
        self.synced = asyncio.Event()
        """Set once everything was there for the first time."""
        self.settled = asyncio.Event()
        """Set once synced, or once it is known that there is nothing to watch: no such resource, or not ours."""

    @property
    def name(self) -> str:
        """The qualified name of the resource."""
        return self._resource.qualified

    @property
    def last_error(self) -> str:
        """Why the resource cannot be watched at the moment; empty if it can."""
        return self._last_error

    @property
    def absent(self) -> bool:
        """Whether the server does not have the resource, as far as is known."""
        return self._state is State.ABSENT

    @property
    def _watching(self) -> bool:
        return self._state is State.WATCHING

    @property
    def progress(self) -> float:
        """When the last request was sent or the last line came, by the clock of the event loop."""
        return self._progress

    def forget(self) -> None:
        """Let the next `run` begin with a relist; it is not settled until that is there."""
        if self._watching:
            self._enter(State.RELISTING)
        self.settled.clear()

    async def run(self) -> None:
        """List and watch the resource until cancelled; no answer of the server ends it."""
        clock = asyncio.get_running_loop().time
        delay = FIRST_DELAY
        while True:
            started = self._progress = clock()
            try:
                await self._check_owner()
                await self._step()
                continue
            except Gone:  # 410: the version is too old to watch from
                self._enter(State.RELISTING)
            except NotFound:
                notice = "the API server does not have this resource yet: waiting for it"
                await self._wait(State.ABSENT, notice, f"the API server does not have {self.name}")
                continue
            except _ForeignCrd as error:
                await self._wait(State.IGNORING, "this CRD is another operator's: ignoring its objects", str(error))
                continue
            except (ApiError, OSError, msgspec.MsgspecError) as error:
                if self._optional and isinstance(error, Forbidden):
                    notice, missing = "no permission for this resource: ignoring it", missing_permission(str(error))
                    verb, manifest = (missing.verb, missing.manifest) if missing else ("", "")
                    await self._wait(State.IGNORING, notice, str(error), keep=True, verb=verb, apply=manifest)
                    continue
                if self._watching and isinstance(error, Invalid):
                    self._enter(State.RELISTING)
                self._log_once(error)
            if clock() - started >= CALM:
                delay = FIRST_DELAY
            await asyncio.sleep(delay * (1 + self._rng.random()))
            delay = min(2 * delay, LONGEST_DELAY)

    async def _check_owner(self) -> None:
        """Ask before every watch: servers end watches when a CRD is exchanged."""
        if self._foreign_crd is None:
            return
        if self._cut_short:
            await asyncio.sleep(SETTLING)
        if reason := await self._foreign_crd():
            raise _ForeignCrd(reason)

    async def _step(self) -> None:
        """Do one watch, or one relist in pages; return to continue."""
        if self._watching:
            await self._watch(self._store.version)
        elif not self._streaming:
            await self._page()
        else:
            try:
                await self._watch("")
            except Invalid:
                if self._watching:
                    raise
                self._streaming = False  # a server without initial events: pages from now on

    async def _watch(self, version: str) -> None:
        """Watch changes after `version`, or relist first if there is none, until the watch ends."""
        clock = asyncio.get_running_loop().time
        started, seconds = clock(), self._rng.randint(300, 600)
        self._cut_short = False
        async with self._client.watch(
            self._resource,
            self._namespace,
            version=version,
            selector=self._selector,
            seconds=seconds,
            initial=not version,
        ) as events:
            if not version:
                await self._take_over(events)
            else:
                self._recovered()
            async for event in events:
                self._apply(event)
        self._cut_short = clock() - started < seconds
        # A busy API server ends watches whose events it cannot send in time; after some events there is no pause.
        if version and self._store.version == version and clock() - started < 1:
            raise ConnectionError("the watch ended at once")

    async def _take_over(self, events: AsyncIterator[WatchEvent]) -> None:
        """Collect the initial events and replace what the store holds, in one step."""
        listed = _Listed[R]()
        async for event in events:
            self._heard()
            if event.type != "BOOKMARK":
                self._collect(event.object, listed, gone=event.type == "DELETED")
                continue
            if event.metadata.ends_initial_events:
                self._replace(listed, event.metadata.resource_version)
                return
        raise ConnectionError("the watch ended before all objects were sent")

    async def _page(self) -> None:
        """List everything in pages and replace what the store holds, in one step."""
        listed, token = _Listed[R](), ""
        while True:
            page = await self._client.list_page(self._resource, self._namespace, selector=self._selector, token=token)
            self._heard()
            for raw in page.items:
                self._collect(raw, listed)
            if not (token := page.next):
                self._replace(listed, page.version)
                return

    def _collect(self, raw: msgspec.Raw, listed: _Listed[R], *, gone: bool = False) -> None:
        if (record := self._decode(raw)) is None:
            metadata = metadata_of(raw)
            listed.broken.add((metadata.namespace, metadata.name))
        elif gone:
            listed.records.pop((record.namespace, record.name), None)
        elif self._keep(record):
            listed.records[record.namespace, record.name] = record

    def _replace(self, listed: _Listed[R], version: str) -> None:
        self._store.replace(listed.records.values(), version, listed.broken)
        self._enter(State.WATCHING)
        self._recovered()
        self.synced.set()
        self.settled.set()

    def _apply(self, event: WatchEvent) -> None:
        self._heard()
        metadata = event.metadata
        nothing_new = event.type == "BOOKMARK" or self._is_known(event.type, metadata)
        if nothing_new or (record := self._decode(event.object)) is None:
            self._store.advance(metadata.resource_version)
        elif event.type == "DELETED" or not self._keep(record):
            self._store.remove(record)
        else:
            self._store.observe(record)

    def _is_known(self, change: str, metadata: Metadata) -> bool:
        """Whether the store has this version, mostly because we wrote it: it is not decoded again."""
        known = self._store.get(metadata.namespace, metadata.name)
        return change != "DELETED" and known is not None and known.version == metadata.resource_version

    def _decode(self, raw: msgspec.Raw) -> R | None:
        try:
            return self._resource.decode(raw)
        except msgspec.MsgspecError as error:
            metadata = metadata_of(raw)
            self._undecodable()
            self._log.error(
                "object cannot be decoded and is skipped",
                namespace=metadata.namespace,
                name=metadata.name,
                error=str(error),
            )
            return None

    def _heard(self) -> None:
        self._progress = asyncio.get_running_loop().time()

    async def _wait(self, state: State, notice: str, reason: str, *, keep: bool = False, **fields: str) -> None:
        """Log once that there is nothing to watch, and wait.

        The second such answer in a row empties the store, unless its records are to be kept (`keep`).
        """
        self._enter(state)
        if reason != self._last_error:
            self._last_error = reason
            self._log.warning(notice, reason=reason, **fields)
        elif not keep:
            self._store.replace((), "")
        self.settled.set()
        await asyncio.sleep(ABSENT_DELAY * (1 + self._rng.random()))

    def _enter(self, state: State) -> None:
        """Change the state, and call `on_change` when the resource appears or vanishes."""
        before, self._state = self._state, state
        if (before is State.ABSENT) != (state is State.ABSENT):
            self._on_change()

    def _log_once(self, error: Exception) -> None:
        """Log an error once, not with every attempt."""
        message = str(error) or type(error).__name__
        if message != self._last_error:
            self._last_error = message
            if not self._client.permissions.denied(message):
                self._log.warning("cannot list or watch the resource: retrying", error=message)

    def _recovered(self) -> None:
        if self._last_error:
            self._last_error = ""
            self._log.info("watch established again")


class _Listed(Generic[R]):
    """What a list has delivered so far."""

    def __init__(self) -> None:
        self.records: dict[Key, R] = {}
        self.broken: set[Key] = set()
