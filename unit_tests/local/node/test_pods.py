"""Pods become processes, and their status says what became of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import Api, Cluster, exists, pod, processes_with, seconds

from training_local.node.api import Change, TransportApi
from training_local.node.context import NodeConfig
from training_local.node.node import Node


def condition(status: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in status["conditions"] if c["type"] == name)


async def test_a_pod_runs_and_succeeds(cluster: Cluster) -> None:
    status = await cluster.run("hello", "sh", "-c", "echo hello; echo oops >&2")
    assert status["phase"] == "Succeeded"
    assert status["startTime"]
    assert status["podIP"]
    assert status["hostIP"] == "127.0.0.1"
    (container,) = status["containerStatuses"]
    ended = container["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (0, "Completed")
    assert ended["startedAt"] <= ended["finishedAt"]
    assert (container["ready"], container["started"], container["restartCount"]) == (False, False, 0)
    assert condition(status, "Ready")["reason"] == "PodCompleted"
    assert condition(status, "PodScheduled")["status"] == "True"
    assert condition(status, "Initialized")["status"] == "True"
    assert sorted((await cluster.log("hello")).splitlines()) == ["hello", "oops"]


async def test_a_running_pod_is_ready(cluster: Cluster) -> None:
    status = await cluster.start("sleeper", "sleep", "60")
    (container,) = status["containerStatuses"]
    assert container["ready"]
    assert container["started"]
    assert "running" in container["state"]
    assert condition(status, "Ready")["status"] == condition(status, "ContainersReady")["status"] == "True"
    phases = [(p.get("status") or {}).get("phase") for p in cluster.api.history["sleeper"]]
    assert phases.index("Pending") < phases.index("Running")
    assert cluster.api.pod("sleeper")["spec"]["nodeName"] == "local"
    assert ("sleeper", "Normal", "Scheduled") in [event[:3] for event in cluster.api.events]


@pytest.mark.parametrize(
    ("script", "code", "signal"),
    [
        ("import sys; sys.exit(1)", 1, None),
        ("import ctypes; ctypes.string_at(0)", 139, 11),
        ("import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_DFL); sys.exit(143)", 143, None),
    ],
)
async def test_exit_codes(cluster: Cluster, script: str, code: int, signal: int | None) -> None:
    status = await cluster.run("dying", "python", "-c", script)
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert status["phase"] == "Failed"
    assert condition(status, "Ready")["reason"] == "PodFailed"
    assert (ended["exitCode"], ended.get("signal"), ended["reason"]) == (code, signal, "Error")


async def test_a_program_that_does_not_exist(cluster: Cluster) -> None:
    status = await cluster.run("absent", "no-such-program")
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "no-such-program" in ended["message"]


async def test_on_failure_restarts_until_success(cluster: Cluster) -> None:
    script = "test -e $MARK/second && exit 0; test -e $MARK/first && touch $MARK/second; touch $MARK/first; exit 7"
    volumes = {"volumes": [{"name": "mark", "hostPath": {"path": str(cluster.state.parent)}}]}
    container = {
        "env": [{"name": "MARK", "value": "/mark"}],
        "volumeMounts": [{"name": "mark", "mountPath": "/mark"}],
    }
    status = await cluster.run("again", "sh", "-c", script, restartPolicy="OnFailure", container=container, **volumes)
    assert status["phase"] == "Succeeded"
    (container_status,) = status["containerStatuses"]
    assert container_status["restartCount"] == 2
    assert container_status["lastState"]["terminated"]["exitCode"] == 7
    assert ("again", "Warning", "BackOff") in [event[:3] for event in cluster.api.events]
    states = [
        p["status"]["containerStatuses"][0]["state"] for p in cluster.api.history["again"] if "startTime" in p["status"]
    ]
    assert "CrashLoopBackOff" in [s["waiting"]["reason"] for s in states if "waiting" in s]


async def test_always_restarts_after_success(cluster: Cluster) -> None:
    await cluster.api.create("pods", pod("forever", "true", restartPolicy="Always"))
    await cluster.api.until(
        lambda: cluster.api.statuses("forever") and cluster.api.statuses("forever")[0]["restartCount"] > 1
    )
    assert cluster.api.phase("forever") == "Running"
    await cluster.api.remove("forever")


async def test_init_containers_run_in_order_before_the_others(cluster: Cluster) -> None:
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}], "image": "none"}
    inits = [
        {"name": "one", "command": ["sh", "-c", "echo one >> /shared/log"], **shared},
        {"name": "two", "command": ["sh", "-c", "echo two >> /shared/log"], **shared},
    ]
    status = await cluster.run(
        "staged",
        *("sh", "-c", "cat /shared/log"),
        container=shared,
        initContainers=inits,
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    assert status["phase"] == "Succeeded"
    assert await cluster.log("staged") == "one\ntwo\n"
    assert [c["state"]["terminated"]["exitCode"] for c in status["initContainerStatuses"]] == [0, 0]
    assert [c["ready"] for c in status["initContainerStatuses"]] == [True, True]


async def test_a_failed_init_container_fails_the_pod(cluster: Cluster) -> None:
    inits = [{"name": "check", "image": "none", "command": ["sh", "-c", "exit 3"]}]
    status = await cluster.run("unready", "true", initContainers=inits)
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["waiting"]["reason"] == "PodInitializing"
    assert condition(status, "Initialized")["reason"] == "ContainersNotInitialized"


async def test_a_failed_init_container_is_restarted(cluster: Cluster) -> None:
    script = "test -e /shared/seen || { touch /shared/seen; exit 1; }"
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    inits = [{"name": "check", "image": "none", "command": ["sh", "-c", script], **shared}]
    status = await cluster.run(
        "patient",
        "true",
        initContainers=inits,
        restartPolicy="OnFailure",
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    assert status["phase"] == "Succeeded"
    assert status["initContainerStatuses"][0]["restartCount"] == 1


async def test_a_sidecar_runs_along_and_ends_with_the_pod(cluster: Cluster) -> None:
    shared = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    script = "trap 'exit 0' TERM; touch /shared/up; while true; do sleep 0.02; done"
    sidecar = {"name": "side", "image": "none", "restartPolicy": "Always", "command": ["sh", "-c", script], **shared}
    status = await cluster.run(
        "accompanied",
        *("sh", "-c", "while ! test -e /shared/up; do sleep 0.02; done"),
        container=shared,
        initContainers=[sidecar],
        volumes=[{"name": "shared", "emptyDir": {}}],
    )
    assert status["phase"] == "Succeeded"
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


async def test_several_containers_of_a_pod(cluster: Cluster) -> None:
    body = pod("pair", "sh", "-c", "exit 0")
    body["spec"]["containers"].append({"name": "other", "image": "none", "command": ["sh", "-c", "exit 4"]})
    await cluster.api.create("pods", body)
    status = await cluster.api.ended("pair")
    assert status["phase"] == "Failed"
    assert [c["state"]["terminated"]["exitCode"] for c in status["containerStatuses"]] == [0, 4]


async def test_deletion_lets_a_process_end_itself(cluster: Cluster) -> None:
    script = "trap 'echo bye; exit 143' TERM; echo up; while true; do sleep 0.02; done"
    await cluster.start("polite", "sh", "-c", script, says="up")
    await cluster.api.remove("polite")
    assert "bye" in _files(cluster, "polite")
    last = cluster.api.history["polite"][-1]["status"]["containerStatuses"][0]["state"]
    assert last["terminated"]["exitCode"] == 143


async def test_deletion_kills_a_process_that_stays(cluster: Cluster) -> None:
    script = "trap '' TERM; echo up; while true; do sleep 0.02; done"
    await cluster.start("stubborn", "sh", "-c", script, says="up")
    await cluster.api.remove("stubborn", grace=1)
    last = cluster.api.history["stubborn"][-1]["status"]["containerStatuses"][0]["state"]
    assert (last["terminated"]["exitCode"], last["terminated"]["signal"]) == (137, 9)


async def test_a_pod_that_outlives_its_deadline_fails(cluster: Cluster) -> None:
    status = await cluster.run("slow", "sleep", "60", activeDeadlineSeconds=1, terminationGracePeriodSeconds=0)
    assert status["phase"] == "Failed"
    assert status["reason"] == "DeadlineExceeded"
    assert ("slow", "Normal", "DeadlineExceeded", status["message"]) in cluster.api.events


async def test_a_gated_pod_is_not_scheduled(cluster: Cluster) -> None:
    await cluster.api.create("pods", pod("gated", "true", schedulingGates=[{"name": "wait"}]))
    await cluster.run("after", "true")
    assert "nodeName" not in cluster.api.pod("gated")["spec"]


class WithBrokenPods(TransportApi):
    """An API server that has let pods through that no node can run."""

    async def follow(self, plural: Any) -> AsyncIterator[Change]:
        if plural == "pods":
            broken = pod("broken", "true")
            broken["spec"]["containers"] = "none"
            evil = pod("evil", "true", nodeName="local")
            evil["spec"]["containers"][0]["name"] = "../evil"
            for body in (broken, evil):
                body["metadata"] |= {"uid": "u", "namespace": "default"}
                yield Change(body)
        async for change in super().follow(plural):
            yield change


async def test_broken_pods_do_not_stop_the_node(tmp_path: Path) -> None:
    async with Api().serving() as api:
        node = Node(WithBrokenPods(api.transport, "local"), NodeConfig(tmp_path / "state", "host"))
        running = asyncio.create_task(node.run())
        assert (await Cluster(api, node, tmp_path).run("fine", "true"))["phase"] == "Succeeded"
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert not exists(tmp_path / "state" / "pods" / "evil")


def _files(cluster: Cluster, name: str) -> str:
    return "".join(path.read_text() for path in cluster.state.glob(f"pods/default_{name}_*/main/*.log"))


@pytest.mark.parametrize("stage", ["configuration", "init", "back-off", "hook", "probe"])
async def test_a_pod_deleted_before_it_runs_well_is_gone_at_once(cluster: Cluster, stage: str) -> None:
    asleep = seconds(4520)
    body = pod("early", "sh", "-c", "exit 1" if stage == "back-off" else f"sleep {asleep}", restartPolicy="Always")
    (main,) = body["spec"]["containers"]
    if stage == "configuration":
        main["env"] = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "a"}}}]
    if stage == "init":
        body["spec"]["initContainers"] = [{"name": "first", "image": "none", "command": ["sleep", asleep]}]
    if stage == "hook":
        main["lifecycle"] = {"postStart": {"exec": {"command": ["sleep", f"{asleep}1"]}}}
    if stage == "probe":
        main["startupProbe"] = {"exec": {"command": ["sleep", f"{asleep}1"]}, "timeoutSeconds": 60}
    await cluster.api.create("pods", body)
    reached: dict[str, Callable[[], object]] = {
        "configuration": lambda: _waits(cluster, "CreateContainerConfigError"),
        "back-off": lambda: _waits(cluster, "CrashLoopBackOff"),
        "init": lambda: processes_with(f"sleep {asleep}"),
        "hook": lambda: processes_with(f"sleep {asleep}1"),
        "probe": lambda: processes_with(f"sleep {asleep}1"),
    }
    while not reached[stage]():  # noqa: ASYNC110 - processes announce nothing
        await asyncio.sleep(0.01)
    await cluster.api.remove("early", grace=1)
    assert not processes_with(f"sleep {asleep}")


def _waits(cluster: Cluster, reason: str) -> bool:
    return any(state["state"].get("waiting", {}).get("reason") == reason for state in cluster.api.statuses("early"))
