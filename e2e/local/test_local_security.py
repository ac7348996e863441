"""What other users of the machine can see of a running local cluster: `make e2e PROVIDER=local`."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from e2e.harness.client import Api, connect, eventually
from e2e.harness.local_up import LocalUp, local_up
from e2e.support import marks

pytestmark = marks.local  # about the local cluster

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secrets")


@pytest.fixture(scope="module")
def cluster_up(folder: Path) -> Iterator[LocalUp]:
    """A cluster whose every file lies below `folder`."""
    temporary = folder / "tmp"
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        with local_up(folder, f"--data={folder / 'data'}") as cluster:
            yield cluster


def _token(cluster: LocalUp) -> str:
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    return str(content["users"][0]["user"]["token"])


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def _holders(folder: Path, text: str) -> set[str]:
    """Names of the files that contain a text."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.name for path in files if text.encode() in path.read_bytes()}


def _told_by_processes(pid: int) -> bytes:
    """Command lines and environments of a process and all below it, as `ps` shows them."""
    processes = _descendants(pid)
    assert len(processes) > 1, "the pod runs as a child"
    return b"".join(Path(f"/proc/{each}/{name}").read_bytes() for each in processes for name in ("cmdline", "environ"))


async def _run_a_pod(api: Api, folder: Path) -> None:
    """Let a pod run that prints every environment and command line it can see."""
    script = (
        "env; cat /proc/*/cmdline /proc/*/environ | tr '\\0' '\\n'; ls -R /var/run/secrets; echo all-printed; sleep 600"
    )
    container = {"name": "main", "image": "example.com/x:1", "command": ["sh", "-c", script]}
    await api.create(PODS, {"metadata": {"name": "curious"}, "spec": {"containers": [container]}})

    async def printed() -> bool:
        return any(name.endswith(".log") for name in _holders(folder, "all-printed\n"))

    await eventually(printed, "the pod's log")


async def test_the_token_is_in_the_kubeconfig_and_nowhere_else(cluster_up: LocalUp, folder: Path) -> None:
    token = _token(cluster_up)
    async with connect(cluster_up.kubeconfig) as api:
        await _run_a_pod(api, folder)
        configmaps = await api.get("/api/v1/configmaps")
    assert token not in json.dumps(configmaps)
    assert token.encode() not in _told_by_processes(cluster_up.child.pid)
    # The cluster's own folder may hold a copy for `status` and `logs`.
    assert _holders(folder, token) == {"kubeconfig"}
    assert token not in cluster_up.child.output()


async def test_nobody_else_can_read_the_files(cluster_up: LocalUp, folder: Path) -> None:
    assert stat.S_IMODE(cluster_up.kubeconfig.stat().st_mode) == 0o600
    for top in (folder / "state", folder / "data", *(folder / "tmp").iterdir()):
        assert top.is_dir(), top
        assert stat.S_IMODE(top.stat().st_mode) & 0o077 == 0, top


def test_the_server_listens_on_loopback_only(cluster_up: LocalUp) -> None:
    """Read from the kernel which sockets of the cluster's process listen, and where."""
    inodes = set()
    for descriptor in Path(f"/proc/{cluster_up.child.pid}/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{cluster_up.child.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in inodes:
                listening.append(fields[1].partition(":")[0])
    assert listening
    assert set(listening) <= {"0100007F", "00000000000000000000000001000000"}
