"""Commands of the documentation, run as they stand on its pages, in the order in which they stand there."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.clients.test_kubectl_on_nodes import running
from e2e.harness.bare import bare
from e2e.harness.client import connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.local_up import local_up
from e2e.harness.operator import running_operator
from e2e.support import marks
from e2e.support.documentation import kubectl
from e2e.support.documentation.commands import BESIDE_JOBS, ON_A_CLUSTER, ON_THIS_MACHINE, Block, blocks
from e2e.support.paths import ROOT

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kubeflow/leases/1ca428e5.training-operator.kubeflow.org"


def shown(evidence: str) -> list[Block]:
    return [block for block in blocks() if block.evidence == evidence]


def with_kubectl(cluster: Cluster, folder: Path) -> str:
    """A value of PATH by which `kubectl` is the tests' one, and programs are those of the tests' environment."""
    program = shutil.which(cluster.kubectl)
    assert program is not None
    (folder / "kubectl").symlink_to(program)
    return f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"


def run(block: Block, **environment: str) -> str:
    """Run the commands of a block in one shell at the root of the repository.

    All must end with status 0, or with the one that a remark beside the command gives.
    """
    lines = (re.sub(r"^(.*?) +# exit status (\d+)$", r"{ \1; } || test $? -eq \2", each) for each in block.commands)
    script = "\n".join(("set -euo pipefail", *lines))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"{block.page}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture
def empty() -> Iterator[Cluster]:
    """A control plane without anything of ours."""
    with bare() as cluster:
        yield cluster


@marks.bare  # pages install into a cluster of their own
async def test_on_a_cluster(empty: Cluster, tmp_path: Path) -> None:
    environment = {"PATH": with_kubectl(empty, tmp_path), "KUBECONFIG": str(empty.kubeconfig)}
    found = shown(ON_A_CLUSTER)
    assert {block.page for block in found} >= {"docs/installation.md", "docs/high-availability.md", "docs/upgrading.md"}
    # Where the pages say that the operator runs, one does, with the lease of the installation.
    empty.run_kubectl("apply", "-k", str(ROOT / "deploy" / "overlays" / "standalone"))
    flags = ("--leader-elect", "--operator-namespace=kubeflow")
    async with connect(empty.kubeconfig) as api:
        with running_operator(empty.kubeconfig, tmp_path / "operator.log", *flags):
            await eventually(lambda: api.get(LEASE), "the operator leads")
            printed = {block: run(block, **environment) for block in found}
    [holder] = [text for block, text in printed.items() if block.page == "docs/high-availability.md"]
    assert holder.strip()


@marks.local  # about the local cluster
def test_on_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    assert importlib.util.find_spec("jax"), "JAX is needed: `make demo` installs it"
    found = shown(ON_THIS_MACHINE)
    assert found
    path = with_kubectl(cluster, tmp_path)
    # What several pages show is run once.
    for number, block in enumerate({block.commands: block for block in found}.values()):
        home = tmp_path / f"home-{number}"
        home.mkdir()
        environment = {"PATH": path, "HOME": str(home), "TRAINING_OPERATOR_STATE": str(home / "state")}
        try:
            run(block, **environment)
        finally:
            end = ["training-operator", "local", "down", "--all"]
            subprocess.run(end, env={**os.environ, **environment}, check=True, timeout=60)


@marks.local  # about the local cluster
def test_beside_jobs(cluster: Cluster, tmp_path: Path) -> None:
    """The jobs that pages name run, or wait for a device that is not there."""
    found = shown(BESIDE_JOBS)
    assert found
    jobs = [running("hello", "PyTorchJob", "sleep 600"), running("little", "JAXJob", "sleep 600")]
    waiting = running("train", "JAXJob", "sleep 600")
    [container] = waiting["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["containers"]
    container["resources"] = {"limits": {"nvidia.com/gpu": 1000}}
    path = with_kubectl(cluster, tmp_path)
    with local_up(tmp_path) as up:
        cluster = Cluster("local up", up.kubeconfig, cluster.kubectl)
        cluster.send("apply", *jobs, waiting)
        cluster.run_kubectl("wait", "pytorchjob/hello", "jaxjob/little", "--for=condition=Running", "--timeout=60s")
        for block in found:
            every_worker_runs(cluster)  # the last block may have scaled the job
            printed = run(block, PATH=path, KUBECONFIG=str(up.kubeconfig))
            assert printed, f"{block.page}: {block.commands}"


def every_worker_runs(cluster: Cluster) -> None:
    wanted = cluster.run_kubectl("get", "pytorchjob/hello", "-o=jsonpath={.spec.pytorchReplicaSpecs.Worker.replicas}")
    reached = f"--for=jsonpath={{.status.replicaStatuses.Worker.ready}}={wanted}"
    cluster.run_kubectl("wait", "pytorchjob/hello", reached, "--timeout=60s")


@marks.local  # help texts are the program's: no API server matters
def test_options_of_kubectl(cluster: Cluster) -> None:
    """What the unit tests take for kubectl's options is what its help lists."""
    common = cluster.run_kubectl("options")
    wrong = {
        verb: kubectl.options(verb).items() - listed(common + cluster.run_kubectl(*verb.split(), "--help")).items()
        for verb in kubectl.VERBS
    }
    assert {verb: options for verb, options in wrong.items() if options} == {}


def listed(text: str) -> dict[str, str | None]:
    """The options in a help text of kubectl; a default of true or false makes a switch."""
    return {
        name: None if default in ("true", "false") else "any"
        for *names, default in re.findall(r"^ +(?:(-\w), )?(--[\w-]+)=(.*?):", text, re.MULTILINE)
        for name in names
    }
