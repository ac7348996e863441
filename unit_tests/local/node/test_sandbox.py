"""What pods see of each other and of the machine."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import (
    CLIENT,
    NO_NAMESPACES,
    SERVER,
    Cluster,
    answer,
    cluster_in,
    needs_namespaces,
    parent,
    pod,
    processes_with,
    seconds,
    service,
)

from training_local.node import cgroups
from training_local.node.sandbox.client import Supervisor
from training_local.node.sandbox.messages import PodSpec, Setup


async def test_two_jobs_use_the_same_port_at_once(sandboxed: Cluster) -> None:
    api = sandboxed.api
    for job in ("red", "blue"):
        await api.create("services", service(f"{job}-master-0"))
        await api.create("pods", pod(f"{job}-master-0", "python", "-c", SERVER, job=job, container=answer(job)))
    for job in ("red", "blue"):
        await api.running(f"{job}-master-0")
        host = f"{job}-master-0.default.svc.cluster.local"
        await api.create("pods", pod(f"{job}-worker-0", "python", "-c", CLIENT, host, "23456", job=job))
    for job in ("red", "blue"):
        assert (await api.ended(f"{job}-worker-0"))["phase"] == "Succeeded"
        assert await sandboxed.log(f"{job}-worker-0") == f"{job}\n"
        assert (await api.ended(f"{job}-master-0"))["phase"] == "Succeeded"


@needs_namespaces
async def test_a_pod_may_be_removed_twice(tmp_path: Path) -> None:
    supervisor = await Supervisor.launch(Setup("netns", str(tmp_path), str(tmp_path), ()))
    try:
        async with asyncio.timeout(20):
            await supervisor.add_pod(PodSpec("one", "one", "10.244.0.9", 16, "/dev/null", 65536))
            await asyncio.gather(supervisor.remove_pod("one"), supervisor.remove_pod("one"))
            await supervisor.remove_pod("one")
        assert supervisor.alive
    finally:
        await supervisor.close()


async def test_jobs_do_not_see_each_other(sandboxed: Cluster) -> None:
    await sandboxed.api.create("services", service("red-master-0"))
    status = await sandboxed.start("red-master-0", "sleep", "60", job="red")
    script = "import socket; socket.create_connection((__import__('sys').argv[1], 23456), timeout=0.3)"
    stranger = await sandboxed.run("stranger", "python", "-c", script, status["podIP"], job="blue")
    assert stranger["phase"] == "Failed"
    assert (await sandboxed.run("unnamed", "getent", "hosts", "red-master-0", job="blue"))["phase"] == "Failed"


async def test_names_lead_to_ready_pods_only_unless_published_before(sandboxed: Cluster) -> None:
    api = sandboxed.api
    body = pod("starting", "sleep", "60", job="red")
    body["spec"]["initContainers"] = [{"name": "wait", "image": "none", "command": ["sleep", "60"]}]
    await api.create("services", service("later", "starting"))
    await api.create("services", service("at-once", "starting", publishNotReadyAddresses=True))
    await api.create("pods", body)
    await api.until(lambda: api.pod("starting").get("status", {}).get("podIP"))
    script = """
import socket
for name in ("at-once", "at-once.default", "at-once.default.svc", "at-once.default.svc.cluster.local", "later"):
    try:
        print(name, socket.getaddrinfo(name, None, socket.AF_INET)[0][4][0])
    except OSError:
        print(name, "unknown")
"""
    await sandboxed.run("asking", "python", "-c", script, job="red")
    address = api.pod("starting")["status"]["podIP"]
    assert (await sandboxed.log("asking")).splitlines() == [
        f"at-once {address}",
        f"at-once.default {address}",
        f"at-once.default.svc {address}",
        f"at-once.default.svc.cluster.local {address}",
        "later unknown",
    ]


async def test_a_running_pod_sees_a_name_appear_and_vanish(sandboxed: Cluster) -> None:
    api = sandboxed.api
    script = """
import socket, time
def known():
    try:
        return bool(socket.gethostbyname("peer"))
    except OSError:
        return False
for wanted in (True, False):
    while known() != wanted:
        time.sleep(0.02)
    print(wanted, flush=True)
"""
    await api.create("services", service("peer"))
    await sandboxed.start("watcher", "python", "-c", script, job="red")
    await api.create("pods", pod("peer", "sleep", "60", job="red"))
    await sandboxed.says("watcher", "True")
    await api.delete("peer", grace=0)
    assert (await api.ended("watcher"))["phase"] == "Succeeded"


async def test_the_waiting_loop_of_pytorch_workers(sandboxed: Cluster) -> None:
    loop = (
        "err=1; for i in $(seq 100); do if nslookup red-master-0; then err=0 && break; fi; "
        "echo waiting for master; sleep 2; done; exit $err"
    )
    api = sandboxed.api
    await api.create("services", service("red-master-0"))
    waiting = [{"name": "init-pytorch", "image": "alpine:3.10", "command": ["sh", "-c", loop]}]
    await api.create("pods", pod("red-worker-0", "true", job="red", initContainers=waiting))
    await api.until(lambda: api.phase("red-worker-0") == "Pending")
    await api.create("pods", pod("red-master-0", "sleep", "60", job="red"))
    assert (await api.ended("red-worker-0"))["phase"] == "Succeeded"
    assert "Name:\tred-master-0" in await sandboxed.log("red-worker-0", container="init-pytorch")


async def test_localhost_is_shared_in_a_pod_and_private_to_it(sandboxed: Cluster) -> None:
    with socket.create_server(("127.0.0.1", 0)) as machine:
        port = machine.getsockname()[1]
        script = f"import socket; socket.create_connection(('localhost', {port}), timeout=1)"
        assert (await sandboxed.run("outsider", "python", "-c", script))["phase"] == "Failed"
    body = pod("pair", "python", "-c", SERVER, container=answer("hi"))
    client = {"name": "client", "image": "none", "command": ["python", "-c", CLIENT, "localhost", "23456"]}
    body["spec"]["containers"].append(client)
    await sandboxed.api.create("pods", body)
    assert (await sandboxed.api.ended("pair"))["phase"] == "Succeeded"
    assert await sandboxed.log("pair", container="client") == "hi\n"


async def test_host_name_processes_and_user(sandboxed: Cluster) -> None:
    script = "hostname; echo $HOSTNAME; echo $$$$; ls /proc | grep -c '^[0-9]'; id -u"
    await sandboxed.run("me-0", "sh", "-c", script)
    host, variable, pid, processes, user = (await sandboxed.log("me-0")).split()
    assert (host, variable, pid, user) == ("me-0", "me-0", "1", str(os.geteuid()))
    assert int(processes) <= 4  # the shell, ls, grep and perhaps a fork of the shell


async def test_a_pod_can_neither_signal_nor_trace_processes_of_the_machine(sandboxed: Cluster) -> None:
    status = await sandboxed.run("hostile", "sh", "-c", f"kill -0 {os.getpid()}")
    assert status["phase"] == "Failed"
    attach = f"import ctypes; print(ctypes.CDLL(None).ptrace(16, {os.getpid()}, 0, 0))"
    await sandboxed.run("tracer", "python", "-c", attach)
    assert await sandboxed.log("tracer") == "-1\n"


async def test_a_pod_has_no_power_over_its_sandbox(sandboxed: Cluster) -> None:
    attempts = ("hostname other", "mount -t tmpfs none /mnt", "umount /proc")
    script = "grep NoNewPrivs /proc/self/status; " + "; ".join(f"{attempt} || echo no" for attempt in attempts)
    await sandboxed.run("meek", "sh", "-c", script)
    said = [line for line in (await sandboxed.log("meek")).splitlines() if line == "no" or "NoNewPrivs" in line]
    assert said == ["NoNewPrivs:\t1", "no", "no", "no"]


async def test_the_state_folder_is_hidden(sandboxed: Cluster) -> None:
    (sandboxed.state / "token").write_text("secret")
    await sandboxed.run("curious", "sh", "-c", f"ls {sandboxed.state}")
    assert await sandboxed.log("curious") == "bin\n"
    assert sandboxed.state.stat().st_mode & 0o777 == 0o700


async def test_devices_and_the_hosts_file_are_the_pod_s_own(sandboxed: Cluster) -> None:
    script = "ls /dev | grep -E '^(sd|nvme|vd|kmsg|mem)'; echo 10.0.0.1 mark >> /etc/hosts && grep -c mark /etc/hosts"
    await sandboxed.run("writer", "sh", "-c", script)
    assert await sandboxed.log("writer") == "1\n"
    assert (await sandboxed.run("reader", "grep", "mark", "/etc/hosts"))["phase"] == "Failed"


async def test_containers_share_processes_when_asked(sandboxed: Cluster) -> None:
    script = f"while ! pgrep -fx 'sleep {seconds(4242)}' > /dev/null; do :; done"
    body = pod("open", "sh", "-c", script, shareProcessNamespace=True)
    body["spec"]["containers"].append({"name": "other", "image": "none", "command": ["sleep", seconds(4242)]})
    await sandboxed.api.create("pods", body)

    def main_state() -> dict[str, Any]:
        return next((c["state"] for c in sandboxed.api.statuses("open")), {})

    ended = await sandboxed.api.until(lambda: main_state().get("terminated"))
    assert ended["exitCode"] == 0
    await sandboxed.api.remove("open", grace=0)


async def test_a_killed_supervisor_counts_as_137_and_the_pod_restarts(sandboxed: Cluster) -> None:
    api = sandboxed.api
    await sandboxed.start("phoenix", "sleep", seconds(4611), restartPolicy="OnFailure")
    # Below the supervisor, which is below the process that waits for it.
    (pid,) = processes_with(f"sleep {seconds(4611)}")
    os.kill(parent(str(parent(pid))), signal.SIGKILL)
    status = await api.until(
        lambda: (
            (s := api.pod("phoenix")["status"])["containerStatuses"][0]["restartCount"] == 1
            and "running" in s["containerStatuses"][0]["state"]
            and s
        )
    )
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137


async def test_64_pods_of_one_job(sandboxed: Cluster) -> None:
    names = [f"wide-{index}" for index in range(64)]
    for name in names:
        await sandboxed.api.create("services", service(name))
        await sandboxed.api.create("pods", pod(name, "sleep", "60", job="wide"))
    for name in names:
        await sandboxed.api.running(name)
    addresses = {sandboxed.api.pod(name)["status"]["podIP"] for name in names}
    assert len(addresses) == 64
    check = "for i in $(seq 0 63); do getent hosts wide-$i > /dev/null || exit 1; done"
    assert (await sandboxed.run("census", "sh", "-c", check, job="wide"))["phase"] == "Succeeded"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lend ids to pods")
async def test_root_of_a_pod_can_give_up_its_rights_for_ids_of_no_user_outside(
    sandboxed: Cluster, tmp_path: Path
) -> None:
    script = """
import os, sys
os.setgroups([5])
os.setresgid(6, 6, 6)
os.setresuid(7, 7, 7)
try:
    os.close(os.open(sys.argv[1], os.O_RDONLY))
except PermissionError:
    print(os.getresuid(), os.getresgid(), os.getgroups())
"""
    theirs = tmp_path / "theirs"
    theirs.touch(mode=0o600)
    os.chown(theirs, 7, 7)
    mount = {"volumeMounts": [{"name": "v", "mountPath": "/theirs"}]}
    volumes = [{"name": "v", "hostPath": {"path": str(theirs)}}]
    await sandboxed.run("daemon", "python", "-c", script, "/theirs", container=mount, volumes=volumes)
    assert await sandboxed.log("daemon") == "(7, 7, 7) (6, 6, 6) [5]\n"


KERNEL = "/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger /sys/kernel/uevent_helper"


async def test_settings_of_the_kernel_and_control_groups_can_only_be_read(sandboxed: Cluster) -> None:
    script = f"""
for file in {KERNEL} $(find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs -o -maxdepth 3 -name release_agent); do
  [ ! -e $file ] || (: >> $file) 2> /dev/null && [ -e $file ] && echo $file can be opened
done
mkdir /sys/fs/cgroup/*/mine 2> /dev/null && echo a group can be made
cat /proc/sys/kernel/core_pattern > /dev/null && echo read
"""
    await sandboxed.run("meddler", "sh", "-c", script)
    assert await sandboxed.log("meddler") == "read\n"


async def test_sockets_of_the_machine_are_hidden_also_below_host_paths(sandboxed: Cluster, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(agent))
        listener.listen()
        script = f"test -e {tmp_path} && for s in {agent} /there/agent; do test -S $s && echo $s; done; ls -A /run"
        mount = {"volumeMounts": [{"name": "v", "mountPath": "/there"}]}
        volumes = [{"name": "v", "hostPath": {"path": str(tmp_path)}}]
        await sandboxed.run("curious", "sh", "-c", script, container=mount, volumes=volumes)
        assert await sandboxed.log("curious") == ""
        asked = {"volumeMounts": [{"name": "v", "mountPath": "/agent"}]}
        volumes = [{"name": "v", "hostPath": {"path": str(agent), "type": "Socket"}}]
        status = await sandboxed.run("asking", "test", "-S", "/agent", container=asked, volumes=volumes)
        assert status["phase"] == "Succeeded"  # the owner of the machine has named it


def _was_recorded(cluster: Cluster, expected: str) -> bool:
    return expected in [message for *_, message in cluster.api.events]


@needs_namespaces
async def test_what_a_cluster_keeps_is_hidden_also_below_host_paths(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "logs").mkdir(parents=True)
    (data / "state.sqlite").write_text("secret")
    (data / "logs" / "log").write_text("secret")
    (data / "train.py").write_text("mine")
    private = [data / "state.sqlite", data / "logs"]
    async with cluster_in(tmp_path / "state", "netns", private=private, working_directory=tmp_path) as cluster:
        mount = {"volumeMounts": [{"name": "v", "mountPath": "/there"}]}
        volumes = [{"name": "v", "hostPath": {"path": str(tmp_path)}}]
        script = (
            f"for folder in {data} /there/data; do cat $folder/train.py $folder/state.sqlite; ls $folder/logs; done;"
            "ls /there/state"
        )
        await cluster.run("curious", "sh", "-c", script, container=mount, volumes=volumes)
        assert await cluster.log("curious") == "minemine"
        for number, path in enumerate((data / "logs", tmp_path / "state" / "work")):
            body = pod(f"asking-{number}", "true", volumes=[{"name": "v", "hostPath": {"path": str(path)}}])
            await cluster.api.create("pods", body)
            cause = f"hostPath {path} belongs to the cluster itself and is not visible to pods"
            expected = f"MountVolume.SetUp failed: volume 'v': {cause}"
            await cluster.api.until(partial(_was_recorded, cluster, expected))


async def test_a_fork_bomb_ends_at_a_limit(tmp_path: Path) -> None:
    with closing(cgroups.open_hierarchies("trial-of-tests")) as hierarchies:
        if NO_NAMESPACES or "pids" not in hierarchies.folders:
            pytest.skip("no control groups for processes here")
    script = """
import os, signal
count = 0
try:
    while count < 100_000:
        if not os.fork():
            signal.pause()
        count += 1
except BlockingIOError:
    print(count, flush=True)
"""
    async with cluster_in(tmp_path / "state", "netns", cluster="pids-of-tests") as cluster:
        await cluster.run("bomb", "python", "-S", "-c", script)
        assert 100 < int(await cluster.log("bomb")) < cgroups.most_processes()
