"""Clients of people execute programs in containers of the local cluster: `make e2e PROVIDER=local`."""

from __future__ import annotations

import os
import pty
import select
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e.harness.local_up import LocalUp
from e2e.support import marks
from kubernetes import client, config
from kubernetes.stream import stream
from kubernetes_asyncio import client as asyncio_client
from kubernetes_asyncio import config as asyncio_config
from kubernetes_asyncio.stream import WsApiClient

pytestmark = marks.local  # pods must run

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "box"},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "none",
                "command": ["sleep", "3600"],
                "env": [{"name": "GREETING", "value": "hello"}],
                "volumeMounts": [{"name": "work", "mountPath": "/data"}],
            }
        ],
        "volumes": [{"name": "work", "emptyDir": {}}],
    },
}


@pytest.fixture(scope="module", autouse=True)
def box(cluster_up: LocalUp) -> None:
    cluster_up.cluster.send("apply", POD)
    cluster_up.cluster.run_kubectl("wait", "--for=condition=Ready", "pod/box")


def run(command: list[str | Path], stdin: bytes = b"", check: bool = False) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=check)


def test_kubectl(cluster_up: LocalUp, tmp_path: Path) -> None:
    kubectl = cluster_up.kubectl
    done = run(kubectl("exec", "box", "--", "sh", "-c", "echo $GREETING $HOSTNAME; echo oops >&2; exit 3"))
    assert (done.returncode, done.stdout) == (3, b"hello box\n")
    assert done.stderr == b"oops\ncommand terminated with exit code 3\n"
    data = os.urandom(10 << 20)
    echoed = run(kubectl("exec", "-i", "box", "--", "cat"), stdin=data)
    assert (echoed.returncode, echoed.stdout == data) == (0, True)
    missing = run(kubectl("exec", "box", "--", "nosuch"))
    assert (missing.returncode, b'exec: "nosuch": executable file not found in $PATH' in missing.stderr) == (1, True)
    unknown = run(kubectl("exec", "box", "-c", "other", "--", "true"))
    assert (unknown.returncode, b"container other is not valid for pod box" in unknown.stderr) == (1, True)
    file = tmp_path / "file"
    file.write_bytes(data)
    run(kubectl("cp", str(file), "box:/tmp/file"), check=True)
    run(kubectl("cp", "box:/tmp/file", str(tmp_path / "back")), check=True)
    assert (tmp_path / "back").read_bytes() == data
    assert not Path("/tmp/file").exists()


def test_kubectl_in_a_terminal(cluster_up: LocalUp) -> None:
    ours, theirs = pty.openpty()
    command = cluster_up.kubectl("exec", "-it", "box", "--", "sh")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as process:
        os.close(theirs)
        try:
            os.write(ours, b"PS1='rea''dy>'\n")
            until(ours, b"ready>")
            os.write(ours, b"tty\n")
            until(ours, b"/dev/pts/0\r\nready>")
            os.write(ours, b"cat\nping\n")
            until(ours, b"ping\r\n", times=2)  # the terminal's echo, and what cat prints
            os.write(ours, b"\x03")
            until(ours, b"ready>")
            os.write(ours, b"echo code $?; exit 7\n")
            until(ours, b"code 130")
            assert process.wait(timeout=20) == 7
        finally:
            process.kill()
    os.close(ours)


def until(terminal: int, text: bytes, times: int = 1) -> None:
    seen = b""
    while seen.count(text) < times:
        ready, _, _ = select.select([terminal], [], [], 20)
        assert ready, seen
        seen += os.read(terminal, 4096)


def test_the_oldest_kubectl(cluster_up: LocalUp) -> None:
    done = run(cluster_up.kubectl("exec", "box", "--", "echo", "here", program="kubectl-1.30"))
    assert (done.returncode, done.stdout) == (0, b"here\n")


def test_the_official_client(cluster_up: LocalUp) -> None:
    configuration = client.Configuration()
    load: Any = config.load_kube_config  # has no annotations
    load(str(cluster_up.kubeconfig), client_configuration=configuration)
    with client.ApiClient(configuration) as connection:
        api = client.CoreV1Api(connection)
        wanted = {"stdout": True, "stderr": True, "tty": False}
        execute: Any = api.connect_get_namespaced_pod_exec  # its annotations say string for lists and flags
        command = ["sh", "-c", "echo $GREETING; echo oops >&2"]
        said = stream(execute, "box", "default", command=command, stdin=False, **wanted)
        assert sorted(said.splitlines()) == ["hello", "oops"]
        command, wanted["_preload_content"] = ["sh", "-c", "read line; echo got $line; exit 5"], False
        talk = stream(api.connect_post_namespaced_pod_exec, "box", "default", command=command, stdin=True, **wanted)
        talk.write_stdin("it\n")
        talk.run_forever(timeout=20)
        assert (talk.read_stdout(), talk.returncode) == ("got it\n", 5)


async def test_the_client_for_asyncio(cluster_up: LocalUp) -> None:
    configuration = asyncio_client.Configuration()
    await asyncio_config.load_kube_config(str(cluster_up.kubeconfig), client_configuration=configuration)
    async with WsApiClient(configuration) as connection:
        execute: Any = asyncio_client.CoreV1Api(connection).connect_get_namespaced_pod_exec
        wanted = {"stdin": False, "stdout": True, "stderr": True, "tty": False}
        assert await execute("box", "default", command=["hostname"], **wanted) == "box\n"
