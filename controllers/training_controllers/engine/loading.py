"""From a cached job to one that can be decided on, or to the reason why not (K-40, K-41)."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from training_api.conditions import is_finished
from training_api.decode import DecodeError, decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job, KindInfo
from training_api.validation import problems
from training_controllers.records import JobRecord


@dataclass(frozen=True, slots=True)
class Loaded:
    """A job with defaults if it could be read, and the sentence that says what is wrong with it if anything is."""

    job: Job | None
    problem: str = ""


def load(info: KindInfo, record: JobRecord) -> Loaded:
    """Read a job as cached. The spec of a finished job is not judged any more: it only has to be cleaned up."""
    stored = msgspec.json.decode(record.raw)
    try:
        job = with_defaults(decode_job(info, stored))
    except DecodeError as error:
        return Loaded(None, str(error))
    if is_finished(job.status):
        return Loaded(job)
    return Loaded(job, "; ".join(str(problem) for problem in problems(info, stored)))
