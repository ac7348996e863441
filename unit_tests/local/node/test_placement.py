"""Pods wait for resources until these are free; a GPU belongs to one pod."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import DEFAULT, Cluster, cluster_in, pod

from training_local.node import gpus
from training_local.node.podspec import parse_pod

NODE = "/api/v1/nodes/local"


@pytest.fixture
async def with_gpus(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_in(tmp_path / "state", "host", gpus=2, labels={"kind": "test"}) as cluster:
        yield cluster


def wanting(count: int) -> dict[str, Any]:
    return {"resources": {"limits": {"nvidia.com/gpu": str(count)}}}


SHOW = ("sh", "-c", 'echo "[$CUDA_VISIBLE_DEVICES]"; sleep 60')


def scheduled(cluster: Cluster, name: str) -> dict[str, Any]:
    conditions = cluster.api.pod(name).get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "PodScheduled"), {})


async def test_a_pod_waits_for_gpus_until_they_are_freed(with_gpus: Cluster) -> None:
    api = with_gpus.api
    await with_gpus.start("first", *SHOW, container=wanting(2))
    await api.create("pods", pod("second", *SHOW, container=wanting(1)))
    await api.create("pods", pod("without", "sh", "-c", 'echo "[${CUDA_VISIBLE_DEVICES-unset}]"'))
    await api.ended("without")
    await api.until(lambda: scheduled(with_gpus, "second"))
    message = (
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. no new claims to deallocate, preemption: "
        "0/1 nodes are available: 1 No preemption victims found for incoming pod."
    )
    condition = scheduled(with_gpus, "second")
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Unschedulable", message)
    await api.until(lambda: ("second", "Warning", "FailedScheduling", message) in api.events)
    await api.delete("first", grace=0)
    await api.running("second")
    assert scheduled(with_gpus, "second")["status"] == "True"
    await with_gpus.says("second", "[0]")
    assert await with_gpus.log("without") == "[]\n"


async def test_gpus_are_free_before_the_end_is_known(with_gpus: Cluster) -> None:
    api = with_gpus.api
    for name in "abcdef":
        await api.create("pods", pod(name, "true", container=wanting(2)))
    for name in "abcdef":
        assert (await api.ended(name))["phase"] == "Succeeded"
    assert not [event for event in api.events if event[2] == "FailedCreatePodSandBox"]


async def test_an_unschedulable_pod_is_reported_once(with_gpus: Cluster) -> None:
    api = with_gpus.api
    await api.create("pods", pod("large", "true", container=wanting(3)))
    for name in ("one", "two"):
        await with_gpus.run(name, "true")
    events = (await api.request("GET", f"{DEFAULT}/events"))["items"]
    reported = [event for event in events if event["reason"] == "FailedScheduling"]
    assert [(event["involvedObject"]["name"], event["count"]) for event in reported] == [("large", 1)]


async def test_without_its_node_object_nothing_is_placed(with_gpus: Cluster) -> None:
    api = with_gpus.api
    await with_gpus.run("first", "true")
    node = await api.request("GET", NODE)
    await api.request("DELETE", NODE)
    await api.create("pods", pod("lost", "true"))
    said = "no nodes available to schedule pods"
    await api.until(lambda: ("lost", "Warning", "FailedScheduling", said) in api.events)
    for field in ("resourceVersion", "uid"):
        node["metadata"].pop(field)
    await api.request("POST", "/api/v1/nodes", node)
    await api.ended("lost")


async def test_restarts_keep_the_gpu(with_gpus: Cluster) -> None:
    await with_gpus.start("other", *SHOW, container=wanting(1))
    script = 'echo "$CUDA_VISIBLE_DEVICES" >> /kept/seen; test $(wc -l < /kept/seen) = 3'
    where = {"volumeMounts": [{"name": "kept", "mountPath": "/kept"}]}
    again: dict[str, Any] = {
        "restartPolicy": "OnFailure",
        "volumes": [{"name": "kept", "hostPath": {"path": str(with_gpus.state.parent)}}],
    }
    await with_gpus.run("again", "sh", "-c", script, container=wanting(1) | where, **again)
    assert (with_gpus.state.parent / "seen").read_text().split() == ["1", "1", "1"]
    await with_gpus.start("next", *SHOW, container=wanting(1), says="[1]")


async def test_the_node_says_what_it_has_and_listens(with_gpus: Cluster) -> None:
    api = with_gpus.api
    await with_gpus.run("fits", "true", nodeSelector={"kind": "test"})
    node = await api.request("GET", NODE)
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "2"
    assert node["status"]["capacity"]["memory"].endswith("Ki")
    stored = {**node, "spec": {"unschedulable": True}}
    await api.request("PUT", NODE, stored)
    await api.create("pods", pod("cordoned", "true"))
    await api.until(lambda: "unschedulable" in scheduled(with_gpus, "cordoned").get("message", ""))
    node = await api.request("GET", NODE)
    await api.request("PUT", NODE, {**node, "spec": {}})
    await api.ended("cordoned")


def machine_with(root: Path, *, driver: int = 0, devices: int = 0) -> Path:
    for index in range(driver):
        (root / f"proc/driver/nvidia/gpus/0000:{index:02}:00.0").mkdir(parents=True)
    (root / "dev").mkdir()
    for name in ("nvidiactl", "nvidia-uvm", *(f"nvidia{index}" for index in range(devices))):
        (root / "dev" / name).touch()
    return root


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({}, ("0", "1", "2")),
        ({"CUDA_VISIBLE_DEVICES": "2,0"}, ("2", "0")),
        ({"CUDA_VISIBLE_DEVICES": "1,-1,0"}, ("1",)),
        ({"CUDA_VISIBLE_DEVICES": "1, 7"}, ("1",)),
        ({"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, ("GPU-8932f937",)),
        ({"CUDA_VISIBLE_DEVICES": ""}, ()),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, ("0", "1", "2")),
        ({"NVIDIA_VISIBLE_DEVICES": "void"}, ()),
    ],
)
def test_gpus_of_the_machine(tmp_path: Path, environment: dict[str, str], seen: tuple[str, ...]) -> None:
    assert gpus.detect(environment, machine_with(tmp_path, driver=3)) == seen


def test_gpus_are_found_by_device_files_where_the_driver_lists_none(tmp_path: Path) -> None:
    assert gpus.detect({}, machine_with(tmp_path, devices=2)) == ("0", "1")
    assert gpus.detect({"CUDA_VISIBLE_DEVICES": "0"}, tmp_path / "absent") == ()


def test_containers_share_the_gpus_of_their_pod() -> None:
    def container(name: str, count: int, **more: Any) -> dict[str, Any]:
        return {"name": name, **wanting(count), **more}

    init = [container("init", 3), container("sidecar", 1, restartPolicy="Always")]
    spec = {"initContainers": init, "containers": [container("a", 2), container("b", 0)]}
    parsed = parse_pod({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec})
    shares = gpus.shares(parsed, ["4", "5", "6"])
    assert shares == {"init": ["4", "5", "6"], "sidecar": ["4"], "a": ["5", "6"], "b": []}


def test_the_pool_gives_each_gpu_once() -> None:
    pool = gpus.GpuPool(["0", "1", "2"])
    assert (pool.take("a", 2), pool.take("b", 1), pool.take("a", 2)) == (["0", "1"], ["2"], ["0", "1"])
    with pytest.raises(gpus.GpuError, match="only 0 of 3"):
        pool.take("c", 1)
    pool.free("a")
    assert pool.take("c", 1) == ["0"]


@pytest.mark.parametrize(("asked", "seen"), [(None, "4,5"), ("1", "5"), ("1,0", "5,4"), ("", ""), ("0,7", "4")])
def test_a_containers_own_choice_is_among_its_own(asked: str | None, seen: str) -> None:
    assert gpus.visible(["4", "5"], asked) == seen
