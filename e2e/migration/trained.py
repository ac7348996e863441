"""The examples of the frameworks as v1's job and as v2's, both run on the local cluster and compared."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2e.training.examples import EXAMPLES

from training_local.run.examples import DEMOS, python_for
from training_migration.compare import Comparison, Tolerance, compare
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.runs.both_local import local_both
from training_migration.runs.local import LocalOptions, Log
from training_migration.runs.record import RunRecord
from training_migration.runs.recording import Metric, record_of
from training_migration.runs.sides import V2Side
from training_migration.runs.what import Plan, What
from training_migration.targets import Target
from training_migration.v1_job import V1Job, v1_job
from training_migration.v2.stock import stock

Json = dict[str, Any]

TARGET = Target.V2_3
LIMIT = 240.0
"""Seconds for each side; on an idle machine the slowest needs fifteen."""
LOSS = Metric.parse(r"(?:step|round) (?P<step>\d+)/\d+ loss (?P<loss>[0-9.e+-]+)")
GUARD = (
    "def main():\n",
    'def main():\n        if "WORLD_SIZE" not in os.environ:\n'
    '            os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29400")\n',
)
"""What many scripts have, so that they also run without an operator: where no variable names others, alone."""
SEED = ("def main():\n", "def main():\n        paddle.seed(0)\n")
"""Without a seed the first weights are random, and no two runs alike."""
ANY_HOSTS = ('f"mpi-linear-worker-{index}" for index in range(world_size)', "*sorted({host for _, host in places})")
"""The script insists on v1's host names, which v2 does not have (lint says so)."""


@dataclass(frozen=True)
class Case:
    """One comparison."""

    framework: str
    v2: Callable[[V1Job], V2Side]
    file: str = ""
    """Below `examples/`; empty: the framework's demo."""
    change: tuple[str, str] = ("", "")
    """A piece of the script, and what stands there instead."""
    metrics: tuple[Metric, ...] = (LOSS,)
    tolerance: float | None = 1e-3


def converted(job: V1Job) -> V2Side:
    """As `migrate convert` moves it."""
    conversion = convert(job, Options(TARGET))
    assert conversion.runtime is not None, conversion.rejected
    return V2Side(conversion.train_job, conversion.runtime, "converted", conversion.others)


def naive(job: V1Job) -> V2Side:
    """As one does it by hand: image and command of the v1 job on the runtime that v2 ships."""
    runtime = copy.deepcopy(stock(TARGET)["torch-distributed"])
    replicas = job.object["spec"]["pytorchReplicaSpecs"]
    template = replicas["Worker"]["template"]["spec"]
    [container] = template["containers"]
    # What an image would hold comes by a volume here.
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    pod["volumes"] = template["volumes"]
    pod["containers"][0]["volumeMounts"] = container["volumeMounts"]
    nodes = sum(each.get("replicas", 1) for each in replicas.values())
    trainer = {"image": container["image"], "command": container["command"], "numNodes": nodes}
    metadata = {"name": job.object["metadata"]["name"], "namespace": "default"}
    spec = {"runtimeRef": {"kind": runtime["kind"], "name": runtime["metadata"]["name"]}, "trainer": trainer}
    train_job = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}
    return V2Side(train_job, runtime, "by hand")


def read(case: Case) -> tuple[V1Job, list[Json]]:
    """The job of a case and the objects that it needs."""
    text = (EXAMPLES / (case.file or DEMOS[case.framework].file)).read_text()
    assert case.change[0] in text, "the example is not what it was"
    text = text.replace(*case.change, 1)
    documents = list(yaml.safe_load_all(text))
    [job] = [each for each in documents if each["apiVersion"] == "kubeflow.org/v1"]
    return v1_job(copy.deepcopy(job)), [each for each in documents if each is not job]


async def play(case: Case, environment: Path | None, log: Log) -> Comparison:
    """Run both sides and compare them; raises BadInput if the framework is not there."""
    python = python_for(DEMOS[case.framework], environment)
    job, others = read(case)
    v1, v2 = await local_both(
        Plan(job, case.v2(job), TARGET, tuple(others)), What(), LocalOptions(python, limit=LIMIT), log
    )
    records: list[RunRecord] = [record_of(each, case.metrics) for each in (v1, v2)]
    return compare(*records, tolerance=Tolerance(case.tolerance))
