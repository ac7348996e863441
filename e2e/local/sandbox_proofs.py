"""What the sandbox promises, tried on this machine: `python -m e2e.local.sandbox_proofs [NAME ...]`.

Prints a line per promise with what was seen, and ends with status 1 if one was not kept. It needs a machine on which
pods can be isolated; nobody's privileges are needed, so it is worth running as root and as somebody else.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from e2e.support.local_node import (
    CLIENT,
    DEFAULT,
    REFUSAL,
    SERVER,
    Cluster,
    Json,
    answer,
    cluster_in,
    entries,
    exists,
    parent,
    pod,
    processes_with,
    service,
)

from training_local.node.egress.mode import NetworkMode

SLEEPS = 10_000_000 + os.getpid()
"""Seconds that only pods of this program sleep: another may try the same at once."""
WIDE = 64
SAMPLES = 30

STARTED = "import time; print(time.time())"


async def same_port(cluster: Cluster) -> str:
    """Two jobs listen on the same port at once."""
    for job in ("red", "blue"):
        await cluster.api.create("services", service(f"{job}-master-0"))
        await cluster.api.create("pods", pod(f"{job}-master-0", "python", "-c", SERVER, job=job, container=answer(job)))
    for job in ("red", "blue"):
        await cluster.run(f"{job}-worker-0", "python", "-c", CLIENT, f"{job}-master-0", "23456", job=job)
        assert await cluster.log(f"{job}-worker-0") == f"{job}\n"
    return "each worker was answered by the master of its own job"


async def many_pods(cluster: Cluster) -> str:
    """64 pods of one job run at once and know each other's names."""
    names = [f"wide-{index}" for index in range(WIDE)]
    for name in names:
        await cluster.api.create("services", service(name))
    begun = time.perf_counter()
    for name in names:
        await cluster.api.create("pods", pod(name, "sleep", "600", job="wide"))
    for name in names:
        await cluster.api.running(name)
    seconds = time.perf_counter() - begun
    check = f"for i in $(seq 0 {WIDE - 1}); do getent hosts wide-$i > /dev/null || exit 1; done"
    assert (await cluster.run("census", "sh", "-c", check, job="wide"))["phase"] == "Succeeded"
    return f"all {WIDE} Running after {seconds:.2f} s"


async def start_overhead(cluster: Cluster) -> str:
    """A pod is started in under 20 ms beyond its own process."""
    rested, first = [], []
    for number in range(SAMPLES):
        # Jobs of a person: the node has made ready for the next one meanwhile, and the processor has cooled down.
        await asyncio.sleep(0.6)
        rested.append(await _plain_start())
        await asyncio.sleep(0.6)
        first.append(await _pod_start(cluster, f"alone-{number}", f"alone-{number}"))
    in_a_row = [await _pod_start(cluster, f"row-{number}", f"row-{number}") for number in range(SAMPLES)]
    plain = [await _plain_start() for _ in range(SAMPLES)]
    await cluster.api.create("pods", pod("companion", "sleep", "600", job="company"))
    await cluster.api.running("companion")
    further = [await _pod_start(cluster, f"further-{n}", "company") for n in range(SAMPLES)]
    beyond = {
        "first of a job": _beyond(first, rested),
        "further": _beyond(further, plain),
        "first of jobs in a row": _beyond(in_a_row, plain),
    }
    said = "; ".join(f"{what}: {_distribution(values)}" for what, values in beyond.items())
    assert all(statistics.median(beyond[what]) < 0.02 for what in ("first of a job", "further")), said
    return said


def _beyond(starts: list[float], plain: list[float]) -> list[float]:
    base = statistics.median(plain)
    return [start - base for start in starts]


async def _plain_start() -> float:
    begun, pipe = time.time(), asyncio.subprocess.PIPE
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}  # as pods have it
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", STARTED, stdout=pipe, env=environment)
    said, _ = await process.communicate()
    return float(said) - begun


async def _pod_start(cluster: Cluster, name: str, job: str) -> float:
    body = pod(name, "python", "-c", STARTED, job=job)
    begun = time.time()
    await cluster.api.create("pods", body)
    await cluster.api.ended(name)
    return float(await cluster.log(name)) - begun


def _distribution(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    parts = {
        "least": ordered[0],
        "median": ordered[len(ordered) // 2],
        "p95": ordered[int(len(ordered) * 0.95)],
        "most": ordered[-1],
    }
    return " ".join(f"{name} {value * 1000:.1f} ms" for name, value in parts.items())


async def names_resolve(cluster: Cluster) -> str:
    """Names resolve in every length; a misspelt one fails at once."""
    await cluster.api.create("services", service("peer"))
    await cluster.api.create("pods", pod("peer", "sleep", "600", job="red"))
    await cluster.api.running("peer")
    script = """
import socket, time
for name in ("peer", "peer.default", "peer.default.svc", "peer.default.svc.cluster.local"):
    print(socket.gethostbyname(name))
begun = time.perf_counter()
try:
    socket.gethostbyname("perr")
except OSError as error:
    print(time.perf_counter() - begun)
"""
    await cluster.run("asking", "python", "-c", script, job="red")
    *found, seconds = (await cluster.log("asking")).split()
    assert set(found) == {cluster.api.pod("peer")["status"]["podIP"]}
    assert float(seconds) < 1
    return f"4 forms of the name lead to the pod; the misspelt one failed after {float(seconds) * 1000:.1f} ms"


async def own_localhost_and_hostname(cluster: Cluster) -> str:
    """`localhost` is private to a pod, and its host name is its name."""
    await cluster.api.create("pods", pod("listener", "python", "-c", SERVER, job="red", container=answer("no")))
    await cluster.api.running("listener")
    await cluster.says("listener", "listening")
    script = "hostname; " + _refused("localhost", 23456)
    await cluster.run("visitor-0", "sh", "-c", script, job="red")
    assert (await cluster.log("visitor-0")).split() == ["visitor-0", "refused"]
    return "hostname visitor-0; a port of another pod's localhost was refused"


def _refused(host: str, port: int, then: str = "") -> str:
    code = f"import socket; socket.create_connection(('{host}', {port}), timeout=2){then}"
    return f'python -c "{code}" 2> /dev/null && echo connected || echo refused'


async def killed_worker(cluster: Cluster) -> str:
    """A worker killed from outside shows 137 and is started again as its policy says."""
    ends = {}
    for policy in ("Never", "OnFailure", "Always"):
        name = policy.lower()
        await cluster.api.create("pods", pod(name, "sleep", f"{SLEEPS}.{len(name)}", restartPolicy=policy))
        await cluster.api.running(name)
        (pid,) = processes_with(f"sleep {SLEEPS}.{len(name)}")
        os.kill(int(pid), signal.SIGKILL)
        await cluster.api.until(partial(_killed, cluster, name))
        ends[policy] = cluster.api.statuses(name)[0]["restartCount"]
    assert ends == {"Never": 0, "OnFailure": 1, "Always": 1}, ends
    return f"exit code 137; restarts {ends}"


def _killed(cluster: Cluster, name: str) -> bool:
    status = cluster.api.statuses(name)[0]
    ended = status["state"].get("terminated") or status["lastState"].get("terminated") or {}
    again = "running" in status["state"] or cluster.api.phase(name) == "Failed"
    return bool(ended.get("exitCode") == 137 and again)


async def processes_apart(cluster: Cluster) -> str:
    """A pod neither sees, signals nor traces processes of the machine or of other pods."""
    await cluster.api.create("pods", pod("victim", "sleep", f"{SLEEPS}", job="red"))
    await cluster.api.running("victim")
    (victim,) = processes_with(f"sleep {SLEEPS}")
    script = f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
seen = [pid for pid in os.listdir("/proc") if pid.isdigit()]
print(len(seen), "sleep" in "".join(open(f"/proc/{{pid}}/comm").read() for pid in seen))
for pid in ({os.getpid()}, {victim}, {os.getppid()}):
    try:
        os.kill(pid, 0)
        print("signalled")
    except ProcessLookupError:
        print("no such process")
    print(libc.ptrace(16, pid, 0, 0), os.strerror(ctypes.get_errno()))
"""
    await cluster.run("hostile", "python", "-c", script, job="red")
    lines = (await cluster.log("hostile")).splitlines()
    assert lines[0] == "1 False", lines
    assert set(lines[1:]) == {"no such process", "-1 No such process"}, lines
    return "it sees 1 process, its own; kill and ptrace of 3 others: no such process"


async def files_apart(cluster: Cluster) -> str:
    """The cluster's state is hidden; /dev, /dev/shm, /tmp and /etc/hosts are the pod's own; others are the user's."""
    await cluster.run("first", "true")
    secret = cluster.state / "kubeconfig"
    secret.write_text("token")
    hosts = _hosts()
    script = f"""
cat {secret} 2> /dev/null || echo hidden
ls /dev | wc -l
test -e /dev/sda -o -e /dev/kmsg -o -e /dev/mem && echo devices || echo none
echo x > /etc/hosts && grep -c x /etc/hosts
echo x > /dev/shm/proof && ls /dev/shm
echo x > /tmp/proof && echo x > /var/tmp/proof
test -w {Path.cwd()} && echo writable || echo readonly
"""
    await cluster.run("curious", "sh", "-c", script)
    said = (await cluster.log("curious")).split()
    assert said[0] == "hidden", said
    assert said[2] == "none", said
    assert not any(exists(f"{place}/proof") for place in ("/dev/shm", "/tmp", "/var/tmp"))
    assert _hosts() == hosts
    return f"state hidden; {said[1]} entries in /dev, no disks; the user's own files stay {said[-1]}, as decided"


def _hosts() -> str:
    return Path("/etc/hosts").read_text()


async def machine_protected(cluster: Cluster) -> str:
    """Settings of the kernel and control groups can only be read; nothing that listens on this machine is reached."""
    agent = cluster.state.parent / "agent"
    kernel = "/proc/sys/kernel/core_pattern /proc/sysrq-trigger $(find /sys/fs/cgroup -maxdepth 2 -name cgroup.procs)"
    script = f"""
for file in {kernel}; do [ ! -e $file ] || (: >> $file) 2> /dev/null && [ -e $file ] && echo $file; done
find /run /var/run/ {agent} -type s 2> /dev/null
echo tried
"""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(agent))
        listener.listen()
        await cluster.run("meddler", "sh", "-c", script)
    assert await cluster.log("meddler") == "tried\n", await cluster.log("meddler")
    return "core_pattern, sysrq-trigger and cgroup.procs are read-only; no socket of the machine was found"


async def api_unreachable(cluster: Cluster) -> str:
    """A pod cannot reach ports of the machine's loopback address, the API server's among them, nor cloud metadata."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        places = (
            _refused("127.0.0.1", port),
            _refused("10.244.0.254", port),
            _refused("169.254.169.254", 80, ".recv(1)"),
        )
        script = "; ".join(places)
        await cluster.run("caller", "sh", "-c", script)
    assert (await cluster.log("caller")).split() == ["refused"] * 3
    return "connections to the machine's loopback and to link-local addresses were refused"


async def no_traversal(cluster: Cluster) -> str:
    """Paths that lead out of volumes are refused, links that a pod has made among them."""
    await cluster.api.create("configmaps", {"metadata": {"name": "files"}, "data": {"a": "x"}})
    items = {"name": "files", "items": [{"key": "a", "path": "../../escape"}]}
    link: Json = {"name": "link", "image": "none", "command": ["ln", "-s", "/", "/data/out"]}
    link["volumeMounts"] = [{"name": "v", "mountPath": "/data"}]
    empty: Json = {"emptyDir": {}}
    seen = [
        await _refusal(cluster, "subpath", empty, {"mountPath": "/data", "subPath": "../../.."}),
        await _refusal(cluster, "item", {"configMap": items}, {"mountPath": "/data"}),
        await _refusal(cluster, "mountpath", empty, {"mountPath": "/data/../../etc"}),
        await _refusal(cluster, "hostpath", {"hostPath": {"path": "/tmp/../etc"}}, {"mountPath": "/data"}),
        await _refusal(cluster, "link", empty, {"mountPath": "/data", "subPath": "out/etc"}, initContainers=[link]),
    ]
    return "; ".join(seen)


async def _refusal(cluster: Cluster, name: str, volume: Json, mount: Json, **spec: Any) -> str:
    """How a pod with such a mount is refused: by the API server, or by the node."""
    container = {"volumeMounts": [{"name": "v", **mount}]}
    body = pod(name, "touch", "/data/escaped", container=container, volumes=[{"name": "v", **volume}], **spec)
    answer = await cluster.api.request("POST", f"{DEFAULT}/pods", _with_image(body), accepted=(422,))
    if answer.get("kind") == "Status":
        return f"{name}: {answer['code']}"

    def waiting() -> str:
        states = [status["state"].get("waiting", {}) for status in cluster.api.statuses(name)]
        return states[0].get("message", "") if states else ""

    return f"{name}: {await cluster.api.until(waiting)}"


def _with_image(body: Json) -> Json:
    for container in body["spec"]["containers"]:
        container["image"] = "none"
    return body


async def nothing_left(cluster: Cluster) -> str:
    """After the deletion of a job nothing of it is left."""
    before = _trace()
    for index in range(4):
        script = f"setsid sleep {SLEEPS} & sleep {SLEEPS}"
        await cluster.api.create("pods", pod(f"gone-{index}", "sh", "-c", script, job="gone"))
    for index in range(4):
        await cluster.api.running(f"gone-{index}")
    supervisors = len(_supervisors())
    for index in range(4):
        await cluster.api.delete(f"gone-{index}", grace=1)
    for index in range(4):
        await cluster.api.gone(f"gone-{index}")
    assert not processes_with(f"sleep {SLEEPS}")
    assert _trace() == before
    assert entries(cluster.state / "work") == []
    return f"processes, mounts, cards and files gone; supervisors {supervisors} before, {len(_supervisors())} after"


def _trace() -> tuple[str, int]:
    """Mounts and network cards of this machine, as far as this process can see."""
    return Path("/proc/mounts").read_text(), Path("/proc/net/dev").read_text().count("\n")


def _supervisors() -> list[str]:
    return [pid for pid in processes_with("supervisor.main()") if parent(pid) == os.getpid()]


PROOFS: tuple[Callable[[Cluster], Awaitable[str]], ...] = (
    same_port,
    many_pods,
    start_overhead,
    names_resolve,
    own_localhost_and_hostname,
    killed_worker,
    processes_apart,
    files_apart,
    machine_protected,
    api_unreachable,
    no_traversal,
    nothing_left,
)


async def prove(names: Sequence[str]) -> bool:
    """Try promises (none named: all), each on a node of its own; print what was seen, return whether all were kept."""
    kept = True
    for proof in [proof for proof in PROOFS if not names or proof.__name__ in names]:
        with tempfile.TemporaryDirectory(prefix="sandbox-proofs-") as folder:
            async with cluster_in(Path(folder, "state"), "netns", network=NetworkMode.CLUSTER) as cluster:
                try:
                    seen = await proof(cluster)
                    verdict = "kept"
                except AssertionError as error:
                    seen, verdict, kept = str(error), "BROKEN", False
        print(f"{verdict:6} {proof.__name__:28} {(proof.__doc__ or '').splitlines()[0]}\n{'':36}{seen}", flush=True)
    return kept


if __name__ == "__main__":
    if REFUSAL:
        sys.exit(f"pods cannot be isolated on this machine: {REFUSAL}")
    sys.exit(0 if asyncio.run(prove(sys.argv[1:])) else 1)
