"""What is kept of runs: the format (docs/local-cluster.md has it, too), and reading it; `recorder` writes it.

STATE/runs/NAME-TIME/run.json        `RunRecord`: which job, when, where; written at the start
                     job.yaml        the objects as applied, without the values of Secrets
                     events.jsonl    one Event of the API per line, again with each change
                     statuses.jsonl  one `StatusChange` per line: the job, and its pods
                     logs/NAMESPACE_POD_UID/CONTAINER/ATTEMPT.log   as a kubelet lays them out
                     summary.json    `Summary`: how it ended; missing if the command was killed
                     lock            locked by the command for as long as it runs
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import yaml

from training_controllers.frameworks.plugins import kinds
from training_local import locks
from training_local.cluster.registry import check_private, state_folder
from training_local.errors import BadInput
from training_local.node.ephemeral_storage import used
from training_local.node.log_files import attempts, segment, segments
from training_local.run.pod_logs import LogLine
from training_local.run.progress import Replica, replica_of

VERSION: Final = 1
"""Of the format: it rises when a reader of before would misunderstand. Further fields and files do not raise it."""
RUN, JOB, EVENTS, STATUSES, LOGS, SUMMARY, LOCK = (
    "run.json",
    "job.yaml",
    "events.jsonl",
    "statuses.jsonl",
    "logs",
    "summary.json",
    "lock",
)
RUNNING: Final = "Running"
KILLED: Final = "Killed"
_CUT: Final = b"P"
T = TypeVar("T")


class RunRecord(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What is known of a run from its start."""

    version: int
    started_at: datetime
    command: Sequence[str]
    """The command line."""
    kind: str
    namespace: str
    name: str
    """Of the job; what it begins with until the API server has completed it (`generateName`)."""
    sandbox: str = ""
    """How pods were kept apart: `netns` or `host`; empty until the cluster was up."""
    python: str = ""
    """What pods found as `python`, and what could be imported in it, as a sentence."""


class ReplicaSummary(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How a replica stood when the run ended."""

    pod: str
    replica: str
    """Its short name, as in `worker-0`."""
    phase: str
    rank: str
    restarts: int
    exit_code: int | None = None
    """Of its last end; None if it never ended."""
    reason: str = ""
    message: str = ""


class Summary(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """How a run ended."""

    version: int
    outcome: str
    """`Succeeded`, `Failed`, `Deleted`, `Interrupted`, `TimedOut` or `GivenUp`."""
    exit_status: int
    ended_at: datetime
    seconds: float
    restarts: int
    message: str
    """A sentence: the job's own about its end, or why it was not waited for."""
    first_cause: str
    """A sentence on what failed first; empty if nothing did."""
    conditions: Sequence[dict[str, Any]]
    replicas: Sequence[ReplicaSummary]


class StatusChange(msgspec.Struct, frozen=True, rename="camel"):
    """A change of the job or of one of its pods, as a watch of the API reports it."""

    time: datetime
    change: str
    """`ADDED`, `MODIFIED` or `DELETED`."""
    object: dict[str, Any]
    """As stored, without `managedFields`; the `spec` is only in the first of an object."""


@dataclass(frozen=True, slots=True)
class ArchivedLog:
    """What one attempt of one container has printed."""

    replica: Replica
    container: str
    attempt: int
    """0 for the first."""
    folder: Path

    def lines(self) -> Iterator[LogLine]:
        """Yield the lines; the last one may have been cut off."""
        stamp, text = "", b""
        for record in self._records():
            begun, _, rest = record.partition(b" ")
            _, _, rest = rest.partition(b" ")  # the stream
            tag, _, part = rest.partition(b" ")
            stamp, text = stamp or begun.decode(errors="replace"), text + part
            if tag != _CUT:
                yield LogLine(self.replica, stamp, text.decode(errors="replace"))
                stamp, text = "", b""
        if text:
            yield LogLine(self.replica, stamp, text.decode(errors="replace"))

    def _records(self) -> Iterator[bytes]:
        for number in [number for attempt, number in segments(self.folder) if attempt == self.attempt]:
            with suppress(FileNotFoundError), segment(self.folder, self.attempt, number).open("rb") as file:
                for record in file:
                    yield record.removesuffix(b"\n")


@dataclass(frozen=True)
class ArchivedRun:
    """One run that was kept."""

    folder: Path
    record: RunRecord

    @property
    def id(self) -> str:
        """What it is called."""
        return self.folder.name

    @property
    def running(self) -> bool:
        """Whether its command has not ended yet."""
        return locks.held(self.folder / LOCK)

    @cached_property
    def summary(self) -> Summary | None:
        """How it ended; None while it runs, and if it was killed."""
        return _read(self.folder / SUMMARY, Summary)

    @property
    def outcome(self) -> str:
        """How it ended in one word, `Running` before that, `Killed` if the command could not write it."""
        if self.summary is not None:
            return self.summary.outcome
        return RUNNING if self.running else KILLED

    @property
    def bytes(self) -> int:
        """What it takes of the disk."""
        return used(self.folder)

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The objects as they were applied, the job among them."""
        try:
            return list(yaml.safe_load_all((self.folder / JOB).read_text(encoding="utf-8")))
        except (OSError, yaml.YAMLError):  # killed before or while it was written
            return []

    @property
    def job(self) -> dict[str, Any]:
        """The job as it was applied; empty if the command was killed before that."""
        return next((each for each in self.objects if each.get("kind") == self.record.kind), {})

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield the Events of the API in the order in which they came; one that counts on comes again."""
        return _lines(self.folder / EVENTS, dict[str, Any])

    def statuses(self) -> Iterator[StatusChange]:
        """Yield the changes of the job and its pods in the order in which they came."""
        return _lines(self.folder / STATUSES, StatusChange)

    def replicas(self) -> list[Replica]:
        """Return all pods that there have been, as they were seen last."""
        return list(self._pods.values())

    @cached_property
    def _pods(self) -> dict[str, Replica]:
        """By uid."""
        specs: dict[str, Any] = {}
        found: dict[str, Replica] = {}
        for each in self.statuses():
            if each.object.get("kind") == "Pod":
                uid = each.object["metadata"]["uid"]
                specs.setdefault(uid, each.object.get("spec") or {})
                found[uid] = replica_of({**each.object, "spec": specs[uid]})
        return found

    def logs(self) -> list[ArchivedLog]:
        """Return what there is of each attempt of each container."""
        found = []
        for folder in sorted(self.folder.glob(f"{LOGS}/*/*/")):
            _, pod, uid = folder.parent.name.split("_")
            replica = self._pods.get(uid) or Replica(pod, "", 0, "")
            found += [ArchivedLog(replica, folder.name, attempt, folder) for attempt in attempts(folder)]
        return found

    def chosen_logs(
        self, target: str | None = None, container: str = "", *, previous: bool = False
    ) -> list[ArchivedLog]:
        """Return the logs of one replica (its pod, or its short name), else of all, and of the container that trains.

        With `previous` only those of the attempts before the last ones. Raises `BadInput` if there are none.
        """
        every = self.logs()
        pods = {log.replica.pod: log.replica.short_name for log in every}
        if target is not None and target not in {*pods, *pods.values()}:
            raise BadInput(f"{target}: run {self.id} has no logs of it, but of {', '.join(pods.values()) or 'no pod'}")
        of_pods = [log for log in every if target in (None, log.replica.pod, log.replica.short_name)]
        info = kinds().get(self.record.kind)
        wanted = container or (info.container if info else "")
        chosen = [log for log in of_pods if log.container == wanted] or ([] if container else of_pods)
        if of_pods and not chosen:
            there = ", ".join(sorted({log.container for log in of_pods}))
            raise BadInput(f"--container {container}: run {self.id} has no logs of it, but of {there}")
        if not previous:
            return chosen
        last = {log.folder: log.attempt for log in chosen}
        return [log for log in chosen if log.attempt == last[log.folder] - 1]


def runs_folder() -> Path:
    """Return the folder in which runs are kept."""
    return state_folder() / "runs"


def archived_runs(folder: Path | None = None) -> list[ArchivedRun]:
    """Return the runs in `folder` (default: this user's), the newest first; what cannot be read is left out."""
    place = folder or runs_folder()
    if not place.is_dir():
        return []
    if folder is None:
        check_private(place, "move it away")
    found = [ArchivedRun(each, record) for each in place.iterdir() if (record := _read(each / RUN, RunRecord))]
    return sorted(found, key=lambda run: run.record.started_at, reverse=True)


def find_run(text: str, folder: Path | None = None) -> ArchivedRun:
    """Return the run called `text`, the newest of a job of that name, or the only one that begins so.

    Raises `BadInput` if there is none, or if there are several.
    """
    known = archived_runs(folder)
    same = [run for run in known if text in (run.id, run.record.name)]
    beginning = [run for run in known if run.id.startswith(text)]
    if same or len(beginning) == 1:
        return (same or beginning)[0]
    if beginning:
        raise BadInput(f"--run {text}: several runs begin with this: {', '.join(run.id for run in beginning)}")
    newest = f"; the newest is {known[0].id}" if known else ""
    raise BadInput(f"--run {text}: no such run is recorded{newest}; `training-operator local runs` lists them")


def merged_lines(logs: Sequence[ArchivedLog], tail: int | None = None) -> Iterator[LogLine]:
    """Yield the lines (the last `tail` of each attempt) of several logs in the order of time."""
    each = (log.lines() if tail is None else iter(deque(log.lines(), tail)) for log in logs)
    return heapq.merge(*each, key=lambda line: line.stamp)


def _read(file: Path, kind: type[T]) -> T | None:
    """Return what a file holds; None if it is not there, or of a later format."""
    with suppress(OSError, msgspec.DecodeError):
        found = msgspec.json.decode(file.read_bytes(), type=kind)
        return found if getattr(found, "version", VERSION) <= VERSION else None
    return None


def _lines(file: Path, kind: type[T]) -> Iterator[T]:
    """Yield what the lines of a file hold, without one that was cut off when the command was killed."""
    with suppress(FileNotFoundError), file.open("rb") as lines:
        for line in lines:
            with suppress(msgspec.DecodeError):
                yield msgspec.json.decode(line, type=kind)
