"""`migrate survey --from-cluster` against an API server: the same verdicts as on the files, and nothing changes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from e2e.harness.client import Api, connect
from e2e.harness.cluster import Cluster
from e2e.support.v1_examples.expected import examples

from training_api.registry import KINDS
from training_api.yaml_text import dump

Json = dict[str, Any]


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    """A client of the API server under test; the others of this folder are about Trainer's."""
    async with connect(cluster.kubeconfig) as api:
        yield api


def survey(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command, as a user starts it."""
    program = "from training_operator.cli import main; main()"
    command = [sys.executable, "-c", program, "migrate", "survey", "--target", "2.3", "--format", "json", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, input=stdin)


def findings(content: str) -> dict[tuple[str, str], tuple[str, list[tuple[str, bool]]]]:
    """By kind and name: the verdict, and the rules with whether they are mended."""
    return {
        (job["ref"]["kind"], job["ref"]["name"]): (
            job["verdict"],
            [(each["id"], each["fixed"]) for each in job["findings"]],
        )
        for job in json.loads(content)["jobs"]
    }


async def versions(api: Api, namespace: str) -> dict[str, str]:
    """The resource version of every job."""
    found: dict[str, str] = {}
    for info in KINDS.values():
        listed = await api.call("GET", f"/apis/kubeflow.org/v1/namespaces/{namespace}/{info.plural}")
        found |= {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in listed["items"]}
    return found


async def test_jobs_of_a_cluster_are_judged_as_those_of_files(
    cluster: Cluster, api: Api, namespace: str, tmp_path: Path
) -> None:
    jobs = [example.job for example in examples(f"job-{number}" for number in count())]
    for number, job in enumerate(jobs):
        job["metadata"] = {**job["metadata"], "name": f"job-{number}", "namespace": namespace}
        await api.create(f"/apis/kubeflow.org/v1/namespaces/{namespace}/{KINDS[job['kind']].plural}", job)
    (tmp_path / "jobs.yaml").write_text(dump(jobs))
    before = await versions(api, namespace)

    in_files = survey(str(tmp_path / "jobs.yaml"))
    in_cluster = survey("--from-cluster", "-n", namespace, "--kubeconfig", str(cluster.kubeconfig))
    assert in_cluster.returncode == in_files.returncode == 1, in_cluster.stderr
    assert len(findings(in_files.stdout)) == len(jobs)
    assert findings(in_cluster.stdout) == findings(in_files.stdout)
    assert await versions(api, namespace) == before

    printed = cluster.run_kubectl("get", "pytorchjobs,mpijobs", "-n", namespace, "-o", "yaml")
    piped = findings(survey("-", stdin=printed).stdout)
    assert {kind for kind, _ in piped} == {"PyTorchJob", "MPIJob"}
    assert piped.items() <= findings(in_files.stdout).items()


def test_a_namespace_without_jobs_has_none_and_a_context_that_is_not_there_is_said(cluster: Cluster) -> None:
    nowhere = survey("--from-cluster", "-n", "nobody", "--kubeconfig", str(cluster.kubeconfig))
    assert nowhere.returncode == 0, nowhere.stderr
    assert json.loads(nowhere.stdout)["jobs"] == []
    unknown = survey("--from-cluster", "--kubeconfig", str(cluster.kubeconfig), "--context", "elsewhere")
    assert unknown.returncode == 5
    assert "elsewhere" in unknown.stderr
    assert unknown.stderr.count("\n") == 1
