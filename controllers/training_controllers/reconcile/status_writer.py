"""Storing the status of a job: only if it differs, as one merge patch, on condition of the version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import msgspec

from training_api.decode import encode_status
from training_api.kinds import Job
from training_api.models.common import JobStatus, ReplicaStatus
from training_controllers.model.json_patch import merge_patch
from training_controllers.ports import Jobs
from training_controllers.reconcile.memory import JobContext

M = TypeVar("M", JobStatus, ReplicaStatus)

EXTENSIONS = ("observed_generation", "waiting", "attempt")
REPLICA_EXTENSIONS = ("restarts", "ready", "completed_indexes", "restarting_indexes")
"""Fields of the status that v1's own CRDs lack, so that they are pruned."""


class StatusWriter:
    """Writes statuses of one kind, and remembers what its CRD prunes.

    Whether the CRD prunes is learned from the answers to our own writes. If it does, the pruned fields live on in
    memory, so that everything works the same until the process ends, and nothing is written for their sake.
    """

    def __init__(
        self, jobs: Jobs, decode: Callable[[bytes], JobStatus], pruned: Callable[[], None] = lambda: None
    ) -> None:
        """`decode` reads a stored status; `pruned` is called once, when it has shown that the CRD prunes."""
        self._jobs, self._decode, self._pruned = jobs, decode, pruned
        self._prunes = self._reported = False

    def completed(self, context: JobContext) -> Job:
        """The job with what the CRD has pruned from its status added again from memory."""
        remembered = context.memory.status
        if not self._prunes or remembered is None:
            return context.job
        return replace(context.job, status=_with_extensions(context.job.status, remembered))

    async def write(self, context: JobContext, status: JobStatus) -> None:
        """Make `status` the job's status. Raises `Conflict` if the job has changed since it was read."""
        if not self._prunes or _without_extensions(status) != _without_extensions(context.job.status):
            stored = msgspec.json.decode(context.record.status) or {}
            answer = await self._jobs.patch_status(context.record, merge_patch(stored, encode_status(status)))
            kept = self._decode(answer.status)
            self._prunes = kept != status and kept == _without_extensions(status)
            self._report_pruning()
        context.memory.status = status if self._prunes else None

    def _report_pruning(self) -> None:
        if self._prunes and not self._reported:
            self._reported = True
            self._pruned()


def _without_extensions(status: JobStatus) -> JobStatus:
    return _with_extensions(status, JobStatus())


def _with_extensions(status: JobStatus, source: JobStatus) -> JobStatus:
    """`status` with the extension fields of `source`."""
    replicas = {
        name: _copied(counters, source.replica_statuses.get(name, ReplicaStatus()), REPLICA_EXTENSIONS)
        for name, counters in status.replica_statuses.items()
    }
    return _copied(status, source, EXTENSIONS).model_copy(update={"replica_statuses": replicas})


def _copied(to: M, source: M, fields: tuple[str, ...]) -> M:
    return to.model_copy(update={name: getattr(source, name) for name in fields})
