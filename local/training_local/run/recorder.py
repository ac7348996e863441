"""Keeping a run: everything is written down while it happens, so that it is there however the command ends."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog
import yaml

from training_local import locks
from training_local.cluster.registry import OTHER_STATE, state_folder
from training_local.errors import BadInput
from training_local.node.ephemeral_storage import used
from training_local.node.log_files import LogLimits
from training_local.run.archive import (
    EVENTS,
    JOB,
    LOCK,
    LOGS,
    RUN,
    STATUSES,
    SUMMARY,
    VERSION,
    ReplicaSummary,
    RunRecord,
    StatusChange,
    Summary,
    runs_folder,
)
from training_local.run.cause import Failure
from training_local.run.progress import JobProgress, JobRef, Replica
from training_local.run.watching import watch
from training_operator.kube.transport import Request, Transport

_VALUES: Final = ("data", "stringData")
_TAKEN_OUT: Final = "taken out"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_EVERY: Final = 1 << 30

_log = structlog.get_logger(__name__)


def log_limits(limit: int) -> LogLimits:
    """How much is kept of what containers print when the logs of all attempts are kept, in `limit` bytes."""
    return LogLimits(attempts=_EVERY, container_bytes=limit, total_bytes=limit)


class Recorder:
    """Writes one run down, into a folder of its own."""

    def __init__(self, folder: Path | None, record: RunRecord) -> None:
        """Nothing is kept without a folder."""
        self.folder = folder
        self._record = record
        self.runs = False
        """Whether its job has been created: nothing is worth keeping of one that was rejected."""
        self._failed = False
        self._known: dict[str, Any] = {}
        self._events: dict[str, str] = {}
        self._put(RUN, msgspec.json.encode(record))

    @property
    def logs(self) -> Path | None:
        """Where the node keeps the logs of the pods; None for its own folder."""
        return self.folder / LOGS if self.folder else None

    def applied(self, objects: Sequence[Mapping[str, Any]]) -> None:
        """Note what is about to be created."""
        self._put(JOB, yaml.safe_dump_all(map(_without_secrets, objects), sort_keys=False).encode())

    def begun(self, job: JobRef, sandbox: str, python: str) -> None:
        """Note which job it has become, and where it runs."""
        self.runs = True
        self._record = msgspec.structs.replace(
            self._record, namespace=job.namespace, name=job.name, sandbox=sandbox, python=python
        )
        self._put(RUN, msgspec.json.encode(self._record))

    def changed(self, change: str, stored: Mapping[str, Any]) -> None:
        """Note that the job or a pod has changed."""
        uid = stored["metadata"]["uid"]
        if change != "DELETED" and self._known.get(uid) == stored.get("status"):
            return
        dropped = {"spec"} if uid in self._known else set()
        self._known[uid] = stored.get("status")
        shown = {name: value for name, value in stored.items() if name not in dropped}
        shown["metadata"] = {name: v for name, v in stored["metadata"].items() if name != "managedFields"}
        self._append(STATUSES, msgspec.json.encode(StatusChange(datetime.now(UTC), change, shown)))

    @asynccontextmanager
    async def following_events(self, transport: Transport, namespace: str) -> AsyncIterator[None]:
        """Note every Event of a namespace that there is inside the context, those of the end as well."""
        path = f"/api/v1/namespaces/{namespace}/events"
        following = asyncio.create_task(watch(transport, path, {}, lambda _, event: self._event(event)))
        try:
            yield
        finally:
            following.cancel()
            await asyncio.wait([following])
            with suppress(OSError):
                answer = await transport.request(Request("GET", path))
                for event in json.loads(answer.body)["items"]:
                    self._event(event)

    def finish(self, outcome: str, status: int, message: str, progress: JobProgress, first: Failure | None) -> None:
        """Note how it has ended."""
        now = datetime.now(UTC)
        summary = Summary(
            version=VERSION,
            outcome=outcome,
            exit_status=status,
            ended_at=now,
            seconds=round((now - self._record.started_at).total_seconds(), 3),
            restarts=progress.restarts,
            message=message,
            first_cause=first.sentence if first else "",
            conditions=[dict(condition) for condition in progress.conditions],
            replicas=[_summary(replica) for replica in progress.replicas],
        )
        self._put(SUMMARY, msgspec.json.format(msgspec.json.encode(summary)))

    def _event(self, event: Mapping[str, Any]) -> None:
        metadata = event["metadata"]
        if self._events.get(metadata["uid"]) != metadata["resourceVersion"]:
            self._events[metadata["uid"]] = metadata["resourceVersion"]
            shown = {**event, "metadata": {n: v for n, v in metadata.items() if n != "managedFields"}}
            self._append(EVENTS, msgspec.json.encode(shown))

    def _put(self, name: str, content: bytes) -> None:
        """Write a file whole, or not at all."""

        def put(folder: Path) -> None:
            unfinished = folder / f".{name}"
            with open(unfinished, "wb", opener=_private) as file:
                file.write(content)
            unfinished.replace(folder / name)

        self._attempt(put)

    def _append(self, name: str, line: bytes) -> None:
        def append(folder: Path) -> None:
            with open(folder / name, "ab", opener=_private) as file:
                file.write(line + b"\n")

        self._attempt(append)

    def _attempt(self, write: Callable[[Path], None]) -> None:
        """Do without where the disk is full: the job is worth more than what is kept of it."""
        if self.folder is None:
            return
        try:
            write(self.folder)
        except OSError as error:
            if not self._failed:
                _log.warning("the run is recorded incompletely", folder=str(self.folder), error=str(error))
            self._failed = True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _summary(replica: Replica) -> ReplicaSummary:
    end = replica.last_end
    return ReplicaSummary(
        pod=replica.pod,
        replica=replica.short_name,
        phase=replica.phase,
        rank=replica.rank,
        restarts=replica.restarts,
        exit_code=end.exit_code if end else None,
        reason=end.reason if end else "",
        message=end.message if end else "",
    )


def _without_secrets(item: Mapping[str, Any]) -> dict[str, Any]:
    """An object without what no file may contain: the values of a Secret, also where kubectl repeats them."""
    if item.get("kind") != "Secret":
        return dict(item)
    emptied = {name: dict.fromkeys(item[name] or (), _TAKEN_OUT) for name in _VALUES if name in item}
    metadata = dict(item["metadata"])
    if metadata.get("annotations"):
        metadata["annotations"] = {n: v for n, v in metadata["annotations"].items() if n != _LAST_APPLIED}
    return {**item, **emptied, "metadata": metadata}


@contextmanager
def recording(job: Mapping[str, Any], command: Sequence[str], limit: int | None) -> Iterator[Recorder]:
    """Keep a run of `job` inside the context; before and after, the oldest runs beyond `limit` bytes go.

    Nothing is kept without a limit. Raises `BadInput` if there is no place for it.
    """
    now, metadata = datetime.now(UTC), job["metadata"]
    name = metadata.get("name") or metadata["generateName"].rstrip("-")
    record = RunRecord(
        version=VERSION,
        started_at=now,
        command=[os.fsencode(word).decode(errors="backslashreplace") for word in command],
        kind=job["kind"],
        namespace=metadata.get("namespace", ""),
        name=name,
    )
    if limit is None:
        yield Recorder(None, record)
        return
    runs = runs_folder()
    with _alone(runs):
        prune(runs, limit)
        folder = _new_folder(runs, f"{name}-{now:%Y%m%dT%H%M%SZ}")
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        locks.take(lock)
    recorder = Recorder(folder, record)
    try:
        yield recorder
    finally:
        os.close(lock)
        with _alone(runs):
            if not recorder.runs:
                shutil.rmtree(folder, ignore_errors=True)
            prune(runs, limit, keep=folder)


def _new_folder(runs: Path, name: str) -> Path:
    for number in range(1, _EVERY):
        folder = runs / (name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
            return folder
    raise AssertionError("unreachable")


@contextmanager
def _alone(runs: Path) -> Iterator[None]:
    """Let no other command make or remove runs: a new one is not locked at once."""
    try:
        for folder in (state_folder(), runs):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(runs / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise BadInput(f"{runs}: runs cannot be recorded there: {error.strerror}; {OTHER_STATE}") from None
    try:
        locks.take(descriptor)
        yield
    finally:
        os.close(descriptor)


def prune(runs: Path, limit: int, keep: Path | None = None) -> None:
    """Remove the oldest runs until all of them take at most `limit` bytes; never one that goes on, nor `keep`."""
    every = sorted((each for each in runs.iterdir() if each.is_dir()), key=lambda each: each.stat().st_mtime)
    sizes = {each: used(each) for each in every}
    total = sum(sizes.values())
    for each in every:
        if total <= limit:
            return
        if each != keep and not locks.held(each / LOCK):
            shutil.rmtree(each, ignore_errors=True)
            total -= sizes[each]
