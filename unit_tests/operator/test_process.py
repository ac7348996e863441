"""The operator as a process: signals, exit status, and what it says when it cannot start."""

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from e2e.support.warm import Warm
from unit_tests.operator.certificates import authority
from unit_tests.operator.peer import Handler, Peer, serving

ANY_PORT = ("--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")


async def empty_cluster(request: web.Request) -> web.StreamResponse:
    """Answer as an API server without our CRDs and without any object."""
    if request.path == "/version":
        return web.json_response({"major": "1"})
    if "kubeflow.org" in request.path or "/deployments/" in request.path:
        return web.json_response({"kind": "Status", "reason": "NotFound", "message": "not found"}, status=404)
    response = web.StreamResponse()
    await response.prepare(request)
    end = {"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}}
    await response.write(json.dumps({"type": "BOOKMARK", "object": {"metadata": end}}).encode() + b"\n")
    await asyncio.Event().wait()
    return response


async def rejecting(_: web.Request) -> web.StreamResponse:
    return web.json_response({"kind": "Status", "message": "Unauthorized"}, status=401)


def kubeconfig(folder: Path, server: str) -> str:
    ca = base64.b64encode(authority().pem.encode()).decode()
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": ca}}],
        "users": [{"name": "u", "user": {"token": "secret-token"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return str(path)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "KUBEFLOW_NAMESPACE")}


@asynccontextmanager
async def operator(*flags: str) -> AsyncIterator[Warm]:
    with await to_thread(Warm, flags, stdout=PIPE, stderr=PIPE, env=environment()) as process:
        try:
            yield process
        finally:
            process.kill()


@asynccontextmanager
async def cluster(folder: Path, handler: Handler = empty_cluster) -> AsyncIterator[tuple[Peer, str]]:
    async with serving(handler, folder) as peer:
        yield peer, kubeconfig(folder, peer.url)


async def logged(process: Warm, event: str) -> list[dict[str, Any]]:
    """Read the log up to the line with `event`."""
    assert process.stderr is not None
    lines = list[dict[str, Any]]()
    async with asyncio.timeout(30):
        while line := await to_thread(process.stderr.readline):
            lines.append(json.loads(line))
            if lines[-1]["event"] == event:
                return lines
    raise AssertionError(f"{event!r} was never logged: {lines}")


async def text_of(*flags: str) -> tuple[int, str]:
    """Start it, wait for its end, and return its exit status and what it has logged."""

    def run() -> tuple[int, str]:
        with Warm(flags, stdout=PIPE, stderr=PIPE, env=environment()) as process:
            _, errors = process.communicate(timeout=30)
        return process.returncode, errors

    return await to_thread(run)


async def until_ready(port: int) -> None:
    async with aiohttp.ClientSession() as session, asyncio.timeout(30):
        while True:
            async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
                if answer.status == 200:
                    return


async def beside_another(request: web.Request) -> web.StreamResponse:
    """Answer as an API server in whose cluster the Go operator runs."""
    if "/deployments/" in request.path:
        return web.json_response({"spec": {"replicas": 1}})
    return await empty_cluster(request)


@pytest.mark.shows("K-51")
async def test_a_signal_ends_it_in_good_order(tmp_path: Path, unused_tcp_port: int) -> None:
    """Also where it only starts because it is forced to."""
    async with cluster(tmp_path, beside_another) as (peer, config):
        probes = f"--health-probe-bind-address=127.0.0.1:{unused_tcp_port}"
        flags = ("--kubeconfig", config, "--force", probes, "--metrics-bind-address=0", "--webhook-server-port=9443")
        async with operator(*flags) as process:
            lines = await logged(process, "the API server does not have this resource yet: waiting for it")
            await until_ready(unused_tcp_port)
            process.terminate()
            async with asyncio.timeout(10):
                await logged(process, "stopped")
                assert await to_thread(process.wait, 10) == 0
        starting = next(line for line in lines if line["event"] == "starting")
        assert starting["server"] == peer.url
        assert "secret-token" not in json.dumps(lines)
        assert lines[0]["flags"] == ["--webhook-server-port"]
        assert {request.headers["Authorization"] for request in peer.requests} == {"Bearer secret-token"}


async def test_beside_another_operator_it_does_not_start(tmp_path: Path) -> None:
    async with cluster(tmp_path, beside_another) as (_, config):
        status, errors = await text_of("--kubeconfig", config, *ANY_PORT)
    assert status == 2
    assert "another operator runs in this cluster: Deployment kubeflow/training-operator" in errors


async def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    leading, releasing = asyncio.Event(), asyncio.Event()
    lease: dict[str, Any] = {
        "metadata": {"name": "l", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {},
    }

    async def lease_that_cannot_be_released(request: web.Request) -> web.StreamResponse:
        if "/leases" not in request.path:
            return await empty_cluster(request)
        if request.method == "PUT":
            lease["spec"] = (await request.json())["spec"]
            leading.set()
            if lease["spec"]["holderIdentity"] == "":
                releasing.set()
                await asyncio.Event().wait()
        return web.json_response(lease)

    async with (
        cluster(tmp_path, lease_that_cannot_be_released) as (_, config),
        operator("run", f"--kubeconfig={config}", *ANY_PORT, "--leader-elect") as process,
    ):
        await asyncio.wait_for(leading.wait(), 30)
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(releasing.wait(), 30)
        process.terminate()
        assert await to_thread(process.wait, 10) == 1


async def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    async with cluster(tmp_path) as (peer, config):
        taken = f"127.0.0.1:{peer.port}"
        status, errors = await text_of("run", "--kubeconfig", config, *ANY_PORT, "--metrics-bind-address", taken)
    assert status == 2
    last = errors.splitlines()[-1]
    assert last.startswith(f"training-operator: --metrics-bind-address: cannot listen on {taken}: ")
    assert "Traceback" not in errors


async def test_rejected_credentials_are_one_sentence(tmp_path: Path) -> None:
    async with cluster(tmp_path, rejecting) as (peer, config):
        status, errors = await text_of("run", "--kubeconfig", config, *ANY_PORT)
    assert status == 2
    assert errors.splitlines()[-1] == (
        f"training-operator: the API server {peer.url} does not accept the credentials of kubeconfig {config}: "
        "they are wrong or have expired"
    )


async def test_a_kubeconfig_that_points_nowhere_is_one_sentence(tmp_path: Path, unused_tcp_port: int) -> None:
    config = kubeconfig(tmp_path, f"https://127.0.0.1:{unused_tcp_port}")
    status, errors = await text_of("run", "--kubeconfig", config, *ANY_PORT)
    assert status == 2
    assert f"no API server can be reached at https://127.0.0.1:{unused_tcp_port}" in errors.splitlines()[-1]
    assert "Traceback" not in errors


async def test_a_missing_kubeconfig_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert await text_of("run", f"-kubeconfig={path}", *ANY_PORT) == (
        2,
        f"training-operator: kubeconfig {path} cannot be used: there is no such file\n",
    )


def test_the_operator_does_not_import_what_takes_much_memory() -> None:
    program = "import sys, training_operator.run_command, training_operator.serve; print(*sys.modules)"
    imported = {*subprocess.check_output([sys.executable, "-c", program], text=True).split()}
    assert "httptools" in imported
    assert not {"aiohttp", "kubernetes_asyncio", "cryptography"} & imported
