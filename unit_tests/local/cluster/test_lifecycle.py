"""Clusters in the background, side by side, killed and started again, as a user has them."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shlex
import signal
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from e2e.support.local_node import needs_namespaces
from e2e.support.warm import PROGRAM, Warm

from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.cli import local as group
from training_local.cluster.connection import access, connected
from training_local.cluster.kubeconfig_file import check_ours, placed
from training_local.cluster.registry import STATE_VARIABLE, ClusterRecord, claimed, running
from training_local.errors import BadInput
from training_operator.kube.transport import Request

MODES = [pytest.param("netns", marks=needs_namespaces), "host"]
NOBODY = 65534


@pytest.fixture
def state(state: Path) -> Iterator[Path]:
    yield state
    local("down", "--all")


def command(*arguments: str) -> list[str]:
    return [*PROGRAM, "local", *arguments]


def local(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(group, arguments)
    return done.exit_code, done.stdout, done.stderr


def detach(*arguments: str) -> tuple[int, str, str]:
    """Start a cluster in the background; only a process of its own can fork safely."""
    line = ["local", "up", "--detach", "--json", "--sandbox", "host", *arguments]
    with Warm(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def up(*arguments: str) -> dict[str, Any]:
    status, out, err = detach(*arguments)
    assert (status, err) == (0, "")
    description: dict[str, Any] = json.loads(out)
    return description


def kill(pid: int) -> None:
    """Kill a process and wait until it has gone."""
    watch = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([watch], [], [])
    os.close(watch)


def record(name: str = "default") -> ClusterRecord:
    return next(each for each in running() if each.name == name)


def ask(method: str, path: str, content: object = None) -> dict[str, Any]:
    return asyncio.run(_ask(record(), method, path, content))


async def _ask(cluster: ClusterRecord, method: str, path: str, content: object) -> dict[str, Any]:
    async with connected(access(cluster)) as api:
        body = None if content is None else json.dumps(content).encode()
        answer = await api.request(Request(method, path, body=body))
    assert answer.status < 300, answer.body
    reply: dict[str, Any] = json.loads(answer.body)
    return reply


def until(path: str, wanted: str) -> None:
    """Watch a job until it has a condition."""
    asyncio.run(_until(record(), path, wanted))


async def _until(cluster: ClusterRecord, path: str, wanted: str) -> None:
    collection, name = path.rsplit("/", 1)
    query = {"watch": "true", "fieldSelector": f"metadata.name={name}", "timeoutSeconds": "60"}
    async with connected(access(cluster)) as api, api.stream(Request("GET", collection, query)) as stream:
        async for line in stream.lines:
            conditions = json.loads(line)["object"].get("status", {}).get("conditions") or ()
            if any((each["type"], each["status"]) == (wanted, "True") for each in conditions):
                return
    raise AssertionError(f"{path} was never {wanted}")


def said_something(pod: str) -> None:
    """Wait until a running pod has printed a line, and its log has it."""
    asyncio.run(_said_something(record(), pod))


async def _said_something(cluster: ClusterRecord, pod: str) -> None:
    async with (
        connected(access(cluster)) as api,
        api.stream(Request("GET", f"{PODS}/{pod}/log", {"follow": "true"})) as log,
    ):
        async for _ in log.lines:
            return
    raise AssertionError(f"{pod} ended without a word")


def training(script: str, name: str = "little") -> dict[str, Any]:
    container = {"name": "pytorch", "image": "example.com/train:1", "command": ["python", "-u", "-c", script]}
    master = {"replicas": 1, "restartPolicy": "OnFailure", "template": {"spec": {"containers": [container]}}}
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": metadata,
        "spec": {"pytorchReplicaSpecs": {"Master": master}},
    }


JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PODS = "/api/v1/namespaces/default/pods"


def test_clusters_run_side_by_side_in_the_background(state: Path) -> None:
    assert local("status") == (0, "[]\n", "")
    first = up("--name", "a")
    assert os.getsid(first["pid"]) == first["pid"]
    start = shlex.join(command("up", "--detach", "--sandbox", "host", "--name", "b"))
    shell = ["sh", "-c", f'eval "$({start})"; echo "$KUBECONFIG"']
    second = subprocess.run(shell, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout
    assert second == f"{state}/clusters/b/kubeconfig\n"
    assert [each["name"] for each in json.loads(local("status")[1])] == ["a", "b"]
    shown = json.loads(local("status", "a")[1])
    none = {"running": 0, "pending": 0, "failed": 0, "succeeded": 0}
    assert {key: shown[key] for key in first} == first
    assert (shown["answers"], shown["sandbox"], shown["pods"], shown["jobs"]) == (True, "host", none, {})
    again = "training-operator local: a cluster a is already running; use --name for another one\n"
    assert detach("--name", "a") == (2, "", again)
    assert local("down")[0] == 2
    assert local("down", "a") == (0, "Ending a ...\nEnded a.\n", "")
    assert local("status", "a") == (1, "", "training-operator local: no cluster a is running; running: b\n")
    assert local("down") == (0, "Ending b ...\nEnded b.\n", "")
    assert local("down") == (0, "No cluster is running.\n", "")
    assert list(state.glob("clusters/[!.]*")) == []


def test_a_failed_start_in_the_background_says_why(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, out, err = detach("--port", port)
    assert (status, out) == (2, "")
    assert err.startswith(f"training-operator local: --port {port}: cannot listen on it: ")
    assert list(state.glob("clusters/[!.]*")) == []


def test_a_kubeconfig_of_another_program_stays(tmp_path: Path) -> None:
    ours, foreign = tmp_path / "ours", tmp_path / "foreign"
    write_kubeconfig(ours, "https://127.0.0.1:1", b"", "token")
    foreign.write_text("mine")
    with pytest.raises(BadInput, match=f"--kubeconfig {foreign}: exists and was not written by this program"):
        check_ours(foreign)
    copy = tmp_path / "copy"
    with placed(ours, copy):
        assert copy.stat().st_mode & 0o777 == 0o600
    assert not copy.exists()
    with placed(ours, copy):
        copy.write_text("another cluster's")
    assert copy.read_text() == "another cluster's"


def test_a_job_goes_on_where_it_was_when_its_cluster_was_killed(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # pods see the folder in which the cluster is started
    data, copy, killed, go, saved = (tmp_path / name for name in ("data", "copy", "killed", "go", "saved"))
    waiting = f"import os, time\nprint('up')\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)\nprint('done')"
    saving = (
        "import pathlib, signal, sys\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(saved)!r}).touch(), sys.exit(0)))\n"
        f"if pathlib.Path({str(killed)!r}).exists(): pathlib.Path({str(go)!r}).touch()\n"  # ready for the end
        "while True: signal.pause()"
    )
    victim = up("--data", str(data), "--kubeconfig", str(copy))
    assert victim["kubeconfig"] == str(copy)
    for name, script in (("little", waiting), ("saver", saving), ("old", waiting)):
        ask("POST", JOBS, training(script, name))
        until(f"{JOBS}/{name}", "Running")
    said_something("little-master-0")
    before = ask("GET", f"{PODS}/little-master-0")
    ask("DELETE", f"{JOBS}/old")
    kill(victim["pid"])
    killed.touch()
    up("--data", str(data))
    assert not copy.exists(), "it goes with its cluster"
    until(f"{JOBS}/little", "Succeeded")
    after = ask("GET", f"{PODS}/little-master-0")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 1
    assert local("down")[1].endswith(f"Ended default. Its objects are in {data}.\n")
    assert saved.exists(), "processes are asked to end before they are killed"
    assert "running" in stored_state(data, "saver-master-0"), "the next cluster must find it as if it had been killed"
    (logs,) = (data / "logs").glob("default_little-master-0_*/pytorch")
    assert "up" in (logs / "0.log").read_text()
    assert "done" in (logs / "1.log").read_text()


def stored_state(data: Path, pod: str) -> dict[str, Any]:
    with closing(sqlite3.connect(data / "state.sqlite")) as database:
        query = "SELECT json FROM objects WHERE plural = 'pods' AND name = ?"
        (text,) = database.execute(query, (pod,)).fetchone()
    state: dict[str, Any] = json.loads(text)["status"]["containerStatuses"][0]["state"]
    return state


@needs_namespaces
def test_pods_do_not_see_the_token(state: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = f"[p.name for p in pathlib.Path({str(state)!r}).rglob('*') if p.is_file()]"
    script = f"import pathlib; print({{'nslookup', 'kubeconfig', 'cluster.json', 'lock'}}.intersection({files}))"
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(training(script)))
    with pytest.raises(SystemExit) as ended:
        group.main(["run", "--sandbox", "netns", "--json", str(file)])
    assert not ended.value.code
    assert "{'nslookup'}" in capfd.readouterr().out  # what a pod needs of the folder is there, and nothing else


def test_a_second_interrupt_ends_at_once(state: Path) -> None:
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\nwhile True: signal.pause()"
    line = ["local", "up", "--sandbox", "host"]
    with Warm(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("export KUBECONFIG=")
        port = int(record().url.rpartition(":")[2])
        ask("POST", JOBS, training(deaf))
        until(f"{JOBS}/little", "Running")
        process.send_signal(signal.SIGINT)
        while listening(port):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 130
    assert (state / "clusters/default").exists()  # the first alone would have removed it
    with claimed("next"):
        assert not (state / "clusters/default").exists()


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to look with another user's eyes")
def test_other_users_can_read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # so that what is inside protects itself
        monkeypatch.setenv(STATE_VARIABLE, str(folder / "state"))
        up("--data", str(folder / "data"), "--kubeconfig", str(folder / "kubeconfig"))
        try:
            ask("POST", JOBS, training("print('up')\nimport time; time.sleep(600)"))
            until(f"{JOBS}/little", "Running")
            paths = [str(path) for path in folder.rglob("*")]
            expected = {"kubeconfig", "state.sqlite", "0.log", "cluster.json", "lock", "log"}
            assert expected <= {Path(path).name for path in paths}
            script = 'for path in "$@"; do test -r "$path" && echo "$path"; done; true'
            done = subprocess.run(
                ["sh", "-c", script, "sh", *paths], user=NOBODY, group=NOBODY, extra_groups=[],
                capture_output=True, text=True, check=True, cwd="/",
            )  # fmt: skip
            assert done.stdout == ""
            token = yaml.safe_load(record().kubeconfig.read_text())["users"][0]["user"]["token"].encode()
            assert not [text for text in shown_by_processes() if token in text]
            assert listening_addresses(record().pid) == {"0100007F"}  # 127.0.0.1
        finally:
            local("down", "--all")
        assert not (folder / "kubeconfig").exists()


def shown_by_processes() -> Iterator[bytes]:
    """Command lines and environments of all processes, as `ps` shows them."""
    for name in ("cmdline", "environ"):
        for file in Path("/proc").glob(f"[0-9]*/{name}"):
            with suppress(OSError):
                yield file.read_bytes()


def listening_addresses(pid: int) -> set[str]:
    """Where the TCP sockets of a process listen, as the kernel writes it."""
    own = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [row.split() for kind in ("tcp", "tcp6") for row in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()]
    return {row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}
