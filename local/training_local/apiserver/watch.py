"""Watches: the changes of a collection as lines, seen through selectors (Kubernetes API concepts)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Protocol

from training_local.apiserver.errors import ApiError, Json, expired
from training_local.apiserver.options import ListOptions
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.selectors import field_selector, label_selector
from training_local.apiserver.state import State, served
from training_local.apiserver.storage import Change, Compacted, Entry, EventType, encode
from training_local.apiserver.views import View

BOOKMARK_SECONDS = 60.0
SHORTEST_SECONDS = 1800.0
"""A watch without `timeoutSeconds` lasts this long, up to twice as long."""
PENDING_LINES = 100_000
"""A client that is this far behind is cut off, as the real server does with slow watches."""


class Live(Protocol):
    """An answer that goes on: batches of lines, each with its newline, until it ends or is closed."""

    content_type: str

    def batches(self) -> AsyncIterator[list[bytes]]:
        """Yield what there is to send, as soon as there is something."""
        ...

    def close(self) -> None:
        """Stop; may be called at any time and more than once."""
        ...


class Watch:
    """One client's watch: takes changes as they are stored and hands them out as lines."""

    content_type = "application/json"

    def __init__(self, state: State, target: RequestInfo, options: ListOptions, view: View | None) -> None:
        self._state = state
        self._target = target
        self._type = target.type
        self._view = view
        self._labels = label_selector(options.labels)
        self._fields = field_selector(options.fields, target.type)
        self._pending: deque[bytes] = deque()
        self._wake = asyncio.Event()
        self._ended = False
        self._timers: list[asyncio.TimerHandle] = []
        self._collection = state.storage.collection(target.type.store)
        self._form = (self._type.api_version, self._type.plural, view.name if view else "")
        version = options.version_number()
        try:
            self._begin(options, version)
        except ApiError as error:
            self._fail(error)

    async def batches(self) -> AsyncIterator[list[bytes]]:
        """Yield all lines that are ready, as soon as there is one."""
        while True:
            if self._pending:
                ready = list(self._pending)
                self._pending.clear()
                yield ready
            elif self._ended:
                return
            else:
                self._wake.clear()
                await self._wake.wait()

    def close(self) -> None:
        """End the watch."""
        self._ended = True
        self._collection.subscribers.pop(self._on_change, None)
        for timer in self._timers:
            timer.cancel()
        self._wake.set()

    def _begin(self, options: ListOptions, version: int | None) -> None:
        if options.initial_events or (not version and options.initial_events is None):
            self._send_state()
            if options.initial_events and options.bookmarks:
                self._send_bookmark({"k8s.io/initial-events-end": "true"})
        elif version:
            try:
                for change in self._collection.since(version):
                    self._on_change(change)
            except Compacted as error:
                raise expired(f"too old resource version: {version} ({error.oldest})") from error
        self._collection.subscribers[self._on_change] = self.close
        loop = asyncio.get_running_loop()
        lasts = options.timeout or SHORTEST_SECONDS * (1 + self._state.rng.random())
        self._timers = [loop.call_later(lasts, self.close)]
        if options.bookmarks:
            self._timers.append(loop.call_later(BOOKMARK_SECONDS, self._tick))

    def _fail(self, error: ApiError) -> None:
        self._send(encode({"type": "ERROR", "object": error.status()}) + b"\n")
        self.close()

    def _tick(self) -> None:
        self._send_bookmark()
        self._timers[1] = asyncio.get_running_loop().call_later(BOOKMARK_SECONDS, self._tick)

    def _send_state(self) -> None:
        for entry in self._collection.entries(self._target.namespace or None):
            if self._selects(entry, partial(served, self._type, entry)):
                self._send(self._line("ADDED", entry))

    def _send_bookmark(self, annotations: Json | None = None) -> None:
        meta: Json = {"resourceVersion": str(self._state.storage.version), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        obj = {"kind": self._type.kind, "apiVersion": self._type.api_version, "metadata": meta}
        shown = self._view.many([], {"resourceVersion": meta["resourceVersion"]}) if self._view else obj
        self._send(encode({"type": "BOOKMARK", "object": shown}) + b"\n")

    def _on_change(self, change: Change) -> None:
        now = change.type != "DELETED" and self._selects(change.new, lambda: self._served_new(change))
        before = change.old is not None and self._selects(change.old, lambda: self._served_old(change))
        if now:
            self._send(self._shared_line(change, "MODIFIED" if before else "ADDED"))
        elif before:
            self._send(self._shared_line(change, "DELETED"))

    def _served_new(self, change: Change) -> Json:
        obj = change.new_object
        return self._type.conversion.from_storage(obj) if self._type.conversion else obj

    def _served_old(self, change: Change) -> Json:
        obj = change.old_object
        assert obj is not None
        return self._type.conversion.from_storage(obj) if self._type.conversion else obj

    def _selects(self, entry: Entry, obj: Callable[[], Json]) -> bool:
        target = self._target
        return (
            (not target.namespace or entry.namespace == target.namespace)
            and (not target.name or entry.name == target.name)
            and (not self._labels.requirements or self._labels.matches(entry.labels))
            and (not self._fields.conditions or self._fields.matches(obj()))
        )

    def _shared_line(self, change: Change, type: EventType) -> bytes:
        """Return the line for a change, made once for all watches that see it in the same way."""
        if self._view is not None:
            return self._line(type, self._shown(change, type))
        key = (self._form, type)
        if (line := change.lines.get(key)) is None:
            line = change.lines[key] = self._line(type, self._shown(change, type))
        return line

    def _shown(self, change: Change, type: EventType) -> Entry:
        """Return what an event carries; of an object that left the selection, its last state there, newly versioned."""
        if type == "DELETED" and change.type != "DELETED" and change.old is not None:
            return Entry.of(change.old.object(), change.version)
        return change.new

    def _line(self, type: EventType, entry: Entry) -> bytes:
        if self._view is None and self._type.conversion is None:
            raw = entry.raw
        else:
            obj = served(self._type, entry)
            raw = encode(self._view.one(obj) if self._view else obj)
        return b'{"type":"%b","object":%b}\n' % (type.encode(), raw)

    def _send(self, line: bytes) -> None:
        self._pending.append(line)
        self._wake.set()
        if len(self._pending) > PENDING_LINES:
            self.close()
