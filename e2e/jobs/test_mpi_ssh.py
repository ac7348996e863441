"""MPIJobs over SSH: their objects on the API server under test, and their processes on the local cluster.

Processes run with `--provider local` only, as root, where sshd and a Python with mpi4py and Open MPI are installed;
that Python is the environment of `make demo FRAMEWORK=mpi`, or `TRAINING_MPI_PYTHON`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.harness.binaries import cache_folder
from e2e.harness.client import Api, Object, connect, eventually
from e2e.harness.local_up import LocalUp, local_up
from e2e.harness.operator import Operator
from e2e.jobs.mpi_launch import OVER_SSH, mpi_job, play
from e2e.support import marks
from e2e.support.paths import ROOT

ENVIRONMENTS = (ROOT / ".cache" / "demo" / "mpi", cache_folder() / "demo" / "mpi")
ALLREDUCE = """
from mpi4py import MPI
import os, socket
comm = MPI.COMM_WORLD
total = comm.allreduce(comm.Get_rank() + 1)
print("rank", comm.Get_rank(), "of", comm.Get_size(), "in", socket.gethostname(), "sum", total, os.environ["GREETING"])
"""
MPIRUN = ("mpirun", "--allow-run-as-root", "-np", "2", "-x", "OPAL_PREFIX")


@pytest.fixture(scope="module")
def python() -> Path:
    if os.geteuid() != 0 or shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.fail("needs root and sshd (on Debian: apt-get install openssh-server)")
    chosen = os.environ.get("TRAINING_MPI_PYTHON")
    folders = (Path(chosen),) if chosen else ENVIRONMENTS
    found = next((folder for folder in folders if (folder / "bin" / "mpirun").exists()), None)
    if found is None:
        pytest.fail("needs mpi4py and Open MPI: `make demo FRAMEWORK=mpi` installs them")
    return found


@pytest.fixture(scope="module")
def cluster_up(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    with local_up(tmp_path_factory.mktemp("mpi")) as cluster:
        yield cluster


async def objects(api: Api, namespace: str, kind: str, prefix: str) -> list[Object]:
    """Those of a kind whose names begin so."""
    found = (await api.call("GET", f"/api/v1/namespaces/{namespace}/{kind}"))["items"]
    return [each for each in found if each["metadata"]["name"].startswith(prefix)]


async def test_the_api_server_takes_the_objects_and_nobody_may_enter_pods(
    api: Api, namespace: str, operator: Operator
) -> None:
    job = mpi_job("keyed", ["mpirun"], workers=2, python=Path("/nowhere"), annotations=OVER_SSH)
    for replica in job["spec"]["mpiReplicaSpecs"].values():
        replica["template"]["spec"]["schedulerName"] = "nobody"
    created = await api.create(f"/apis/kubeflow.org/v1/namespaces/{namespace}/mpijobs", job)
    await eventually(lambda: objects(api, namespace, "pods", "keyed-launcher"), "a launcher")

    (secret,) = await objects(api, namespace, "secrets", "keyed-")
    assert (secret["type"], secret["immutable"]) == ("kubernetes.io/ssh-auth", True)
    assert sorted(secret["data"]) == ["known_hosts", "ssh-hostkey", "ssh-privatekey", "ssh-publickey"]
    owners = [(each["uid"], each["controller"]) for each in secret["metadata"]["ownerReferences"]]
    assert owners == [(created["metadata"]["uid"], True)]
    (service,) = await objects(api, namespace, "services", "keyed-")
    assert (service["metadata"]["name"], service["spec"]["clusterIP"]) == ("keyed-mpi", "None")
    pods = await objects(api, namespace, "pods", "keyed-")
    assert {(pod["spec"]["hostname"], pod["spec"]["subdomain"]) for pod in pods} == {
        (name, "keyed-mpi") for name in ("keyed-launcher", "keyed-worker-0", "keyed-worker-1")
    }
    assert not any("initContainers" in pod["spec"] for pod in pods)
    rights = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    assert [(await api.call("GET", f"{rights}/{kind}"))["items"] for kind in ("roles", "rolebindings")] == [[], []]
    assert await objects(api, namespace, "serviceaccounts", "keyed-") == []
    assert "PRIVATE KEY" not in operator.child.output()


@marks.local  # pods must run
async def test_ranks_meet_over_ssh_with_what_their_containers_were_started_with(
    cluster_up: LocalUp, python: Path
) -> None:
    command = [*MPIRUN, "python", "-c", ALLREDUCE]
    job = mpi_job("meet", command, workers=2, python=python, annotations=OVER_SSH)
    worker = job["spec"]["mpiReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    worker["env"] = [{"name": "GREETING", "value": 'it\'s "here"'}]
    async with connect(cluster_up.kubeconfig) as api:
        ended = await play(cluster_up, api, job)
    assert "Succeeded" in ended.conditions, ended.log
    ranks = sorted(line for line in ended.log.splitlines() if line.startswith("rank"))
    assert ranks == [f'rank {index} of 2 in meet-worker-{index} sum 3 it\'s "here"' for index in range(2)]


NEW_KEY = "ssh-keygen -q -t ed25519 -N '' -f"
STRANGER = f"{NEW_KEY} /run/mpi/ssh-privatekey"
IMPOSTOR = f"""{NEW_KEY} /run/mpi/other
sed s:HostKey.*:HostKey\\ /run/mpi/other: /etc/mpi/sshd_config >/run/mpi/sshd_config
mkdir -p /run/sshd
exec /usr/sbin/sshd -De -f /run/mpi/sshd_config"""


@pytest.mark.parametrize(
    ("replica_type", "script", "told"),
    [("Launcher", STRANGER, "Permission denied"), ("Worker", IMPOSTOR, "Host key verification failed")],
)
@marks.local  # pods must run
async def test_who_does_not_have_the_job_s_keys_is_refused_and_the_job_fails(
    cluster_up: LocalUp, python: Path, replica_type: str, script: str, told: str
) -> None:
    mpirun = " ".join([*MPIRUN, "hostname"])
    job = mpi_job("broken", ["sh", "-c", mpirun], workers=2, python=python, annotations=OVER_SSH)
    changed = job["spec"]["mpiReplicaSpecs"][replica_type]["template"]["spec"]["containers"][0]
    changed["command"] = ["sh", "-c", f"{script}\n{mpirun if replica_type == 'Launcher' else ''}"]
    async with connect(cluster_up.kubeconfig) as api:
        ended = await play(cluster_up, api, job)
    assert "Failed" in ended.conditions
    assert told in ended.log
    assert not any(line.startswith("broken-worker") for line in ended.log.splitlines())
