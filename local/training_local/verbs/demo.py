"""`training-operator local demo`: an example of this project, in a cluster of its own."""

from __future__ import annotations

from typing import Unpack

from training_local.cluster.local_cluster import ClusterFlags, ClusterOptions
from training_local.run.apply import load_objects
from training_local.run.examples import DEMOS, example, python_for
from training_local.verbs.finish import finish
from training_local.verbs.run import RunOptions, run_objects


def demo(
    *,
    framework: str,
    limit: float | None,
    as_json: bool,
    archive: bool,
    archive_size: int,
    **flags: Unpack[ClusterFlags],
) -> None:
    """Run an example that really trains, distributed over several processes."""
    finish(
        _demo(framework, ClusterOptions(**flags), RunOptions(limit, as_json, archive=archive_size if archive else None))
    )


async def _demo(framework: str, cluster_options: ClusterOptions, options: RunOptions) -> int:
    chosen = DEMOS[framework]
    python_for(chosen, cluster_options.python)  # or it says how to get one
    return await run_objects(load_objects([example(chosen)]), cluster_options, options)
