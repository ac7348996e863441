"""Which job is run on which side, found among the objects of some files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from training_migration.exits import Exit, Failure
from training_migration.runs.sides import Sides, containers_of, hosts_of, read_sides
from training_migration.runs.templates import runnable

Json = dict[str, Any]

POD = {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}}
REPLICAS = {"Master": {"replicas": 1, "template": POD}, "Worker": {"replicas": 2, "template": POD}}
JOB: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "job"},
    "spec": {"pytorchReplicaSpecs": REPLICAS},
}
V2 = "trainer.kubeflow.org/v1alpha1"
TRAIN_JOB: dict[str, Any] = {
    "apiVersion": V2,
    "kind": "TrainJob",
    "metadata": {"name": "job"},
    "spec": {"runtimeRef": {"name": "torch"}},
}
RUNTIME = {"apiVersion": V2, "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"}, "spec": {}}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "script"}, "data": {"a": "b"}}


def sides(tmp_path: Path, *objects: Json, stock: Json | None = None) -> Sides:
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all(objects))
    return read_sides([str(tmp_path)], {"torch": stock} if stock else {})


def test_both_sides_and_what_they_need_are_found(tmp_path: Path) -> None:
    found = sides(tmp_path, CONFIG_MAP, JOB, RUNTIME, TRAIN_JOB, CONFIG_MAP)
    assert found.v1 is not None
    assert found.v2 is not None
    assert (found.v2.runtime, found.others) == (RUNTIME, (CONFIG_MAP,))
    assert (found.v2.ref.kind, found.v2.ref.namespace) == ("TrainJob", "default")
    assert containers_of(found.v1) == {"master": "pytorch", "worker": "pytorch"}
    assert hosts_of(found.v1) == ["job-master-0", "job-worker-0", "job-worker-1"]


def test_a_runtime_of_the_release_need_not_be_in_the_files(tmp_path: Path) -> None:
    found = sides(tmp_path, TRAIN_JOB, stock=RUNTIME)
    assert found.v2 is not None
    assert (found.v1, found.v2.runtime) == (None, RUNTIME)


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([CONFIG_MAP], "neither a training job of v1 nor a TrainJob"),
        ([JOB, {**JOB, "metadata": {"name": "other"}}], "one training job of v1 can be run at a time"),
        ([TRAIN_JOB], "wants ClusterTrainingRuntime torch, which is not in the files"),
        ([JOB, CONFIG_MAP, {**CONFIG_MAP, "data": {}}], "ConfigMap script is in the files twice"),
        ([JOB, {"kind": "ConfigMap"}], "not an object with apiVersion, kind and metadata.name"),
        ([{**JOB, "spec": {"pytorchReplicaSpecs": {"Boss": {}}}}], "would be rejected by v1"),
    ],
    ids=["no job", "two jobs", "no runtime", "twice", "no name", "rejected"],
)
def test_what_cannot_be_run_is_reported(tmp_path: Path, objects: list[Json], message: str) -> None:
    with pytest.raises(Failure, match=message) as failure:
        sides(tmp_path, *objects)
    assert failure.value.code is Exit.USAGE


def test_a_run_begins_at_once_and_stays_to_be_looked_at() -> None:
    policy = {
        "suspend": True,
        "ttlSecondsAfterFinished": 0,
        "managedBy": "kueue.x-k8s.io/multikueue",
        "backoffLimit": 2,
    }
    waiting = {**JOB, "spec": {**JOB["spec"], "runPolicy": policy}, "status": {"conditions": []}}
    jobset = {"replicatedJobs": [], "ttlSecondsAfterFinished": 5}
    runtime = {**RUNTIME, "spec": {"template": {"spec": jobset}}}
    held = {**TRAIN_JOB, "spec": {**TRAIN_JOB["spec"], "suspend": True}}
    job, changed, train_job = runnable([waiting, runtime, held])
    assert (job["spec"]["runPolicy"], "status" in job) == ({"backoffLimit": 2}, False)
    assert changed["spec"]["template"]["spec"] == {"replicatedJobs": []}
    assert train_job["spec"] == TRAIN_JOB["spec"]
    assert policy["suspend"], "the objects themselves stay as they are"
