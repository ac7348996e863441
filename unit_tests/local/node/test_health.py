"""Probes, hooks, termination messages and the choice of a Python, with real processes."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import Cluster, pod, processes_with, seconds
from e2e.support.simulation.jobs import pytorch

from training_api.crd.build import build
from training_api.registry import KINDS
from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_local.node.api import TransportApi
from training_local.node.podspec import Metadata, OwnerReference
from training_operator.kube.transport import Request

Json = dict[str, Any]

QUICK = {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 1}
WEB = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open(f"asked{self.path}", "w").write(self.headers["User-Agent"])
        self.send_response(302 if self.path == "/moved" else 200 if self.path == "/well" else 500)
        self.send_header("Location", "/well")
        self.end_headers()
os.chdir(os.environ["TMPDIR"])
os.mkdir("asked")
http.server.HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
"""


def events(cluster: Cluster, name: str) -> list[tuple[str, str]]:
    return [(reason, message) for about, _, reason, message in cluster.api.events if about == name]


async def until_event(cluster: Cluster, name: str, reason: str) -> str:
    def found() -> str:
        return next((message for kind, message in events(cluster, name) if kind == reason), "")

    return str(await cluster.api.until(found, f"event {reason} of {name}"))


async def test_readiness_by_http_decides_condition_and_names(sandboxed: Cluster) -> None:
    web = {"env": [{"name": "PORT", "value": "8080"}], "ports": [{"name": "web", "containerPort": 8080}]}
    for name, path in (("well", "/moved"), ("ill", "/ill")):
        probe = {"httpGet": {"port": "web", "path": path}, **QUICK}
        await sandboxed.api.create("pods", pod(name, "python", "-c", WEB, container={**web, "readinessProbe": probe}))

    def ready(name: str) -> bool:
        conditions = sandboxed.api.pod(name).get("status", {}).get("conditions", [])
        return {c["type"]: c["status"] for c in conditions}.get("Ready") == "True"

    await sandboxed.api.until(lambda: ready("well"), "readiness")
    said = "Readiness probe failed: HTTP probe failed with statuscode: 500"
    await sandboxed.api.until(lambda: ("Unhealthy", said) in events(sandboxed, "ill"))
    assert not ready("ill")
    (status,) = sandboxed.api.statuses("ill")
    assert (status["ready"], status["started"], list(status["state"])) == (False, True, ["running"])


async def test_a_closed_port_and_a_silent_command_are_unhealthy(cluster: Cluster) -> None:
    closed = {"tcpSocket": {"port": 4999}, **QUICK}
    await cluster.api.create("pods", pod("closed", "sleep", "60", container={"readinessProbe": closed}))
    said = await until_event(cluster, "closed", "Unhealthy")
    address = cluster.api.pod("closed")["status"]["podIP"]
    assert said == f"Readiness probe failed: dial tcp {address}:4999: connect: connection refused"
    failing = {"exec": {"command": ["sh", "-c", "echo no $HOSTNAME; exit 1"]}, **QUICK}
    await cluster.api.create("pods", pod("failing", "sleep", "60", container={"readinessProbe": failing}))
    assert await until_event(cluster, "failing", "Unhealthy") == "Readiness probe failed: no failing"


async def test_a_container_that_fails_its_liveness_probe_is_killed_and_started_again(sandboxed: Cluster) -> None:
    probe = {"exec": {"command": ["test", "-e", "/dev/shm/alive"]}, "terminationGracePeriodSeconds": 30, **QUICK}
    script = (
        "trap 'exit 0' TERM; if [ $(ls /dev/shm) ]; then echo again; sleep 60; fi; touch /dev/shm/x; sleep 60 & wait"
    )
    changes = {"livenessProbe": probe}
    await sandboxed.api.create("pods", pod("weak", "sh", "-c", script, container=changes, restartPolicy="OnFailure"))
    message = await until_event(sandboxed, "weak", "Killing")
    assert message == "Container main failed liveness probe, will be restarted"

    def restarted() -> Json:
        return next((s for s in sandboxed.api.statuses("weak") if s["restartCount"] and "running" in s["state"]), {})

    status = await sandboxed.api.until(restarted)
    # Although it has ended well, as its policy would leave it.
    assert (status["lastState"]["terminated"]["exitCode"]) == 0
    assert status["containerID"].startswith("process://")
    assert status["containerID"] != status["lastState"]["terminated"]["containerID"]


async def test_without_restarts_a_failed_probe_fails_the_pod(on_host: Cluster) -> None:
    probe = {"exec": {"command": ["false"]}, **QUICK}
    status = await on_host.run("brief", "sleep", "60", container={"startupProbe": probe})
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert "Container main failed startup probe" in [message for _, message in events(on_host, "brief")]


async def test_hooks(cluster: Cluster) -> None:
    lifecycle = {
        "postStart": {"exec": {"command": ["sh", "-c", "echo $HOSTNAME > $TMPDIR/started"]}},
        "preStop": {
            "exec": {"command": ["sh", "-c", "touch $TMPDIR/stopping; while [ -e $TMPDIR/stopping ]; do :; done"]}
        },
    }
    script = "until [ -e $TMPDIR/stopping ]; do sleep 0.02; done; cat $TMPDIR/started; rm $TMPDIR/stopping; sleep 60"
    await cluster.start("hooked", "sh", "-c", script, container={"lifecycle": lifecycle})
    await cluster.api.delete("hooked", grace=20)
    await cluster.says("hooked", "hooked")
    await cluster.api.remove("hooked", grace=0)


async def test_a_failed_start_hook_ends_the_container(on_host: Cluster) -> None:
    hook = {"exec": {"command": ["sh", "-c", "echo broken; exit 1"]}}
    changes = {"lifecycle": {"postStart": hook}}
    status = await on_host.run("broken", "sleep", seconds(4911), container=changes)
    assert status["phase"] == "Failed"
    assert ("FailedPostStartHook", "PostStartHook failed: broken") in events(on_host, "broken")
    assert not processes_with(f"sleep {seconds(4911)}")
    running = [h for h in on_host.api.history["broken"] if h.get("status", {}).get("phase") == "Running"]
    assert not running


async def test_a_sidecar_with_a_startup_probe_holds_up_what_follows(on_host: Cluster) -> None:
    probe = {"exec": {"command": ["sh", "-c", "[ -e /shared/up ]"]}, **QUICK, "failureThreshold": 30}
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    side = {
        "name": "side",
        "image": "none",
        "restartPolicy": "Always",
        "command": ["sh", "-c", "touch /shared/up; exec sleep 60"],
        "startupProbe": probe,
        **shared,
    }
    both = {"initContainers": [side], "volumes": [{"name": "shared", "emptyDir": {}}]}
    status = await on_host.run("held", "sh", "-c", "[ -e /shared/up ]", container=shared, **both)
    assert status["phase"] == "Succeeded"


@pytest.mark.parametrize("policy", ["File", "FallbackToLogsOnError"])
async def test_last_words(cluster: Cluster, policy: str) -> None:
    async def said(name: str, script: str, **changes: Any) -> str:
        container = {"terminationMessagePolicy": policy, **changes}
        status = await cluster.run(name, "sh", "-c", script, container=container)
        return str(status["containerStatuses"][0]["state"]["terminated"].get("message", ""))

    assert await said("file", "echo printed; printf '%5000d' 0 > /dev/termination-log; exit 1") == " " * 4096
    assert await said("own", "echo here > /tmp/said", terminationMessagePath="/tmp/said") == "here\n"
    lines = "for i in $(seq 100); do echo $i; done; exit 1"
    from_log = await said("log", lines)
    expected = "".join(f"{i}\n" for i in range(21, 101)) if policy == "FallbackToLogsOnError" else ""
    assert from_log == expected
    assert await said("fine", "echo printed") == ""


async def test_a_pod_may_choose_its_python(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").touch()
    other = tmp_path / "bin/python"
    other.write_text(f'#!/bin/sh\necho other; exec {sys.executable} "$@"\n')
    other.chmod(0o755)

    def choosing(name: str, python: str) -> Json:
        body = pod(name, "python", "-c", "print('said')")
        body["metadata"]["annotations"] = {"training-operator.local/python": python}
        return body

    def waits(name: str, waiting: Json) -> bool:
        return [each["state"].get("waiting") for each in cluster.api.statuses(name)] == [waiting]

    for name, python in (("venv", str(tmp_path)), ("file", str(other))):
        await cluster.api.create("pods", choosing(name, python))
        await cluster.api.ended(name)
        assert await cluster.log(name) == "other\nsaid\n"
    for name, python, wrong in (
        ("missing", "/nowhere/python", "/nowhere/python: there is no such file"),
        ("empty", "/usr/lib", "/usr/lib: the folder is not a virtual environment: it has no bin/python"),
        ("relative", "python3", "python3: is not an absolute path"),
    ):
        await cluster.api.create("pods", choosing(name, python))
        reason = f"annotation training-operator.local/python: {wrong}"
        waiting = {"reason": "CreateContainerConfigError", "message": reason}
        await cluster.api.until(partial(waits, name, waiting))


async def test_a_job_may_choose_the_python_of_its_pods() -> None:
    server = ApiServer(BUILTIN, crd_types)
    transport = InMemoryTransport(server)
    job = pytorch("j", master=False)
    job["metadata"]["annotations"] = {"training-operator.local/python": "/venv"}
    async with server.running():
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        jobs = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
        for path, body in ((definitions, build(KINDS["PyTorchJob"])), (jobs, job)):
            answer = await transport.request(Request("POST", path, body=json.dumps(body).encode()))
            assert answer.status == 201, answer.body
        api = TransportApi(transport, "local")
        for name, expected in (("j", job["metadata"]["annotations"]), ("gone", {})):
            owner = OwnerReference("u", controller=True, api_version="kubeflow.org/v1", kind="PyTorchJob", name=name)
            found = await api.owner_annotations(Metadata("p", "default", "u", owner_references=(owner,)))
            assert found == expected
        assert await api.owner_annotations(Metadata("p", "default", "u")) == {}
