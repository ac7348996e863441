"""Jobs of all kinds, and what both sides make of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.diff import diff
from training_migration.diff.model import Difference, Item
from training_migration.render_v1 import render_v1
from training_migration.rendering import Rendering
from training_migration.targets import Target
from training_migration.v1_job import V1Job, v1_job
from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock

Json = dict[str, Any]

WORKED: Final[Mapping[str, Path]] = {
    path.stem: path for path in sorted(Path(__file__).with_name("worked").glob("*.yaml"))
}
VOLCANO: Final = FrameworkOptions(gang=gang_scheduler("volcano"))


def worked(name: str) -> tuple[V1Job, Json, Json]:
    """A v1 job, a runtime and a TrainJob that were written by hand."""
    v1, runtime, train_job = yaml.load_all(WORKED[name].read_text(), yaml.CSafeLoader)
    return v1_job(v1), runtime, train_job


def compared(job: V1Job, runtime: Json, train_job: Json, options: FrameworkOptions | None = None) -> Difference:
    v2 = render_v2(train_job, runtime, Target.V2_3)
    return diff(render_v1(job, options), v2, job, train_job=train_job)


def converted(obj: Json, **options: Any) -> tuple[V1Job, Json, Json]:
    job = v1_job(obj)
    conversion = convert(job, Options(Target.V2_3, **options))
    assert conversion.runtime is not None, conversion.rejected
    return job, conversion.runtime, conversion.train_job


def naive(obj: Json, nodes: int, runtime: str = "torch-distributed", **trainer: Any) -> tuple[V1Job, Json, Json]:
    """Only image and command are carried over, on a runtime that v2 ships."""
    job = v1_job(obj)
    replica = next(iter(job.job.replicas.values()))
    container = replica.template["spec"]["containers"][0]
    kept = {name: container[name] for name in ("image", "command", "args") if name in container}
    metadata = {"name": job.job.metadata.name, "namespace": job.job.metadata.namespace}
    spec = {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": nodes, **kept, **trainer}}
    train_job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": metadata,
        "spec": spec,
    }
    return job, stock(Target.V2_3)[runtime], train_job


def both(name: str) -> tuple[V1Job, Rendering, Rendering]:
    job, runtime, train_job = worked(name)
    return job, render_v1(job), render_v2(train_job, runtime, Target.V2_3)


def items(difference: Difference, path: str) -> list[Item]:
    """All items whose path begins so."""
    return [item for item in difference.items() if item.path.startswith(path)]


def item(difference: Difference, path: str) -> Item:
    """The first one."""
    return items(difference, path)[0]
