"""The TrainJobs of some files: given ones with their runtimes, and those that v1 jobs are converted to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from training_api.documents import Document
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.runs.templates import is_train_job
from training_migration.targets import Target
from training_migration.v1_job import V1Job, is_v1_job
from training_migration.v2.lookup import Runtimes, reference_of
from training_migration.v2.names import RUNTIME
from training_migration.verbs.loading import checked, documents
from training_migration.verify.outcome import Subject

Json = dict[str, Any]


def subjects(paths: Iterable[str], target: Target) -> list[Subject]:
    """What is to be verified; raises Failure for what cannot be read or v1 rejects, and if there is nothing."""
    given = tuple(paths)
    found = [each for each in documents(given) if each.object is not None]
    runtimes = Runtimes(found, {})
    result = [
        converted(checked(each), target) if is_v1_job(each.object or {}) else _given(each, runtimes)
        for each in found
        if is_v1_job(each.object or {}) or is_train_job(each.object or {})
    ]
    if not result:
        raise Failure(f"{', '.join(given)}: there is neither a v1 job nor a TrainJob in it.", Exit.USAGE)
    return result


def converted(job: V1Job, target: Target) -> Subject:
    """The TrainJob of a v1 job."""
    conversion = convert(job, Options(target))
    train_job = conversion.train_job if not conversion.rejected else job.object
    return Subject(job.source, job.line, job.job.info.kind, train_job, conversion.runtime, conversion.rejected)


def _given(document: Document, runtimes: Runtimes) -> Subject:
    """A TrainJob with the runtime that it refers to, if that is of its namespace and among the objects."""
    obj = document.object or {}
    own = runtimes.of(obj, document.source) if reference_of(obj)[0] == RUNTIME else None
    return Subject(document.source, document.line, "TrainJob", obj, own)
