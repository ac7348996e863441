"""Names for a shell that completes a command line: of clusters that run, of their jobs and pods, of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from training_local.cluster.connection import ClusterChoice, connect
from training_local.cluster.registry import running
from training_local.run.archive import archived_runs
from training_local.run.targets import Contents, contents

PATIENCE_SECONDS: Final = 2.0
"""How long completion may take."""

Chosen = Mapping[str, Any]
"""What the line has chosen so far."""


def clusters(_chosen: Chosen) -> list[str]:
    """Return the clusters that run."""
    return [record.name for record in running()]


def archived(_chosen: Chosen) -> list[str]:
    """Return the runs that are kept."""
    return [run.id for run in archived_runs()]


def targets(chosen: Chosen) -> list[str]:
    """Return jobs and pods, and replicas by their short names."""
    there = _contents(chosen)
    return [*(job.name for job in there.jobs), *_pods(there)]


def pods(chosen: Chosen) -> list[str]:
    """Return pods, and replicas by their short names."""
    return _pods(_contents(chosen))


def _pods(there: Contents) -> list[str]:
    return [*(pod.replica.short_name for pod in there.pods), *(pod.replica.pod for pod in there.pods)]


def _contents(chosen: Chosen) -> Contents:
    """What is in the chosen cluster."""
    kubeconfig = chosen.get("kubeconfig")
    choice = ClusterChoice(chosen.get("name"), Path(kubeconfig) if kubeconfig else None, chosen.get("namespace"))
    return asyncio.run(_asked(choice))


async def _asked(choice: ClusterChoice) -> Contents:
    async with asyncio.timeout(PATIENCE_SECONDS), connect(choice) as cluster:
        return await contents(cluster.transport, choice.searched)
