"""`training-operator local logs`: what the replicas of a job, or one pod, have printed and go on printing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from training_local.cluster.connection import ClusterChoice, connect
from training_local.errors import BadInput, innermost
from training_local.run.archive import find_run, merged_lines
from training_local.run.follow import JobFollower
from training_local.run.pod_logs import LogChoice, LogFollower, LogLine, LogUnavailable, merged, read_log
from training_local.run.progress import TERMINAL, JobRef
from training_local.run.targets import Contents, PodRef, chosen, contents
from training_local.run.watching import watch
from training_local.show.log_lines import LinePrinter
from training_local.verbs.finish import EXIT_FAILED, finish
from training_operator.kube.transport import Transport


@dataclass(frozen=True, slots=True)
class LogOptions:
    """What of which log to print, and how."""

    container: str
    follow: bool
    tail: int | None
    previous: bool
    timestamps: bool
    as_json: bool


def logs(
    *,
    target: str | None,
    name: str | None,
    kubeconfig: Path | None,
    namespace: str | None,
    run: str | None,
    **options: Any,
) -> None:
    """Print the logs of a job's replicas, or of one pod, line by line in the order of time."""
    choice = ClusterChoice(name, kubeconfig, namespace)
    if run is not None:
        finish(_archived_logs(run, target, choice, LogOptions(**options)))
    finish(_logs(target, choice, LogOptions(**options)))


async def _archived_logs(run: str, target: str | None, choice: ClusterChoice, options: LogOptions) -> int:
    if options.follow or choice != ClusterChoice():
        raise BadInput("--run reads a recorded run, and excludes --follow, --name, --kubeconfig and --namespace")
    found = find_run(run)
    printer = LinePrinter(Console(highlight=False), timestamps=options.timestamps, as_json=options.as_json)
    wanted = found.chosen_logs(target, options.container, previous=options.previous)
    for line in merged_lines(wanted, options.tail):
        printer.print(line)
    return 0 if wanted else EXIT_FAILED


async def _logs(target: str | None, choice: ClusterChoice, options: LogOptions) -> int:
    if options.follow and options.previous:
        raise BadInput("--follow and --previous are mutually exclusive: a terminated container has no further logs")
    printer = LinePrinter(Console(highlight=False), timestamps=options.timestamps, as_json=options.as_json)
    status = EXIT_FAILED
    async with connect(choice) as cluster:
        transport = cluster.transport
        try:
            there = await contents(transport, choice.searched)
            found = chosen(target, there)
            if options.follow:
                status = await _follow(transport, found, options, printer)
            else:
                status = await _print_what_there_is(transport, found, there, options, printer)
        except* BrokenPipeError:  # our own reader's
            raise
        except* OSError as group:
            print(f"{cluster.title} no longer responds: {innermost(group)}", file=sys.stderr)
    return status


async def _print_what_there_is(
    transport: Transport, found: JobRef | PodRef, there: Contents, options: LogOptions, printer: LinePrinter
) -> int:
    """Print the logs there are, and say which ones there are not; status 1 if there is none."""
    pods = [found] if isinstance(found, PodRef) else [pod for pod in there.pods if pod.job == found]
    errors: list[str] = []

    async def lines(pod: PodRef) -> AsyncIterator[LogLine]:
        choice = LogChoice(options.container or pod.container, options.tail, options.previous)
        try:
            async for line in read_log(transport, pod.namespace, pod.replica, choice):
                yield line
        except LogUnavailable as error:
            errors.append(f"{pod.replica.short_name}: {error}")

    async for line in merged([lines(pod) for pod in pods]):
        printer.print(line)
    nothing = len(errors) == len(pods)
    # Most replicas of a job have never been restarted: that is no news unless it is all there is.
    for error in errors if nothing or not options.previous else ():
        print(error, file=sys.stderr)
    if not pods:
        print(f"{found} has no pods", file=sys.stderr)
    return EXIT_FAILED if nothing else 0


async def _follow(transport: Transport, found: JobRef | PodRef, options: LogOptions, printer: LinePrinter) -> int:
    if isinstance(found, JobRef):
        job = JobFollower(transport, found, LogChoice(options.container or found.info.container, options.tail))
        await _print_until(job.until_end(lambda _: None), job.logs, printer)
    else:
        choice = LogChoice(options.container or found.container, options.tail)
        logs = LogFollower(transport, found.namespace, choice)
        await _print_until(_pod_ended(transport, found, logs), logs, printer)
    return 0


async def _print_until(ended: Coroutine[Any, Any, None], logs: LogFollower, printer: LinePrinter) -> None:
    async with asyncio.TaskGroup() as tasks:
        printing = tasks.create_task(_print_all(logs, printer))
        await ended
        await logs.drain()
        printing.cancel()
    for line in logs.pending():
        printer.print(line)


async def _pod_ended(transport: Transport, pod: PodRef, logs: LogFollower) -> None:
    """Follow the pod's logs until it has ended or is gone."""
    ended = asyncio.Event()

    def seen(change: str, stored: dict[str, Any]) -> None:
        logs.take(stored)
        if change == "DELETED" or (stored.get("status") or {}).get("phase") in TERMINAL:
            ended.set()

    path, named = f"/api/v1/namespaces/{pod.namespace}/pods", {"fieldSelector": f"metadata.name={pod.replica.pod}"}
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch(transport, path, named, seen))
        await ended.wait()
        watching.cancel()


async def _print_all(following: LogFollower, printer: LinePrinter) -> None:
    with suppress(asyncio.CancelledError):
        async for line in following.lines():
            printer.print(line)
