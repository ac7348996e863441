"""What pods use is measured, and served by the resource metrics API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from e2e.support.local_node import Cluster, stat

from training_local.node.processes import ProcessTable
from training_local.node.sandbox.orphans import CONTAINER
from training_local.node.stats import Meter, Reading, Use, of_machine
from training_operator.kube.transport import Request

METRICS = "/apis/metrics.k8s.io/v1beta1"
GROW = """
import os, sys, time
data = bytearray(os.urandom(1)) * (64 << 20)
while os.times().user < 0.3:
    pass
if child := os.fork():
    print("grown", flush=True)
time.sleep(60)
"""


async def test_usage_of_a_running_pod(cluster: Cluster) -> None:
    cluster.api.server.attach_node(cluster.node)
    await cluster.start("idle", "sleep", "60")
    await cluster.start("hungry", "python3", "-c", GROW, says="grown")
    used = await cluster.api.request("GET", f"{METRICS}/namespaces/default/pods/hungry")
    (container,) = used["containers"]
    assert (used["kind"], used["metadata"]["labels"], container["name"]) == ("PodMetrics", {"pod": "hungry"}, "main")
    # The memory is shared by two processes and must count once.
    assert 64 << 10 <= int(container["usage"]["memory"].removesuffix("Ki")) < 120 << 10
    seconds = float(used["window"].removesuffix("s"))
    assert int(container["usage"]["cpu"].removesuffix("n")) / 1e9 * seconds > 0.25

    listed = await cluster.api.request("GET", f"{METRICS}/namespaces/default/pods")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["hungry", "idle"]
    assert listed["kind"] == "PodMetricsList"
    assert int(listed["items"][1]["containers"][0]["usage"]["memory"].removesuffix("Ki")) < 16 << 10
    assert await cluster.api.request("GET", f"{METRICS}/pods") == listed

    nodes = (await cluster.api.request("GET", f"{METRICS}/nodes"))["items"]
    assert [node["metadata"]["name"] for node in nodes] == ["local"]


async def test_an_ended_pod_has_no_usage(on_host: Cluster) -> None:
    on_host.api.server.attach_node(on_host.node)
    await on_host.run("short", "true")
    missing = await on_host.api.request("GET", f"{METRICS}/namespaces/default/pods/short", accepted=(404,))
    assert missing["message"] == 'podmetrics.metrics.k8s.io "default/short" not found'
    assert (await on_host.api.request("GET", f"{METRICS}/namespaces/default/pods"))["items"] == []


async def test_selectors_discovery_and_errors(on_host: Cluster) -> None:
    api = on_host.api
    assert (await api.transport.request(Request("GET", "/apis/metrics.k8s.io"))).status == 404
    api.server.attach_node(on_host.node)
    for name in ("a", "b"):
        await on_host.start(name, "sleep", "60")
    for query in ({"labelSelector": "pod=b"}, {"fieldSelector": "metadata.name=b"}):
        found = await api.request("GET", f"{METRICS}/namespaces/default/pods", query=query)
        assert [item["metadata"]["name"] for item in found["items"]] == ["b"]
    groups = await api.request("GET", "/apis")
    assert "metrics.k8s.io" in [group["name"] for group in groups["groups"]]
    resources = await api.request("GET", METRICS)
    assert [each["name"] for each in resources["resources"]] == ["nodes", "pods"]
    assert (await api.request("POST", f"{METRICS}/namespaces/default/pods", {}, accepted=(405,)))["code"] == 405


def test_rates_are_over_the_time_since_the_question_before() -> None:
    now, used, attempt = 100.0, 4.0, 0

    def read() -> Reading:
        return Reading(Use(0, 0, 1), {"uid": {"main": (attempt, Use(used, 7, age=8.0))}})

    meter = Meter(read, clock=lambda: now)

    def cores() -> Any:
        amounts = meter.measure().pods["uid"]["main"]
        return amounts.cores, amounts.window

    assert cores() == (0.5, 8.0)
    now, used = 100.5, 100.0
    assert cores() == (0.5, 8.0), "a fresh measurement is used again"
    now, used = 110.0, 24.0
    assert cores() == (2.0, 10.0)
    now, used, attempt = 120.0, 2.0, 1
    assert cores() == (0.25, 8.0), "a new attempt starts from its own beginning"


def test_processes_of_isolated_containers(tmp_path: Path) -> None:
    stat(tmp_path, 10, 1)
    stat(tmp_path, 11, 10)
    stat(tmp_path, 20, 11, ticks=100, pages=2, status="Name:\tx\nNSpid:\t20\t5\t1\n")
    stat(tmp_path, 21, 20, ticks=50, pages=1)
    stat(tmp_path, 30, 11, status="NSpid:\t30\t9\t1\n")
    table = ProcessTable(tmp_path)
    assert table.of_supervisor(10, "netns") == {5: [20, 21], 9: [30]}
    assert table.cpu_seconds([20, 21]) == 150 / os.sysconf("SC_CLK_TCK")
    assert table.memory_bytes([20, 21]) == 3 * os.sysconf("SC_PAGE_SIZE")


def test_a_long_line_of_descendants(tmp_path: Path) -> None:
    for pid in range(10, 3010):
        stat(tmp_path, pid, pid - 1)
    assert len([*ProcessTable(tmp_path).family(10)]) == 3000
    assert [*ProcessTable(tmp_path).family(9)] == []


def test_orphans_on_the_host_are_known_by_their_mark(tmp_path: Path) -> None:
    stat(tmp_path, 10, 1)
    for pid, mark in ((20, "one"), (30, "two"), (40, "one")):
        stat(tmp_path, pid, 10, environ=f"A=b\0{CONTAINER}={mark}\0")
    stat(tmp_path, 41, 40)
    assert ProcessTable(tmp_path).of_supervisor(10, "host") == {20: [20, 40, 41], 30: [30]}


def test_use_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  100 20 30 4000 50 6 7 8 0 0\ncpu0 1\n")
    (tmp_path / "uptime").write_text("12.5 3\n")
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemFree: 3 kB\nMemAvailable: 60 kB\n")
    assert of_machine(tmp_path) == Use(171 / os.sysconf("SC_CLK_TCK"), 40 << 10, 12.5)
    assert of_machine(tmp_path / "absent").memory_bytes == 0
