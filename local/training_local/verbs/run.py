"""`training-operator local run`: one job in a cluster of its own, followed to its end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack

import click
from rich.console import Console

from training_api.printable import legible
from training_controllers.frameworks.plugins import kinds
from training_local.cluster.connection import DEFAULT_NAMESPACE
from training_local.cluster.local_cluster import ClusterFlags, ClusterOptions, LocalCluster
from training_local.cluster.pythons import Python
from training_local.errors import BadInput
from training_local.node import host_mode
from training_local.node.pod_python import PYTHON_ANNOTATION
from training_local.run.apply import create_objects, job_of, load_objects, validate
from training_local.run.cause import standstill
from training_local.run.examples import python_of_job
from training_local.run.follow import JobFollower
from training_local.run.hopeless import crash_looping, hopelessness
from training_local.run.imports import check_mpirun, remedy, repeated_import_error
from training_local.run.pod_metrics import poll_usage
from training_local.run.progress import JobProgress
from training_local.run.recorder import Recorder, log_limits, recording
from training_local.run.scale import scale_requests
from training_local.run.script import Script, objects_of, save_job
from training_local.show.json_lines import print_json
from training_local.show.output import Output
from training_local.show.report import PROGRAM, failure_json, failure_report, next_steps, unfinished
from training_local.show.view import View, choose_view
from training_local.verbs.finish import (
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_TIMEOUT,
    EXIT_USAGE,
    finish,
    one_sentence,
)
from training_local.verbs.up import say_up

STANDSTILL_SECONDS: Final = 0.5
"""How often to look whether a job makes no progress."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a job is run, beside what is chosen about its cluster."""

    limit: float | None = None
    """Seconds after which to give up; None for never."""
    as_json: bool = False
    keep: bool = False
    """Whether the cluster stays until Ctrl-C when the job has ended."""
    patience: float = 10.0
    """Seconds after which a job is given up that lacks what will not come."""
    scale_resources: bool = False
    """Whether requests are brought down until they fit."""
    archive: int | None = None
    """Bytes that all runs take which are kept; None to keep nothing of this one."""


def run(
    *,
    files: tuple[Path, ...],
    limit: float | None,
    as_json: bool,
    namespace: str | None,
    workers: int | None,
    framework: str | None,
    save: Path | None,
    patience: float,
    scale_resources: bool,
    keep: bool,
    archive: bool,
    archive_size: int,
    arguments: list[str],
    **flags: Unpack[ClusterFlags],
) -> None:
    """Start a cluster, run the job of FILES in it, show what happens, and stop."""
    how = RunOptions(limit, as_json, keep, patience, scale_resources, archive_size if archive else None)
    if len(files) == 1 and files[0].suffix == ".py":
        with one_sentence():
            objects = _objects_of_script(Script(files[0], framework, workers or 1, arguments), save, namespace)
    elif workers or framework or save or arguments:
        raise click.UsageError("--workers, --framework, --save and arguments after -- need a script such as train.py")
    else:
        with one_sentence():
            objects = load_objects(files, namespace)
            validate(objects)
    finish(run_objects(objects, ClusterOptions(**flags), how))


def _objects_of_script(script: Script, file: Path | None, namespace: str | None) -> list[dict[str, Any]]:
    objects = objects_of(script)
    if file:
        save_job(objects, file, script)
    for each in objects:
        each["metadata"]["namespace"] = namespace or DEFAULT_NAMESPACE
    return objects


async def run_objects(objects: Sequence[dict[str, Any]], cluster_options: ClusterOptions, options: RunOptions) -> int:
    """Run the job among the objects and return the exit status."""
    job = job_of(objects)
    python = python_of_job(job, cluster_options.python)
    check_mpirun(job, python)
    if cluster_options.python:  # it wins
        (job["metadata"].get("annotations") or {}).pop(PYTHON_ANNOTATION, None)
    cluster_options = replace(cluster_options, python=python.path)
    async with AsyncExitStack() as stack:
        recorder = stack.enter_context(recording(job, [PROGRAM, *sys.argv[1:]], options.archive))
        if options.archive is not None:
            cluster_options = replace(cluster_options, logs=recorder.logs, log_limits=log_limits(options.archive))
        cluster = await stack.enter_async_context(LocalCluster(cluster_options))
        if cluster.record.sandbox == "host" and (said := host_mode.rejection_of_job(job)):
            raise BadInput(said)
        if not options.as_json:
            say_up(cluster, python.sentence)
        if options.scale_resources:
            scale_requests(job, kinds()[job["kind"]], cluster.capacity)
        recorder.applied(objects)
        created = await create_objects(cluster.transport, objects)
        for warning in created.warnings:
            print(f"Warning: {legible(warning)}", file=sys.stderr)
        recorder.begun(created.job, cluster.record.sandbox, python.sentence)
        follower = JobFollower(cluster.transport, created.job, observe=recorder.changed)
        async with recorder.following_events(cluster.transport, created.job.namespace):
            status = await _follow(follower, options, cluster, python, recorder)
        if options.keep:
            await _keep(cluster)
    return status


async def _follow(
    follower: JobFollower, options: RunOptions, cluster: LocalCluster, python: Python, recorder: Recorder
) -> int:
    """Show the job until it has ended or its time is over, then say how it went; returns the exit status."""
    job, since = follower.job, datetime.now(UTC)

    async def ended(outcome: str, status: int, message: str, *, report: bool = True) -> int:
        first = follower.failures.first if status else None
        recorder.finish(outcome, status, message, follower.progress, first)
        if report:
            await _report(follower, options, status, recorder)
        if recorder.folder and not options.as_json:
            print(f"Kept in {recorder.folder}: {PROGRAM} local logs --run {recorder.folder.name}", flush=True)
        return status

    try:
        async with Output(sys.stdout) as out:
            with choose_view(job, out, as_json=options.as_json) as view:
                async with asyncio.timeout(options.limit):
                    given_up = await _show(
                        follower, view, out, since, cluster, patience=options.patience, python=python
                    )
    except TimeoutError:
        reason = standstill(job, follower.progress, since, datetime.now(UTC)) or unfinished(follower.progress)
        message = f"{job} did not end within {options.limit:g} s: {reason}"
        print(message, file=sys.stderr)
        return await ended("TimedOut", EXIT_TIMEOUT, message)
    except asyncio.CancelledError:
        message = f"Interrupted: {job} had not ended, {unfinished(follower.progress)}."
        print(f"{message} Stopping it; Ctrl-C again kills it at once.", file=sys.stderr, flush=True)
        await ended("Interrupted", EXIT_INTERRUPTED, message)
        raise
    if given_up:
        reported = options.as_json or given_up.status == EXIT_FAILED
        await ended("GivenUp", given_up.status, given_up.sentence, report=reported)
        print(given_up.sentence, file=sys.stderr)
        return given_up.status
    outcome = follower.progress.outcome or "Deleted"
    status = 0 if outcome == "Succeeded" else EXIT_FAILED
    return await ended(outcome, status, follower.progress.message)


class _GivenUp(NamedTuple):
    """Why a job is not waited for any longer."""

    status: int
    sentence: str


async def _show(
    follower: JobFollower,
    view: View,
    out: Output,
    since: datetime,
    cluster: LocalCluster,
    *,
    patience: float,
    python: Python,
) -> _GivenUp | None:
    """Show everything until the job has ended and its logs have arrived, or until waiting is of no use."""
    try:
        async with asyncio.TaskGroup() as tasks:
            background = (
                _show_lines(follower, view, out),
                _watch_standstill(follower, view, since),
                poll_usage(cluster.transport, follower.job, view.usage),
            )
            running = [tasks.create_task(work) for work in background]
            ended = tasks.create_task(follower.until_end(view.progress))
            lacking = tasks.create_task(repeated_import_error(follower))
            hopeless = tasks.create_task(hopelessness(follower, patience, cluster.capacity))
            looping = tasks.create_task(crash_looping(follower))
            await asyncio.wait({ended, lacking, hopeless, looping}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await follower.logs.drain()
            for task in (ended, lacking, hopeless, looping, *running):
                task.cancel()
    finally:
        await follower.logs.close()
        for line in follower.logs.pending():
            view.line(line)
    if not lacking.cancelled():
        return _GivenUp(EXIT_USAGE, f"{follower.job} cannot run: {remedy(lacking.result(), python)}")
    if not hopeless.cancelled():
        return _GivenUp(EXIT_USAGE, hopeless.result())
    return None if looping.cancelled() else _GivenUp(EXIT_FAILED, looping.result())


async def _show_lines(follower: JobFollower, view: View, out: Output) -> None:
    async for line in follower.logs.lines():
        await out.room()
        view.line(line)


async def _watch_standstill(follower: JobFollower, view: View, since: datetime) -> None:
    while True:
        view.notice(standstill(follower.job, follower.progress, since, datetime.now(UTC)))
        await asyncio.sleep(STANDSTILL_SECONDS)


async def _report(follower: JobFollower, options: RunOptions, status: int, recorder: Recorder) -> None:
    """Say how it ended and, unless it succeeded, what went wrong first and what to do about it."""
    first = follower.failures.first if status else None
    lines = await follower.last_lines(first) if first is not None else []
    others = max(len(follower.failures.seen) - 1, 0)
    if options.as_json:
        outcome = follower.progress.outcome
        archive = str(recorder.folder) if recorder.folder else None
        cause = failure_json(first, others, lines)
        print_json({"end": {"status": status, "outcome": outcome, "firstCause": cause, "archive": archive}})
        return
    if status == 0:
        _print_conditions(follower.progress)
        return
    console = Console(highlight=False, soft_wrap=True)
    remarks = await follower.remarks(first) if first is not None else []
    console.print(failure_report(follower.job, follower.progress, first, others, lines, remarks=remarks), end="")
    if status != EXIT_INTERRUPTED:
        console.print(next_steps(sys.argv[1:], first), end="")


async def _keep(cluster: LocalCluster) -> None:
    print(f"The cluster stays: export KUBECONFIG={cluster.kubeconfig}", file=sys.stderr)
    print("Ctrl-C ends it.", file=sys.stderr, flush=True)
    with suppress(asyncio.CancelledError):
        await asyncio.get_running_loop().create_future()


def _print_conditions(progress: JobProgress) -> None:
    print("Conditions:")
    for condition in progress.conditions:
        print(f"  {condition['type']:<10} {condition['status']:<5} {legible(condition.get('message', ''))}")
