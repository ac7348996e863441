"""When waiting is of no use: a job that lacks what will not appear, or that fails at once time after time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from training_local.run.follow import JobFollower
from training_local.run.progress import CRASH_LOOP, JobProgress, JobRef, Replica

_LOOK_SECONDS: Final = 0.5
_RESTARTS: Final = 5
_AT_ONCE: Final = timedelta(seconds=5)
_LASTING: Final = ("CreateContainerConfigError", "FailedMount", "FailedCreatePodSandBox")
"""Reasons to wait which a change of other objects could end; in a cluster for one job there are none."""
_UNSCHEDULABLE: Final = "Unschedulable"


def dead_end(job: JobRef, progress: JobProgress, capacity: Mapping[str, str]) -> str:
    """Say in one sentence what a job lacks that will not come; empty while something may still change.

    A replica without room may get that of one that runs; what cannot be configured or mounted stays so. `capacity` is
    what the node offers.
    """
    if progress.outcome or progress.gone or progress.suspended or progress.managed_by:
        return ""
    left = [r for r in progress.replicas if r.phase not in ("Succeeded", "Failed")]
    lasting = [r for r in left if r.waiting and r.waiting.reason in _LASTING]
    roomless = [r for r in left if r.waiting and r.waiting.reason == _UNSCHEDULABLE]
    if lasting:
        return _waits(job, lasting)
    if roomless and len(roomless) == len(left):
        return f"{_waits(job, roomless)}{_ways_out(roomless[0], capacity)}"
    return "" if left or not progress.waiting else f"{job} has no pods: {progress.waiting}"


def _waits(job: JobRef, stuck: list[Replica]) -> str:
    others = f" (and {len(stuck) - 1} more)" if len(stuck) > 1 else ""
    return f"{job} cannot start: {stuck[0].short_name}{others} waits: {str(stuck[0].waiting).rstrip('.')}"


def _ways_out(replica: Replica, capacity: Mapping[str, str]) -> str:
    message = replica.waiting.message if replica.waiting else ""
    ways = "--scale-resources makes the requests fit, --cpus N and --memory SIZE offer more than there is"
    if "Insufficient cpu" in message or "Insufficient memory" in message:
        return f". This machine offers {capacity['cpu']} CPUs and {capacity['memory']} of memory: {ways}"
    return ". --gpus N offers GPUs that are not there" if "gpu" in message else ""


def crash_loop(job: JobRef, progress: JobProgress) -> str:
    """Say that a replica fails at once time after time, while all others run or do the same; empty otherwise."""
    looping = [r for r in progress.replicas if _loops(r)]
    others = [r for r in progress.replicas if not (r in looping or r.runs or r.phase == "Succeeded")]
    if progress.outcome or not looping or others:
        return ""
    first = looping[0]
    return f"{job} makes no progress: {first.short_name} has failed {first.restarts + 1} times, at once"


def _loops(replica: Replica) -> bool:
    end = replica.last_end
    if replica.waiting is None or replica.waiting.reason != CRASH_LOOP or replica.restarts < _RESTARTS or end is None:
        return False
    if not end.started:  # its program could not be executed
        return True
    if end.started_at is None or end.finished_at is None:
        return False
    return end.failed and end.finished_at - end.started_at < _AT_ONCE


async def hopelessness(follower: JobFollower, patience: float, capacity: Mapping[str, str]) -> str:
    """Wait until a job has been in the same dead end for so many seconds, and return the sentence about it."""
    clock = asyncio.get_running_loop().time
    said, since = "", clock()
    while not said or clock() - since < patience:
        await asyncio.sleep(_LOOK_SECONDS)
        now = dead_end(follower.job, follower.progress, capacity)
        if now != said:
            said, since = now, clock()
    return said


async def crash_looping(follower: JobFollower) -> str:
    """Wait until a job is in a crash loop, and return the sentence about it."""
    while True:
        if said := crash_loop(follower.job, follower.progress):
            return said
        await asyncio.sleep(_LOOK_SECONDS)
