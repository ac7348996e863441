"""`training-operator local run`: one job in a cluster of its own, followed to its end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import cloup

from training_local.apply import create_objects, load_objects, only_job
from training_local.cluster import ClusterOptions, LocalCluster, SandboxMode
from training_local.commands.finish import EXIT_FAILED, EXIT_TIMEOUT, finish
from training_local.commands.flags import cluster_flags, follow_flags
from training_local.commands.up import say_up
from training_local.follow import JobFollower, JobProgress
from training_local.view import View, choose_view


@cloup.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@cluster_flags
@follow_flags
def run(files: tuple[Path, ...], python: Path | None, sandbox: str, limit: float | None, as_json: bool) -> None:
    """Start a cluster, run the job of FILES in it, show what happens, and stop.

    FILES are YAML with one training job and the objects it needs. The exit status is 0 if the job Succeeded, 1 if it
    Failed.
    """
    finish(run_files(files, ClusterOptions(python, SandboxMode(sandbox)), limit, as_json))


async def run_files(files: Sequence[Path], options: ClusterOptions, limit: float | None, as_json: bool) -> int:
    """Run the job of `files` and return the exit status that tells its end."""
    objects = load_objects(files)
    job = only_job(objects)
    async with LocalCluster(options) as cluster:
        if not as_json:
            say_up(cluster)
        for warning in await create_objects(cluster.transport, objects):
            print(f"Warning: {warning}", file=sys.stderr)
        follower = JobFollower(cluster.transport, job)
        view = choose_view(job, as_json=as_json)
        try:
            async with asyncio.timeout(limit):
                end = await _show(follower, view)
        except TimeoutError:
            end = None
        finally:
            view.close()
        if end is None:
            print(f"{job} did not end within {limit:g} s", file=sys.stderr)
            return EXIT_TIMEOUT
        if not as_json:
            _print_conditions(end)
    return 0 if end.outcome == "Succeeded" else EXIT_FAILED


async def _show(follower: JobFollower, view: View) -> JobProgress:
    """Show everything until the job has ended and its logs have arrived; return its last state."""
    progress = JobProgress()
    async with asyncio.TaskGroup() as tasks:
        lines = tasks.create_task(_show_lines(follower, view))
        async for progress in follower.changes():
            view.progress(progress)
        await follower.drain_logs()
        lines.cancel()
    for replica, text in follower.pending_lines():
        view.line(replica, text)
    return progress


async def _show_lines(follower: JobFollower, view: View) -> None:
    async for replica, text in follower.lines():
        view.line(replica, text)


def _print_conditions(progress: JobProgress) -> None:
    print("Conditions:")
    for condition in progress.conditions:
        print(f"  {condition['type']:<10} {condition['status']:<5} {condition.get('message', '')}")
