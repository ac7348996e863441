"""Each container has its own `/tmp`, `/var/tmp` and `/dev/shm`; what a job needs of the machine's is still there."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.support.local_node import Cluster, Json, cluster_in, entries, exists, needs_namespaces

from training_local.node import scratch

WRITE = "for place in /tmp /var/tmp /dev/shm; do ls $place | grep mark; echo $HOSTNAME > $place/training-mark; done"


@pytest.fixture
def below_tmp() -> Iterator[Path]:
    """A folder of a user below the machine's /tmp, wherever pytest has its own."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="training-") as folder:
        yield Path(folder)


async def test_no_pod_sees_another_s_temporary_files_nor_the_machine_s(sandboxed: Cluster, below_tmp: Path) -> None:
    (below_tmp / "secret").write_text("secret")
    for name in ("first", "second"):
        await sandboxed.run(name, "sh", "-c", f"{WRITE}; cat {below_tmp}/secret 2> /dev/null || echo hidden", job="one")
        assert await sandboxed.log(name) == "hidden\n"
    assert not any(exists(f"{place}/training-mark") for place in ("/tmp", "/var/tmp", "/dev/shm"))


async def test_temporary_files_go_with_their_pod(sandboxed: Cluster) -> None:
    await sandboxed.start("brief", "sh", "-c", "touch /tmp/mark; echo up; exec sleep 600", says="up")
    uid = sandboxed.api.pod("brief")["metadata"]["uid"]
    folder = sandboxed.state / "work" / uid
    assert exists(folder / "tmp/main/0/tmp/mark")
    await sandboxed.api.remove("brief", grace=1)
    assert not exists(folder)


async def test_host_mode_gives_a_folder_where_tmp_is_named(on_host: Cluster) -> None:
    script = "ls /tmp; touch /tmp/mark; ls $TMPDIR /tmp; test -w /var/tmp"
    for name in ("first", "second"):
        status = await on_host.run(name, "sh", "-c", script)
        assert status["phase"] == "Succeeded"
        assert (await on_host.log(name)).split()[1::2] == ["mark", "mark"]
    assert not exists("/tmp/mark")


async def test_containers_of_a_pod_and_attempts_begin_empty(cluster: Cluster) -> None:
    kept = {"volumeMounts": [{"name": "kept", "mountPath": "/kept"}]}
    first = {"name": "first", "image": "none", "command": ["sh", "-c", "touch $TMPDIR/mark; : > /kept/first"], **kept}
    script = "ls $TMPDIR | grep mark; touch $TMPDIR/mark; test -e /kept/again || { : > /kept/again; exit 1; }"
    pod_spec = {"initContainers": [first], "volumes": [{"name": "kept", "emptyDir": {}}]}
    status = await cluster.run("twice", "sh", "-c", script, container=kept, restartPolicy="OnFailure", **pod_spec)
    assert (status["phase"], status["containerStatuses"][0]["restartCount"]) == ("Succeeded", 1)
    assert await cluster.log("twice", previous=True) + await cluster.log("twice") == ""


async def test_an_empty_dir_wins(cluster: Cluster) -> None:
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/tmp"}]}
    writing = {"name": "first", "image": "none", "command": ["sh", "-c", "echo from-init > /tmp/file"], **mount}
    volume = {"name": "v", "emptyDir": {}}
    await cluster.run("fed", "cat", "/tmp/file", container=mount, initContainers=[writing], volumes=[volume])
    assert await cluster.log("fed") == "from-init\n"


async def test_what_is_executed_in_a_container_sees_its_tmp(cluster: Cluster) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo there > /tmp/copying; mv /tmp/copying /tmp/copied"]}}}
    script = "until [ -e /tmp/copied ]; do sleep 0.02; done; cat /tmp/copied"
    await cluster.run("box", "sh", "-c", script, container={"lifecycle": hook})
    assert await cluster.log("box") == "there\n"
    assert not exists("/tmp/copied")


@needs_namespaces
async def test_the_folder_of_the_user_and_its_python_stay(below_tmp: Path, tmp_path: Path) -> None:
    project, environment = below_tmp / "project", below_tmp / "environment"
    project.mkdir()
    (project / "train.py").write_text("import os, sys; print(os.getcwd(), sys.prefix); open('out', 'w').close()")
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    (below_tmp / "other").mkdir()
    python = environment / "bin" / "python"
    async with cluster_in(tmp_path / "state", "netns", working_directory=project, python=python) as cluster:
        await cluster.run("train", "sh", "-c", f"python train.py; ls {below_tmp}; echo $TMPDIR")
        said = (await cluster.log("train")).split()
        assert said == [str(project), str(environment), "environment", "project", "/tmp"]
        elsewhere = {"workingDir": str(below_tmp / "other")}
        await cluster.run("asked", "pwd", container=elsewhere)
        assert await cluster.log("asked") == f"{below_tmp}/other\n"
    assert entries(project) == ["out", "train.py"]


async def test_a_program_that_a_command_names_is_there_to_be_read(cluster: Cluster, below_tmp: Path) -> None:
    (below_tmp / "train.py").write_text("import beside")
    (below_tmp / "beside.py").write_text("import pathlib; print(pathlib.Path(__file__).parent)")
    for name, command in (
        ("named", ("python", "-B", f"{below_tmp}/train.py", "/tmp/absent.py", f"{below_tmp}/../etc/x.py")),
        ("shell", ("sh", "-c", f"exec python -B {below_tmp}/train.py")),
    ):
        await cluster.run(name, *command)
        assert await cluster.log(name) == f"{below_tmp}\n"
    assert entries(below_tmp) == ["beside.py", "train.py"]


@needs_namespaces
async def test_a_program_of_the_cluster_s_own_is_not_shown(below_tmp: Path) -> None:
    (below_tmp / "state").mkdir()
    (below_tmp / "state" / "other.py").write_text("print('seen')")
    async with cluster_in(below_tmp / "state", "netns") as cluster:
        (below_tmp / "mine.py").write_text("open(__file__, 'w')")
        await cluster.run("thief", "python", f"{below_tmp}/state/other.py")
        assert "No such file" in await cluster.log("thief")
        await cluster.run("writer", "python", f"{below_tmp}/mine.py", f"{below_tmp}/state/other.py")
        assert "Read-only file system" in await cluster.log("writer")


async def test_a_warning_names_hidden_paths_of_a_command(cluster: Cluster, below_tmp: Path) -> None:
    (below_tmp / "train.txt").touch()
    (below_tmp / "data").mkdir()
    script = f"cat {below_tmp}/train.txt {below_tmp}/absent {below_tmp}/data/x {below_tmp}-absent"
    container = {"volumeMounts": [{"name": "v", "mountPath": f"{below_tmp}/data"}]}
    await cluster.run("named", "sh", "-c", script, container=container, volumes=[{"name": "v", "emptyDir": {}}])
    said = [message for _, _, reason, message in cluster.api.events if reason == "OwnTemporaryFiles"]
    assert said == [
        f"container main does not see {below_tmp}/train.txt of this machine, because its temporary files are its own: "
        "start the command in that folder, or mount it as a hostPath volume"
    ]


@needs_namespaces
async def test_who_starts_in_tmp_itself_shares_it(below_tmp: Path, tmp_path: Path) -> None:
    async with cluster_in(tmp_path / "state", "netns", working_directory=Path("/tmp")) as cluster:
        await cluster.run("shared", "sh", "-c", f"test -d {below_tmp} && echo seen; touch $TMPDIR/own; ls -A /var/tmp")
        assert await cluster.log("shared") == "seen\n"


def test_a_python_brings_the_one_it_was_made_of(tmp_path: Path) -> None:
    base, virtual = tmp_path / "base", tmp_path / "virtual"
    for folder in (base, virtual):
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()
    (virtual / "pyvenv.cfg").write_text(f"version = 3\nhome = {base}/bin\n")
    assert set(scratch.prefixes(virtual / "bin" / "python")) == {virtual, base}


@pytest.mark.parametrize(
    ("container", "volume", "message"),
    [
        (
            {"resources": {"limits": {"ephemeral-storage": "1Mi"}}},
            {},
            'Container main exceeded its local ephemeral storage limit "1Mi". ',
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/tmp"}]},
            {"sizeLimit": "1Mi"},
            'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
        ),
    ],
)
@needs_namespaces
async def test_a_pod_beyond_its_limit_of_the_disk_is_evicted(
    tmp_path: Path, container: Json, volume: Json, message: str
) -> None:
    async with cluster_in(tmp_path / "state", "netns", disk_seconds=0.05) as cluster:
        volumes = [{"name": "v", "emptyDir": volume}]
        within = await cluster.run("within", "sh", "-c", "sleep 0.2", container=container, volumes=volumes)
        assert within["phase"] == "Succeeded"
        fill = "head -c 2000000 /dev/urandom > /tmp/file; exec sleep 600"
        status = await cluster.run("beyond", "sh", "-c", fill, container=container, volumes=volumes)
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", message)
    assert ("DisruptionTarget", "TerminationByKubelet") in [(c["type"], c.get("reason")) for c in status["conditions"]]
