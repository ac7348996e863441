"""`training-operator local demo`: an example of this project, in a cluster of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from training_local.cluster.image_programs import ImagePrograms
from training_local.cluster.local_cluster import ClusterOptions
from training_local.cluster.sandbox_mode import SandboxMode
from training_local.node.egress.mode import NetworkMode
from training_local.run.apply import load_objects
from training_local.run.examples import DEMOS, example, python_for
from training_local.verbs.finish import finish
from training_local.verbs.run import RunOptions, run_objects


def demo(
    *,
    framework: str,
    python: Path | None,
    sandbox: str,
    network: str,
    allow_missing_mounts: bool,
    images: ImagePrograms,
    limit: float | None,
    as_json: bool,
    archive: bool,
    archive_size: int,
) -> None:
    """Run an example that really trains, distributed over several processes."""
    options = ClusterOptions(python, SandboxMode(sandbox), allow_missing_mounts=allow_missing_mounts, images=images)
    options = replace(options, network=NetworkMode(network))
    finish(_demo(framework, options, RunOptions(limit, as_json, archive=archive_size if archive else None)))


async def _demo(framework: str, cluster_options: ClusterOptions, options: RunOptions) -> int:
    chosen = DEMOS[framework]
    python_for(chosen, cluster_options.python)  # or it says how to get one
    return await run_objects(load_objects([example(chosen)]), cluster_options, options)
