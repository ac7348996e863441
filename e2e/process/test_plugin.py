"""The operator with a kind of another package, as its own account on a cluster that learns of the kind step by step."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.deployment.installation import account_kubeconfig, grant
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace, job, log_line
from e2e.harness.operator import PROGRAM, Operator
from e2e.harness.startup import answers
from e2e.support import marks
from e2e.support.every_kind import install_plugin

PACKAGE = "training-operator-deepspeed"
DEFINITION = "customresourcedefinition/deepspeedjobs.kubeflow.org"
ROLES = ("clusterrole,clusterrolebinding", "training-operator-deepspeedjobs")
Program = tuple[str | Path, ...]

pytestmark = marks.bare


@pytest.fixture(scope="module")
def program(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The operator's program, beside which the package is installed; in the end the cluster forgets the kind."""
    folder = tmp_path_factory.mktemp("installed")
    install_plugin(folder)
    grant(cluster)
    yield ("env", f"PYTHONPATH={folder}", PROGRAM)
    cluster.run_kubectl("delete", "--ignore-not-found", DEFINITION)
    cluster.run_kubectl("delete", "--ignore-not-found", *ROLES)


@pytest.fixture
def operator(cluster: Cluster, program: Program, tmp_path: Path) -> Iterator[Operator]:
    account = account_kubeconfig(cluster, "kubeflow", tmp_path)
    operator = Operator(account, tmp_path / "operator.log", "--zap-encoder=json", program=program)
    yield operator
    operator.child.kill()


def written(program: Program, command: str) -> str:
    """What the program writes for the package."""
    return subprocess.run([*program, command, "--with", PACKAGE], check=True, capture_output=True, text=True).stdout


async def test_other_kinds_are_served_until_its_definition_and_its_permissions_are_there(
    cluster: Cluster, program: Program, operator: Operator, jobs: Namespace
) -> None:
    operator.wait_ready()
    said = await log_line(operator.child.log.read_text, "no permission for this resource")
    assert '"resource": "deepspeedjobs.kubeflow.org"' in said
    assert f"the output of `training-operator rbac --with {PACKAGE}`" in said
    await jobs.run_to_success(job("others", "JAXJob", Worker=1))
    assert answers(f"{operator.probes}/readyz")
    cluster.run_kubectl("apply", "-f", "-", stdin=written(program, "crds"))
    cluster.wait_established(DEFINITION)
    cluster.run_kubectl("apply", "-f", "-", stdin=written(program, "rbac"))
    body = job("first", "DeepSpeedJob", Launcher=1, Worker=2)
    await jobs.run_to_success(body)
    hosts = await jobs.api.get(f"/api/v1/namespaces/{jobs.name}/configmaps/first-hostfile")
    assert hosts is not None
    assert hosts["data"] == {"hostfile": "first-worker-0 slots=1\nfirst-worker-1 slots=1\n"}
    assert operator.child.log.read_text().count("no permission for this resource") == 1
