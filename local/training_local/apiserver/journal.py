"""State that survives the process: every write in a SQLite file before it is answered or seen by a watch.

The file has a write-ahead log, so a write is there as a whole or not at all, wherever the process is killed. Without an
fsync per write (`synchronous=NORMAL`) a power loss can take the last writes, but never the file's consistency; all
clients are on this machine, so none is left that has seen them.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from training_local.apiserver.errors import Json, not_stored
from training_local.apiserver.ownership.managed import Managed
from training_local.apiserver.ownership.origin import Note, Origin
from training_local.apiserver.storage import Entry, Storage, StoreKey, decode, encode

FILE: Final = "state.sqlite"
LOCK: Final = "lock"
FORMAT: Final = 1
"""`user_version` of the files that this code reads and writes."""
APPLICATION: Final = 0x74726F70
"""`application_id`, which marks the files of this program."""
_read_list: Final = msgspec.json.Decoder(list[Json]).decode
_LOG_PAGES: Final = 4000
"""Pages of 4 KiB in the log before they are copied into the file, which takes an fsync."""

_TABLES = """
CREATE TABLE objects (
    api_group TEXT, plural TEXT, namespace TEXT, name TEXT, version INTEGER NOT NULL, json BLOB NOT NULL,
    PRIMARY KEY (api_group, plural, namespace, name)
);
CREATE TABLE notes (
    uid TEXT NOT NULL, resource TEXT NOT NULL, manager TEXT NOT NULL, time TEXT NOT NULL, subresource TEXT NOT NULL,
    given BLOB, owners BLOB, live BLOB, new BLOB NOT NULL
);
CREATE INDEX notes_of_object ON notes (uid);
CREATE TABLE last_deletion (version INTEGER NOT NULL);
INSERT INTO last_deletion VALUES (0);
"""
_PUT = """
INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET version = excluded.version, json = excluded.json
"""
_LIVE = "(SELECT json FROM objects WHERE (api_group, plural, namespace, name) = (?, ?, ?, ?))"
_NOTE = f"INSERT INTO notes SELECT ?, ?, ?, ?, ?, ?, ?, {_LIVE}, ?"
_FORGET = "DELETE FROM notes WHERE uid = ?"
_OWNERS = "INSERT INTO notes VALUES (?, '', '', '', '', NULL, ?, NULL, '')"
_REMOVE = "DELETE FROM objects WHERE (api_group, plural, namespace, name) = (?, ?, ?, ?)"


class JournalError(Exception):
    """A folder cannot be used; the text is one sentence that says why."""


class Journal:
    """The objects of one API server in a folder that no other server uses at the same time; a context manager."""

    def __init__(self, database: sqlite3.Connection, resources: ExitStack) -> None:
        self._database = database
        self._resources = resources

    @classmethod
    def open(cls, folder: Path) -> Journal:
        """Open what `folder` holds, or begin there; raises JournalError if that is not possible."""
        with _explained(folder), ExitStack() as resources:
            _make_private(folder)
            _lock(folder / LOCK, resources)
            database = _connect(folder / FILE)
            resources.callback(database.close)
            return cls(database, resources.pop_all())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the folder."""
        self._resources.close()

    def resume(self, storage: Storage) -> None:
        """Give a new storage what the last one left, and keep its writes from now on."""
        rows = self._database.execute("SELECT api_group, plural, version, json FROM objects ORDER BY version")
        entries = [((group, plural), Entry.of(decode(raw), version)) for group, plural, version, raw in rows]
        (deleted,) = self._database.execute("SELECT version FROM last_deletion").fetchone()
        storage.restore(entries, max(deleted, entries[-1][1].version if entries else 0))
        storage.log = self

    def notes(self) -> Iterator[tuple[str, Note]]:
        """Return what is kept about the owners of fields, by uid in the order of the writes."""
        for uid, resource, manager, time, subresource, given, owners, live, new in self._database.execute(
            "SELECT * FROM notes ORDER BY rowid"
        ):
            group, version, plural = resource.split("/") if resource else ("", "", "")
            known = None if owners is None else Managed.read(_read_list(owners))
            entries = None if given is None else _read_list(given)
            yield (
                uid,
                Note(Origin((group, version, plural), manager, time, subresource, new, entries, known), live, new),
            )

    def put(self, key: StoreKey, entry: Entry) -> None:
        """Keep a new or changed object; raises a 507 if the disk does not take it, and then nothing has changed."""
        place = (*key, entry.namespace, entry.name)
        with _stored_or_rejected(), self._database as database:
            if entry.origin is not None:
                self._note(entry, entry.origin, place)
            database.execute(_PUT, (*place, entry.version, entry.raw))

    def own(self, uid: str, entries: list[Json]) -> None:
        """Keep the owners of an object's fields in place of the notes that led to them."""
        with _stored_or_rejected(), self._database as database:
            database.execute(_FORGET, (uid,))
            database.execute(_OWNERS, (uid, encode(entries)))

    def _note(self, entry: Entry, origin: Origin, place: tuple[str, ...]) -> None:
        if origin.owners is not None:
            self._database.execute(_FORGET, (entry.uid,))
            self._database.execute(_OWNERS, (entry.uid, encode(origin.owners.entries())))
            return
        given = None if origin.given is None else encode(origin.given)
        columns = ("/".join(origin.resource), origin.manager, origin.time, origin.subresource, given, None)
        self._database.execute(_NOTE, (entry.uid, *columns, *place, origin.new or entry.raw))

    def remove(self, key: StoreKey, entry: Entry) -> None:
        """Forget an object, but not the version of its deletion; raises a 507 like `put`."""
        with _stored_or_rejected(), self._database as database:
            database.execute(_REMOVE, (*key, entry.namespace, entry.name))
            database.execute(_FORGET, (entry.uid,))
            database.execute("UPDATE last_deletion SET version = ?", (entry.version,))


def _make_private(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise JournalError(f"{folder}: not a folder")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise JournalError(f"{folder}: others can write to it; use a folder that only you can write to (chmod 700)")


def _lock(path: Path, resources: ExitStack) -> None:
    """Hold a lock as long as the process lives, however it ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    resources.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(f"{path.parent}: another running cluster uses it") from None


def _connect(path: Path) -> sqlite3.Connection:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    path.chmod(0o600)  # SQLite gives its other files the same mode
    database = sqlite3.connect(path)
    try:
        _prepare(path, database)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(path: Path, database: sqlite3.Connection) -> None:
    def pragma(text: str) -> int:
        (value,) = database.execute(f"PRAGMA {text}").fetchone()
        return int(value)

    begun = pragma("page_count") > 0
    if begun and pragma("application_id") != APPLICATION:
        raise JournalError(f"{path}: a database of another program; use another folder")
    if begun and (found := pragma("user_version")) > FORMAT:
        raise JournalError(f"{path}: written by a newer release (format {found}, this one knows {FORMAT}); upgrade")
    if not begun:
        marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
        database.executescript(f"BEGIN; {marks} {_TABLES} COMMIT;")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with a folder."""
    try:
        yield
    except OSError as error:
        raise JournalError(f"{folder}: cannot be used for the state: {error.strerror or error}") from None
    except sqlite3.DatabaseError as error:
        raise JournalError(f"{folder / FILE}: cannot be used for the state: {error}") from None


@contextmanager
def _stored_or_rejected() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise not_stored(str(error)) from error
