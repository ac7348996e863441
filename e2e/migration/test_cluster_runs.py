"""`migrate probe` and `run` with `--where cluster`: what they create, see and leave behind."""

from __future__ import annotations

import asyncio
import copy
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.harness.client import eventually
from e2e.harness.operator import PROGRAM
from e2e.migration.small_v2 import SmallTrainer
from e2e.support import marks

from training_local.cluster.local_cluster import ClusterOptions as LocalOptions
from training_local.cluster.local_cluster import LocalCluster
from training_migration.compare import Outcome, compare
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.runs.api import Api, Rejected
from training_migration.runs.both_cluster import cluster_both
from training_migration.runs.cluster import RUN_LABEL, ClusterOptions
from training_migration.runs.record import EndState
from training_migration.runs.recording import record_of
from training_migration.runs.sides import V2Side
from training_migration.runs.what import Plan, What
from training_migration.targets import Target
from training_migration.v1_job import v1_job

pytestmark = marks.local  # local clusters of its own

Json = dict[str, Any]

JOB = """
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: wired}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          terminationGracePeriodSeconds: 1
          containers:
            - {name: jax, image: any, command: [python, -c, "import time; print('begun', flush=True); time.sleep(600)"]}
"""
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "given"}, "data": {"key": "value"}}
CREATED = (("v1", "ConfigMap"), ("v1", "Pod"), ("v1", "Service"), ("kubeflow.org/v1", "JAXJob"))


@pytest.fixture
async def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalCluster]:
    """A cluster with two empty namespaces, v1's operator, and something like Trainer v2."""
    monkeypatch.setenv("TRAINING_OPERATOR_STATE", str(tmp_path / "state"))
    async with LocalCluster(LocalOptions()) as cluster:
        for name in ("one", "two"):
            await Api(cluster.transport).create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        trainer = asyncio.create_task(SmallTrainer(cluster.transport).run("two"))
        yield cluster
        trainer.cancel()


def plan() -> Plan:
    job = v1_job(yaml.safe_load(JOB))
    conversion = convert(job, Options(Target.V2_3, namespace="two"))
    assert conversion.runtime is not None
    side = V2Side(conversion.train_job, conversion.runtime, "converted", conversion.others)
    return Plan(job, side, Target.V2_3, (copy.deepcopy(CONFIG_MAP),))


def options(cluster: LocalCluster, namespace: str, **changed: Any) -> ClusterOptions:
    return ClusterOptions(
        str(cluster.kubeconfig), "", namespace, **{"limit": 60.0, "settle": 5.0, "run": "r1", **changed}
    )


async def left(cluster: LocalCluster, namespace: str, *more: tuple[str, str]) -> list[str]:
    """Kind and name of what is in a namespace."""
    api = Api(cluster.transport)
    found = []
    for version, kind in (*CREATED, *more):
        names = [each["metadata"]["name"] for each in await api.listed(version, kind, namespace)]
        found += [f"{kind} {name}" for name in names if name != "kube-root-ca.crt"]
    return found


async def test_both_sides_are_followed_on_a_cluster_and_removed(local: LocalCluster) -> None:
    what = What(probed=("COORDINATOR",), seconds=30.0)
    result: list[str] = []
    v1, v2 = await cluster_both(plan(), what, options(local, "one"), options(local, "two"), result.append)
    comparison = compare(record_of(v1, ()), record_of(v2, ()))
    assert comparison.outcome is Outcome.EQUAL, (comparison.headline, v1.reasons, v2.reasons, result)
    assert [(p.role, p.rank, p.world_size) for p in comparison.v2.processes or ()] == [("node", 0, 2), ("node", 1, 2)]
    assert await left(local, "one") == []
    more = (("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"))
    assert await left(local, "two", *more) == []


async def test_what_was_there_before_stays_as_it_was(local: LocalCluster) -> None:
    api = Api(local.transport)
    mine = {**CONFIG_MAP, "metadata": {"name": "given", "namespace": "one"}, "data": {"key": "mine"}}
    await api.create(mine)
    only_v1 = Plan(plan().v1, None, Target.V2_3, plan().others)
    what = What(probed=("COORDINATOR",), seconds=30.0)
    [seen] = await cluster_both(only_v1, what, options(local, "one"), options(local, ""), print)
    assert seen.end is EndState.SUCCEEDED, seen.reasons
    assert "ConfigMap given was there already and is used as it is" in seen.reasons
    stored = await api.read("v1", "ConfigMap", "one", "given")
    assert stored is not None
    assert (stored["data"], RUN_LABEL in stored["metadata"].get("labels", {})) == ({"key": "mine"}, False)


async def test_a_job_of_that_name_is_not_touched(local: LocalCluster) -> None:
    job = yaml.safe_load(JOB)
    job["metadata"]["namespace"] = "one"
    await Api(local.transport).create(job)
    with pytest.raises(Failure, match="JAXJob wired is already in namespace one") as failure:
        await cluster_both(Plan(plan().v1, None, Target.V2_3), What(), options(local, "one"), options(local, ""), print)
    assert failure.value.code is Exit.USAGE
    assert "JAXJob wired" in await left(local, "one")


async def test_a_side_that_does_not_end_is_given_up_and_removed(local: LocalCluster) -> None:
    only_v1, short = Plan(plan().v1, None, Target.V2_3), options(local, "one", limit=3.0, settle=0.1)
    [seen] = await cluster_both(only_v1, What(witnessed=False), short, short, print)
    assert (seen.end, seen.reasons) == (EndState.TIMED_OUT, ["not ended after 3 s"])
    assert sorted(line for attempts in seen.logs.values() for lines in attempts for line in lines) == ["begun"] * 2
    assert await left(local, "one") == []


async def test_a_namespace_that_is_not_there_is_reported(local: LocalCluster) -> None:
    with pytest.raises((Failure, Rejected), match="three"):
        await cluster_both(plan(), What(), options(local, "three"), options(local, "two"), print)


async def test_an_interrupted_run_removes_what_it_has_created(local: LocalCluster, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    command: list[str | Path] = [
        PROGRAM,
        "migrate",
        "run",
        str(file),
        "--target=2.3",
        "--side=v1",
        "--where=cluster",
        "--witness",
    ]
    where = [f"--kubeconfig={local.kubeconfig}", "--namespace-v1=one"]
    process = await asyncio.create_subprocess_exec(*command, *where)

    async def running() -> bool:
        pods = await Api(local.transport).listed("v1", "Pod", "one")
        return len(pods) == 2 and all(pod["status"]["phase"] == "Running" for pod in pods)

    await eventually(running, "pods of the run", 60)
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 90) == Exit.INTERRUPTED
    assert await left(local, "one") == []
