"""Converted jobs as the SDK of Trainer v2, `kubeflow` 0.5, shows them to its users."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.environment import environment
from e2e.migration.building import created
from e2e.migration.jobs import examples
from e2e.support import marks
from e2e.support.paths import ROOT

from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.verify.subjects import converted

pytestmark = marks.bare  # Trainer v2 is installed into a cluster of its own

CONSTRAINTS = Path(__file__).parent / "sdk" / "constraints.txt"
NAMESPACE = "sdk"
LIMIT = 120.0
NODES = [f"node-{number}" for number in range(3)]
EXPECTED = {
    "torchrun-cpu": (2, "torch", NODES[:2]),
    "elastic-example-echo": (2, "torch", NODES[:2]),
    # Roles of TensorFlow, and a master unlike its workers, are no nodes in the SDK's eyes.
    "dist-mnist-for-e2e-test": (4, "plainml", []),
    "xgboost-dist-iris-test-train-local": (1, "plainml", []),
    "xgboost-dist-test": (3, "xgboost", NODES),
    # Without a kubelet no worker is ever ready, so there is no launcher, which would be node-0.
    "tensorflow-mnist": (2, "mpi", ["node-1", "node-2"]),
    "paddle-simple-cpu": (2, "plainml", NODES[:2]),
    "jaxjob-simple": (2, "jax", NODES[:2]),
}
"""Nodes, framework and steps of some examples of v1."""


def result(python: Path, cluster: Cluster, names: list[str]) -> Object:
    """What the SDK says of TrainJobs."""
    done = subprocess.run(
        [python, "-m", "e2e.migration.sdk.read_jobs", NAMESPACE, *names],
        cwd=ROOT,
        env={"KUBECONFIG": str(cluster.kubeconfig), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    # Nor does it complain, for example about the version of Trainer.
    assert done.stderr == ""
    answer: Object = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def python() -> Path:
    return environment("trainer-sdk", CONSTRAINTS) / "python"


async def test_converted_jobs_are_read_and_listed(trainer: Cluster, api: Api, python: Path) -> None:
    await api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    jobs: dict[str, V1Job] = {job.source: job for job in examples()}
    subjects = {name: converted(jobs[name], Target.V2_3) for name in EXPECTED}
    for subject in subjects.values():
        for number, obj in enumerate((subject.runtime, subject.train_job)):
            assert obj is not None
            assert await created(api, NAMESPACE, obj, patient=number > 0) == ""
    wanted = sum(len(steps) for _, _, steps in EXPECTED.values())

    async def made() -> bool:
        pods = (await api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/pods"))["items"]
        nodes = [pod for pod in pods if pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] == "node"]
        return len(nodes) == wanted

    await eventually(made, f"{wanted} pods of nodes", LIMIT)
    names = {name: subject.name for name, subject in subjects.items()}
    answer = await asyncio.to_thread(result, python, trainer, list(names.values()))
    assert answer["listed"] == sorted(names.values())
    assert answer["jobs"] == {
        names[name]: {
            "nodes": nodes,
            "status": "Created",
            "runtime": f"{names[name]}-v1",
            "framework": framework,
            "steps": steps,
        }
        for name, (nodes, framework, steps) in EXPECTED.items()
    }
