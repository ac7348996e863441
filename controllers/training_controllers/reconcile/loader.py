"""From a cached job to one that can be decided on, or to the reason why not (K-40, K-41)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import msgspec

from training_api.conditions import is_finished
from training_api.decode import DecodeError, decode_job, decode_status
from training_api.defaults import with_defaults
from training_api.kinds import Job
from training_api.models.common import JobStatus
from training_api.validation import problems_of
from training_controllers.frameworks.base import Framework
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.model.records import JobRecord

DECODED_BYTES: Final = 1 << 20
"""JSON of so many bytes is kept decoded, of the jobs reconciled last; decoded it takes some ten times the memory."""


STATUSES: Final = 128
"""Statuses that are kept decoded, some 6 KiB each: most are read again soon after they were written."""
STATUS_BYTES: Final = 4096
"""A longer status, with many ranges of indexes for example, is not kept: all of them together stay below some MiB."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A job with defaults if it could be read, and the sentence with its problem if it has one."""

    job: Job | None
    problem: str = ""


class Loader:
    """Decodes the jobs of one kind; what stays while only the status changes is decoded and validated once."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self._recent: OrderedDict[str, tuple[bytes, Loaded]] = OrderedDict()
        """By uid: the JSON and what it says."""
        self._bytes = 0
        self._recent_status = lru_cache(STATUSES)(self._decode_status)

    def load(self, record: JobRecord) -> Loaded:
        """Decode a cached job. A finished job only has to be cleaned up: it is neither validated nor kept decoded."""
        loaded = self._without_status(record)
        if loaded.job is None:
            return loaded
        try:
            status = self.status(record.status)
        except DecodeError as error:
            return Loaded(None, str(error))
        if finished := is_finished(status):
            self.forget(record.uid)
        return Loaded(replace(loaded.job, status=status), "" if finished else loaded.problem)

    def forget(self, uid: str) -> None:
        """Drop what is kept of the job with this uid."""
        if (known := self._recent.pop(uid, None)) is not None:
            self._bytes -= len(known[0])

    def status(self, stored: bytes) -> JobStatus:
        """Decode a stored status; raises `DecodeError`."""
        return (self._recent_status if len(stored) <= STATUS_BYTES else self._decode_status)(stored)

    def _decode_status(self, stored: bytes) -> JobStatus:
        return decode_status(self._framework.info, msgspec.json.decode(stored))

    def _without_status(self, record: JobRecord) -> Loaded:
        uid, raw = record.uid, record.raw
        if (known := self._recent.get(uid)) is not None and known[0] == raw:
            self._recent.move_to_end(uid)
            return known[1]
        self.forget(uid)
        loaded = _load(self._framework, raw)
        self._recent[uid] = raw, loaded
        self._bytes += len(raw)
        while self._bytes > DECODED_BYTES:
            self.forget(next(iter(self._recent)))
        return loaded


def _load(framework: Framework, raw: bytes) -> Loaded:
    try:
        job = decode_job(framework.info, msgspec.json.decode(raw))
    except DecodeError as error:
        return Loaded(None, str(error))
    complete = with_defaults(job)
    try:
        problems = problems_of(job, framework.max_replicas) or [*framework.problems(complete)]
    except CannotBuild as error:
        return Loaded(complete, str(error))
    return Loaded(complete, "; ".join(str(problem) for problem in problems))
