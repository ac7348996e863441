"""Containers that overrun their memory are killed and say so, whoever enforces it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from e2e.support.local_node import NO_NAMESPACES, Cluster, cluster_in, stat

from training_local.node import cgroups
from training_local.node.cgroups import Group, Hierarchies, open_hierarchies, own_limits
from training_local.node.limits import BY_GROUPS, BY_MEMORY_GROUPS, BY_WATCHING, Limits
from training_local.node.machine import capacity
from training_local.node.podspec import Container, Resources
from training_local.node.processes import ProcessTable
from training_local.node.sandbox.client import Process

HERE = open_hierarchies(f"unit-test-{os.getpid()}")  # other workers do the same at this moment
HERE.close()
needs_groups = pytest.mark.skipif(not HERE.folders, reason="this machine permits no cgroups")
GREEDY = "import time; data = bytearray(200 << 20); time.sleep(60)"
FRUGAL = "import mmap; reserved = mmap.mmap(-1, 4 << 30); print('done')"
LIMIT = {"resources": {"limits": {"memory": "100Mi"}}}


@pytest.fixture(
    params=[
        pytest.param(("netns", True), marks=needs_groups, id="netns-groups"),
        pytest.param(("host", True), marks=needs_groups, id="host-groups"),
        pytest.param(("netns", False), id="netns-watched"),
        pytest.param(("host", False), id="host-watched"),
    ]
)
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    mode, groups = request.param
    if mode == "netns" and NO_NAMESPACES:
        pytest.skip(f"this machine denies the sandbox: {NO_NAMESPACES}")
    async with cluster_in(tmp_path / "state", mode, control_groups=groups, cluster=tmp_path.name) as running:
        yield running
    left = [folder for places in HERE.folders.values() for folder in places.parent.glob(f"*{tmp_path.name}")]
    assert not left, "control groups go with the node"


async def test_reserved_memory_does_not_count(cluster: Cluster) -> None:
    status = await cluster.run("frugal", "python3", "-c", FRUGAL, container=LIMIT)
    assert status["phase"] == "Succeeded"
    assert status["containerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


async def test_an_overrun_is_remembered_after_the_restart(cluster: Cluster) -> None:
    script = f"test -e /kept/mark && exit 0; touch /kept/mark; exec python3 -c '{GREEDY}'"
    container = LIMIT | {"volumeMounts": [{"name": "kept", "mountPath": "/kept"}]}
    again = {"restartPolicy": "OnFailure", "volumes": [{"name": "kept", "emptyDir": {}}]}
    status = await cluster.run("again", "sh", "-c", script, container=container, **again)
    (seen,) = status["containerStatuses"]
    ended = seen["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("OOMKilled", 137)
    assert (seen["restartCount"], seen["state"]["terminated"]["reason"]) == (1, "Completed")


def second_version(root: Path, own: str, delegated: dict[str, str]) -> Path:
    """A machine's /proc/self and control groups of version 2: group -> controllers that it hands on."""
    for group, controllers in delegated.items():
        (root / "cgroup" / group).mkdir(parents=True, exist_ok=True)
        (root / "cgroup" / group / "cgroup.subtree_control").write_text(controllers)
        (root / "cgroup" / group / "cgroup.procs").write_text("")
    proc = root / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(f"0::/{own}\n")
    (proc / "mountinfo").write_text(f"26 22 0:23 / {root}/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n")
    return proc


def test_the_nearest_delegated_group_is_used(tmp_path: Path) -> None:
    app = "user.slice/user@1.service/app.slice"
    handed = {"": "memory cpu", "user.slice": "memory cpu", app: "cpu memory pids", f"{app}/terminal.scope": ""}
    proc = second_version(tmp_path, f"{app}/terminal.scope", handed)
    places = cgroups._second_version(proc)  # the part that needs no kernel
    assert places == dict.fromkeys(("memory", "cpuacct", "cpu", "pids"), tmp_path / "cgroup" / app)


def test_nothing_delegated(tmp_path: Path) -> None:
    proc = second_version(tmp_path, "system.slice/one", {"": "", "system.slice": "cpu", "system.slice/one": ""})
    assert cgroups._second_version(proc) == {}
    assert open_hierarchies("x", proc) == Hierarchies()
    assert open_hierarchies("x", tmp_path / "absent") == Hierarchies()


def test_limits_and_readings_of_version_2(tmp_path: Path) -> None:
    files = {
        "memory.max": "max",
        "memory.swap.max": "max",
        "memory.oom.group": "0",
        "cpu.max": "max 100000",
        "memory.events": "low 0\noom 1\noom_kill 1\n",
        "memory.current": "5000\n",
        "memory.stat": "anon 1\ninactive_file 1000\n",
        "cpu.stat": "usage_usec 2500000\nuser_usec 1\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    group = Group(dict.fromkeys(("memory", "cpu", "cpuacct"), tmp_path))
    group.limit(memory=1 << 20, cpu=1500)
    written = {name: (tmp_path / name).read_text() for name in list(files)[:4]}
    assert written == {
        "memory.max": "1048576",
        "memory.swap.max": "0ax",  # the kernel's files are no real ones: they are not cut
        "memory.oom.group": "1",
        "cpu.max": "150000 100000",
    }
    assert group.ran_out()
    assert group.use() == (2.5, 4000)
    assert group.entrances == [str(tmp_path / "cgroup.procs")]


class Watched:
    """The part of a process that the watcher uses."""

    def __init__(self) -> None:
        self.exited = asyncio.get_running_loop().create_future()
        self.place = (10, 5)
        self.signals: list[int] = []

    def signal(self, number: int) -> None:
        self.signals.append(number)


@pytest.mark.parametrize(("limit", "signals"), [("40Ki", []), ("20Ki", [9])])
async def test_shared_pages_count_once(tmp_path: Path, limit: str, signals: list[int]) -> None:
    stat(tmp_path, 10, 1)
    stat(tmp_path, 11, 10)
    stat(tmp_path, 20, 11, pages=8, status="NSpid:\t20\t5\t1\n", smaps_rollup="Pss:  16 kB\n")
    stat(tmp_path, 21, 20, pages=8, smaps_rollup="Pss:  16 kB\n")
    limits, process = Limits(Hierarchies(), "netns"), Watched()
    container = Container("main", resources=Resources(limits={"memory": limit}))
    confinement = limits.confine("uid/main/0", container)
    confinement.process = cast(Process, process)
    limits.enforce(ProcessTable(tmp_path))
    assert process.signals == signals
    assert confinement.release() == bool(signals)


@pytest.mark.parametrize(
    ("controllers", "sentence"), [("memory cpu", BY_GROUPS), ("memory", BY_MEMORY_GROUPS), ("", BY_WATCHING)]
)
def test_the_way_is_said(tmp_path: Path, controllers: str, sentence: str) -> None:
    hierarchies = Hierarchies(dict.fromkeys(controllers.split(), tmp_path))
    assert Limits(hierarchies, "netns").sentence == sentence


def test_own_limits_of_version_2(tmp_path: Path) -> None:
    proc = second_version(tmp_path, "pod/container", {"": "memory", "pod": "memory", "pod/container": ""})
    assert own_limits(proc) == (None, None)
    (tmp_path / "cgroup/pod/memory.max").write_text("8589934592\n")
    (tmp_path / "cgroup/pod/cpu.max").write_text("max 100000\n")
    (tmp_path / "cgroup/pod/container/memory.max").write_text("max\n")
    (tmp_path / "cgroup/pod/container/cpu.max").write_text("250000 100000\n")
    assert own_limits(proc) == (8 << 30, 2500)


def test_own_limits_of_version_1(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text("2:cpu,cpuacct:/docker/x\n1:memory:/docker/x\n")
    mounts = (
        f"1 1 0:1 /docker/x {tmp_path}/{name} rw - cgroup cgroup rw,{name}\n" for name in ("cpu,cpuacct", "memory")
    )
    (proc / "mountinfo").write_text("".join(mounts))
    for name in ("cpu,cpuacct", "memory"):
        (tmp_path / name).mkdir()
    (tmp_path / "memory/memory.stat").write_text("cache 1\nhierarchical_memory_limit 1048576\n")
    (tmp_path / "cpu,cpuacct/cpu.cfs_quota_us").write_text("-1\n")
    (tmp_path / "cpu,cpuacct/cpu.cfs_period_us").write_text("100000\n")
    assert own_limits(proc) == (1 << 20, None)
    (tmp_path / "cpu,cpuacct/cpu.cfs_quota_us").write_text("150000\n")
    assert own_limits(proc) == (1 << 20, 1500)


def test_a_node_in_a_container_offers_what_the_container_has(tmp_path: Path) -> None:
    offered = capacity(tmp_path, 0, (1 << 30, 1))
    assert (offered["memory"], offered["cpu"]) == ("1048576Ki", "1m")
    assert "nvidia.com/gpu" not in offered


@needs_groups
async def test_limits_of_processors(tmp_path: Path) -> None:
    limit: dict[str, Any] = {"resources": {"limits": {"cpu": "250m"}}}
    show = 'cat "$HERE"/*/cpu.cfs_quota_us "$HERE"/*/cpu.max 2>/dev/null; true'
    async with cluster_in(tmp_path / "state", "host", cluster=tmp_path.name) as cluster:
        where = next(iter(HERE.folders.values())).parent if "cpu" not in HERE.folders else HERE.folders["cpu"].parent
        env = {"env": [{"name": "HERE", "value": str(where / f"training-operator-{tmp_path.name}")}]}
        await cluster.run("slow", "sh", "-c", show, container=limit | env)
        assert "25000" in await cluster.log("slow")
