"""What was seen of one run of a job: who took part, what they said, how it ended. Written and read as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from training_api.documents import Unreadable, read_text

SCHEMA: Final = "migrate.run/1"
"""Of the JSON; it changes when old programs would misread it."""


class Side(StrEnum):
    """Which controller the job was for."""

    V1 = "v1"
    V2 = "v2"


class EndState(StrEnum):
    """How a run ended, in words of neither side."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed-out"
    """Whoever watched it gave up."""
    REJECTED = "rejected"
    """Nothing ran: an admission webhook or the controller did not take it."""
    UNKNOWN = "unknown"


class _Part(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Part of a record; fields that have their default are not written."""


class Ref(_Part, frozen=True):
    """Which job it was."""

    kind: str
    """That of the object that was submitted, for example `TrainJob`."""
    namespace: str
    name: str
    source: str = ""
    """File, or `-`, or `cluster`."""


class Pod(_Part, frozen=True):
    """One pod, by role and index; it may have had several lives."""

    role: str
    """As in `rendering.RenderedPod`."""
    index: int
    exit_code: int | None = None
    """Of the container that trains, in its last life; None: not seen."""
    restarts: int | None = None
    """How often it was started again, in place or as a new pod; None: not seen."""
    environment: dict[str, str] = {}
    """What the process was given; secrets are masked."""


class Process(_Part, frozen=True):
    """One process as the witness in it saw the framework's initialisation."""

    role: str
    """Of the pod in which it ran."""
    index: int
    """Of the pod in which it ran."""
    rank: int | None = None
    """None: it ended without any initialisation of distributed training."""
    world_size: int | None = None
    local_rank: int | None = None
    group: str = ""
    """What ranks are counted in where a job has several groups, for example a task type of TensorFlow."""
    backend: str = ""
    peers: tuple[int, ...] | None = None
    """Ranks that it heard from, itself not among them; None: not observed."""


class Series(_Part, frozen=True):
    """One metric as one rank reported it."""

    name: str
    rank: int
    points: tuple[tuple[int, float | None], ...]
    """Step and value, in their order; None stands for a value that is no number (NaN, infinite)."""


class LeftOver(_Part, frozen=True):
    """A pod that was still there when the job had ended and its controller had tidied up."""

    role: str
    index: int
    phase: str


class Event(_Part, frozen=True):
    """One event on an object of the job."""

    reason: str
    message: str
    about: str = ""
    """Kind and name of the object."""
    warning: bool = False


class RunRecord(_Part, frozen=True, kw_only=True):
    """One run of one side; None is what was not observed, which is no evidence of anything."""

    schema: str = SCHEMA
    side: Side
    ref: Ref
    end: EndState
    reasons: tuple[str, ...] = ()
    """Of the conditions with which it ended, and sentences of the runner."""
    where: str = ""
    """`local`, or the context of the cluster."""
    pods: tuple[Pod, ...] = ()
    processes: tuple[Process, ...] | None = None
    """None: there was no witness."""
    metrics: tuple[Series, ...] | None = None
    time_to_first_rank: float | None = None
    """Seconds from submission until the first process had initialised."""
    duration: float | None = None
    """Seconds from submission until the end was seen."""
    clean_pod_policy: str = ""
    """What the job asked for, where it says so; decides which left-over pods are expected on v1."""
    left_over: tuple[LeftOver, ...] | None = None
    events: tuple[Event, ...] = ()


class BadRecord(ValueError):
    """A file that is no record of a run; the text is one sentence that names it."""


def to_json(record: RunRecord) -> bytes:
    """The record as indented JSON that ends with a newline; the same record gives the same bytes."""
    # The schema is written although it is the default: without it the file does not say what it is.
    content: Mapping[str, object] = {"schema": record.schema, **msgspec.to_builtins(record)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def from_json(data: bytes, source: str) -> RunRecord:
    """Read a record; raises BadRecord, which names `source` and the field that is wrong."""
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != SCHEMA:
            raise BadRecord(f"{source}: the schema is {schema!r}, and this version reads {SCHEMA!r}")
        return msgspec.json.decode(data, type=RunRecord)
    except msgspec.ValidationError as error:
        raise BadRecord(f"{source}: not the record of a run: {error}") from error
    except RecursionError:
        raise BadRecord(f"{source}: not the record of a run: it is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise BadRecord(f"{source}: not JSON: {error}") from error


def read_record(path: Path) -> RunRecord:
    """Read a file; raises BadRecord, for a file that cannot be opened as well."""
    try:
        return from_json(read_text(path).encode(), str(path))
    except Unreadable as error:
        raise BadRecord(f"{path}: {str(error).rstrip('.')}") from None


class _Schema(msgspec.Struct):
    """What decides whether the rest can be read."""

    schema: str = ""
