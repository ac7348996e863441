"""Names for a shell that completes a command line: of clusters that run, of their jobs and of their pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from click.shell_completion import CompletionItem

from training_local.cluster.connection import ClusterChoice, connect
from training_local.cluster.registry import running
from training_local.run.archive import archived_runs
from training_local.run.targets import Contents, contents

PATIENCE_SECONDS: Final = 2.0
"""Nobody waits longer for a key to have an effect."""


def clusters(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the clusters that run."""
    names: list[str] = []
    with suppress(Exception):  # an error has no place in a line that is being typed
        names = [record.name for record in running()]
    return _beginning(names, begun)


def archived(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the runs that are kept."""
    names: list[str] = []
    with suppress(Exception):  # an error has no place in a line that is being typed
        names = [run.id for run in archived_runs()]
    return _beginning(names, begun)


def targets(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return jobs and pods, and replicas by their short names."""
    there = _contents(context)
    return _beginning([*(job.name for job in there.jobs), *_pods(there)], begun)


def pods(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return pods, and replicas by their short names."""
    return _beginning(_pods(_contents(context)), begun)


def _pods(there: Contents) -> list[str]:
    return [*(pod.replica.short_name for pod in there.pods), *(pod.replica.pod for pod in there.pods)]


def _beginning(names: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(begun)]


def _contents(context: click.Context) -> Contents:
    """What is in the cluster that the line has chosen so far; nothing if it cannot be asked."""
    kubeconfig = context.params.get("kubeconfig")
    choice = ClusterChoice(
        context.params.get("name"), Path(kubeconfig) if kubeconfig else None, context.params.get("namespace")
    )
    with suppress(Exception):  # an error has no place in a line that is being typed
        return asyncio.run(_asked(choice))
    return Contents((), ())


async def _asked(choice: ClusterChoice) -> Contents:
    async with asyncio.timeout(PATIENCE_SECONDS), connect(choice) as cluster:
        return await contents(cluster.transport, choice.searched)
