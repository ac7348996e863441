"""kubectl's `port-forward` and `local forward` reach programs in pods: `make e2e PROVIDER=local`."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from e2e.harness.local_up import LocalUp
from e2e.harness.operator import PROGRAM
from e2e.harness.startup import wait_until
from e2e.support import marks

pytestmark = marks.local  # pods must run

SCRIPT = "import pathlib; pathlib.Path('index.html').write_text('hello from ' + __import__('os').environ['HOSTNAME'])"
SERVER = f'python -c "{SCRIPT}" && exec python -m http.server --bind 127.0.0.1 6006'
CONNECT = "import socket; socket.create_connection(('127.0.0.1', 6006))"
CONTAINER = {
    "name": "main",
    "image": "none",
    "command": ["sh", "-c", SERVER],
    "workingDir": "/site",
    "volumeMounts": [{"name": "site", "mountPath": "/site"}],
    "ports": [{"name": "web", "containerPort": 6006}],
    "readinessProbe": {"exec": {"command": ["python", "-c", CONNECT]}, "periodSeconds": 1, "timeoutSeconds": 20},
}
OBJECTS = [
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "board", "labels": {"app": "board"}},
        "spec": {"containers": [CONTAINER], "volumes": [{"name": "site", "emptyDir": {}}]},
    },
    {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "board"},
        "spec": {"selector": {"app": "board"}, "ports": [{"port": 80, "targetPort": "web"}]},
    },
]


@pytest.fixture(scope="module", autouse=True)
def board(cluster_up: LocalUp) -> None:
    cluster_up.cluster.send("apply", *OBJECTS)
    cluster_up.cluster.run_kubectl("wait", "--for=condition=Ready", "pod/board")


@contextmanager
def forwarded(command: Sequence[str | Path], **environment: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run a command until its end; yields the port in the first line that it prints. It must end on Ctrl-C."""
    env = {**os.environ, **environment}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield int(line.partition("127.0.0.1:")[2].split()[0]), process
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        finally:
            process.kill()


def page(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/")
    return connection.getresponse().read().decode()


@pytest.mark.parametrize("target", ["pod/board", "service/board"])
@pytest.mark.parametrize("program", ["kubectl-1.30", "kubectl"])  # SPDY; SPDY within a WebSocket
def test_kubectl(cluster_up: LocalUp, program: str, target: str) -> None:
    ports = ":80" if target.startswith("service") else ":6006"
    with forwarded(cluster_up.kubectl("port-forward", target, ports, program=program)) as (port, process):
        assert [page(port) for _ in range(3)] == ["hello from board"] * 3
    assert process.returncode == 0


def test_kubectl_says_that_nothing_listens(cluster_up: LocalUp) -> None:
    for program in ("kubectl-1.30", "kubectl"):
        with forwarded(cluster_up.kubectl("port-forward", "board", ":81", program=program)) as (port, process):
            with pytest.raises(OSError):
                page(port)
            assert process.stdout is not None
            assert "nothing listens on port 81 of localhost in pod board" in process.stdout.read()


def test_local_forward(cluster_up: LocalUp, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/new && mv {tmp_path}/new {opened}\n')
    browser.chmod(0o755)
    local: list[str | Path] = [PROGRAM, "local", "forward", f"--kubeconfig={cluster_up.kubeconfig}"]
    with forwarded([*local, "--open", "board", ":6006"], BROWSER=f"{browser} %s") as (port, process):
        assert page(port) == "hello from board"
        wait_until(opened.exists, "the browser", [])
        assert opened.read_text() == f"http://127.0.0.1:{port}/\n"
    assert process.returncode == 130
    for arguments, said in (
        (["nosuch", "6006"], "there is no pod nosuch; there is: board"),
        (["board", "0"], "'0' is not a port from 1 to 65535"),
    ):
        done = subprocess.run([*local, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_it_ends_with_the_pod(cluster_up: LocalUp) -> None:
    local: list[str | Path] = [PROGRAM, "local", "forward", f"--kubeconfig={cluster_up.kubeconfig}", "board", ":6006"]
    with forwarded(local) as (port, process):
        cluster_up.cluster.run_kubectl("delete", "pod", "board", "--grace-period=1")
        with pytest.raises(OSError):
            page(port)
        assert process.stdout is not None
        assert process.stdout.read() == 'training-operator local: pods "board" not found\n'
    assert process.returncode == 1
