"""The commands of `training-operator local`."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click
import cloup

from training_local.apply import BadInput, create_objects, load_objects, only_job
from training_local.cluster import ClusterOptions, LocalCluster, SandboxMode
from training_local.demo import DEMOS, example, python_for
from training_local.follow import JobFollower, JobProgress
from training_local.view import View, choose_view

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_TIMEOUT: Final = 124
EXIT_INTERRUPTED: Final = 130

Command = Callable[..., None]


@cloup.group()
def local() -> None:
    """Run training jobs in a Kubernetes of this process: no cluster, no container engine, no privileges."""


def cluster_flags(command: Command) -> Command:
    """Add the flags that all commands have which start a cluster."""
    python = click.option(
        "--python",
        type=click.Path(path_type=Path),
        help="What pods find as `python`. Default: the one of this program.",
    )
    sandbox = click.option(
        "--sandbox",
        type=click.Choice([mode.value for mode in SandboxMode]),
        default=SandboxMode.AUTO.value,
        show_default=True,
        help="How pods are kept apart; auto takes the best there is.",
    )
    return python(sandbox(command))


def follow_flags(command: Command) -> Command:
    """Add the flags that all commands have which follow a job."""
    limit = click.option("--timeout", "limit", type=float, help="Give up after this many seconds (exit status 124).")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
    return limit(as_json(command))


@local.command()
@click.option("--kubeconfig", type=click.Path(path_type=Path), help="Where to write it. Default: a private folder.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port on the loopback; 0 takes a free one.")
@cluster_flags
def up(kubeconfig: Path | None, port: int, python: Path | None, sandbox: str) -> None:
    """Start a cluster and keep it until Ctrl-C; prints the kubeconfig to use."""
    _finish(_up(ClusterOptions(python, SandboxMode(sandbox), serve=True, port=port, kubeconfig=kubeconfig)))


@local.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@cluster_flags
@follow_flags
def run(files: tuple[Path, ...], python: Path | None, sandbox: str, limit: float | None, as_json: bool) -> None:
    """Start a cluster, run the job of FILES in it, show what happens, and stop.

    FILES are YAML with one training job and the objects it needs. The exit status is 0 if the job Succeeded, 1 if it
    Failed.
    """
    _finish(_run(files, ClusterOptions(python, SandboxMode(sandbox)), limit, as_json))


@local.command()
@click.option("--framework", default="jax", show_default=True, help=f"One of {', '.join(DEMOS)}.")
@cluster_flags
@follow_flags
def demo(framework: str, python: Path | None, sandbox: str, limit: float | None, as_json: bool) -> None:
    """Run an example that really trains, distributed over several processes."""
    _finish(_demo(framework, python, SandboxMode(sandbox), limit, as_json))


async def _up(options: ClusterOptions) -> int:
    async with LocalCluster(options) as cluster:
        _say_up(cluster)
        print(f"In another shell: export KUBECONFIG={cluster.kubeconfig}")
        print("Ctrl-C ends the cluster and everything that runs in it.", flush=True)
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
    return 0


async def _demo(framework: str, python: Path | None, sandbox: SandboxMode, limit: float | None, as_json: bool) -> int:
    if framework not in DEMOS:
        raise BadInput(f"--framework {framework}: must be one of {', '.join(DEMOS)}")
    chosen = DEMOS[framework]
    options = ClusterOptions(python_for(chosen, python), sandbox)
    return await _run([example(chosen)], options, limit, as_json)


async def _run(files: Sequence[Path], options: ClusterOptions, limit: float | None, as_json: bool) -> int:
    objects = load_objects(files)
    job = only_job(objects)
    async with LocalCluster(options) as cluster:
        if not as_json:
            _say_up(cluster)
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


def _say_up(cluster: LocalCluster) -> None:
    print(f"The cluster is up after {cluster.started_in:.1f} s.")
    print(*cluster.sandbox_notes, sep="\n", flush=True)


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


def _finish(work: Coroutine[Any, Any, int]) -> None:
    """Run `work` to its end; an interrupt ends it in order, a user's error is one sentence."""
    code = EXIT_USAGE
    try:
        code = asyncio.run(_interruptible(work))
    except* BadInput as group:
        print(f"training-operator local: {_innermost(group)}", file=sys.stderr)
    sys.exit(code)


def _innermost(error: BaseException) -> BaseException:
    """Return the error inside the groups into which the parts of the cluster wrap it."""
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def _interruptible(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return EXIT_INTERRUPTED
