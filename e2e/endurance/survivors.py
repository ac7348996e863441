"""Kill clusters at random moments and show that nothing of them is left: `python -m e2e.endurance.survivors --help`.

Every cluster and every container carries a word in its environment by which this program finds their processes,
whatever has become of parents, sessions and process-id namespaces. Before and after are compared: processes,
namespaces, mounts, network interfaces, control groups, files.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from training_local.cluster.cleanup import GROUPS
from training_local.cluster.connection import access, connected
from training_local.cluster.registry import STATE_VARIABLE, ClusterRecord, claimed, find
from training_local.node.cgroups import PREFIX
from training_local.node.sandbox.orphans import CLUSTER, CONTAINER
from training_operator.kube.transport import Request

WORD: Final = "SURVIVORS"
KINDS: Final = ("net", "mnt", "pid", "ipc", "uts", "user")
START_SECONDS: Final = 60.0
KERNEL_SECONDS: Final = 5.0
"""The kernel ends the processes of a namespace after its first one has ended, which takes time."""
JOBS: Final = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs"

# Forks twice into a session of its own, by itself and by an executed program, deaf to everything but SIGKILL.
STUBBORN: Final = """
import os, signal, subprocess, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
subprocess.Popen(["setsid", "sleep", "3600"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("/scratch/daemon", "w").close() if os.path.isdir("/scratch") else None
    while True:
        time.sleep(3600)
print("up", flush=True)
while True:
    time.sleep(3600)
"""


def job(word: str, name: str = "stubborn") -> dict[str, Any]:
    """Return a job of two pods, each with a sidecar, a second container and a volume in memory."""

    def container(of: str) -> dict[str, Any]:
        return {
            "name": of,
            "image": "example.com/any:1",
            "command": ["python", "-c", STUBBORN],
            "env": [{"name": WORD, "value": word}, {"name": "SCRATCH", "value": "/scratch"}],  # named for host mode
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        }

    pod = {
        "terminationGracePeriodSeconds": 1,
        "initContainers": [{**container("sidecar"), "restartPolicy": "Always"}],
        "containers": [container("jax"), container("second")],
        "volumes": [{"name": "scratch", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
    }
    worker = {"replicas": 2, "restartPolicy": "OnFailure", "template": {"spec": pod}}
    metadata = {"name": name, "namespace": "default"}
    spec = {"jaxReplicaSpecs": {"Worker": worker}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "metadata": metadata, "spec": spec}


PROCESSES_OF_JOB: Final = 2 * 3 * 4
"""Pods, containers, processes of each: the first, its child in a session, its grandchild, the sleep."""


@dataclass(frozen=True)
class Machine:
    """What a cluster could leave on the machine outside of its own folders, and those."""

    mounts: frozenset[str]
    interfaces: frozenset[str]
    files: frozenset[str]

    @classmethod
    def now(cls, *folders: Path) -> Machine:
        found = [str(path) for folder in folders for path in folder.rglob("*") if path.name != ".lock"]
        mounts = [line.split(maxsplit=1)[1] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        interfaces = [path.name for path in Path("/sys/class/net").iterdir()]
        return cls(frozenset(mounts), frozenset(interfaces), frozenset(found))

    def beyond(self, before: Machine) -> list[str]:
        """Return what there is now and was not before."""
        return sorted(
            (self.mounts - before.mounts) | (self.interfaces - before.interfaces) | (self.files - before.files)
        )


def environment_of(pid: int) -> list[bytes]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def of_word(word: str) -> list[int]:
    """Return the processes of one cluster: itself, its supervisors, everything that containers have started."""
    wanted = f"{WORD}={word}".encode()
    return [pid for pid in pids() if wanted in environment_of(pid)]


def supervisors(word: str) -> list[int]:
    names = (CLUSTER.encode() + b"=", CONTAINER.encode() + b"=")
    found = [(pid, environment_of(pid)) for pid in of_word(word)]
    marked = [(pid, [any(v.startswith(name) for v in variables) for name in names]) for pid, variables in found]
    return [pid for pid, (cluster, container) in marked if cluster and not container]


def groups(processes: Sequence[int]) -> set[str]:
    """Return what the control groups of the clusters to which these processes belong are called."""
    mark = CLUSTER.encode() + b"="
    variables = [variable for pid in processes for variable in environment_of(pid) if variable.startswith(mark)]
    return {f"{PREFIX}{variable.removeprefix(mark).decode()}" for variable in variables}


def namespaces(processes: Sequence[int]) -> set[str]:
    found = set()
    for pid in processes:
        for kind in KINDS:
            with suppress(OSError):
                found.add(str(Path(f"/proc/{pid}/ns/{kind}").readlink()))
    return found


def left_of(word: str, seen: set[str]) -> list[str]:
    """Return what there still is of a cluster: its processes, and the namespaces and groups that were seen of it.

    The kernel uses the numbers of namespaces again: one with a living process of another program is not meant.
    """
    processes = [f"process {pid}: {b' '.join(environment_of(pid)[:3])!r}" for pid in of_word(word)]
    existing = {name for _, names, _ in os.walk(GROUPS) for name in names if name.startswith(PREFIX)}
    return processes + sorted(seen & (namespaces(suspects(word)) | existing))


def suspects(word: str) -> list[int]:
    """Return the processes of all clusters of this proof, and those that show no environment, for they are ending."""
    ours = f"{WORD}={word.partition('-')[0]}-".encode()
    shown = {pid: environment_of(pid) for pid in pids()}
    return [pid for pid, known in shown.items() if not any(known) or any(each.startswith(ours) for each in known)]


@dataclass
class Proof:
    """Kills clusters and collects what is left of them."""

    mode: str
    rng: Random
    folder: Path
    id: str = field(default_factory=lambda: secrets.token_hex(4))
    survivors: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Seconds that the kernel took at most to end what it ends by itself."""
    most: int = 0
    """Processes that a killed cluster had at most."""

    def word(self) -> str:
        """Return a word for one more cluster or job of this proof."""
        return f"{self.id}-{secrets.token_hex(8)}"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def start(self, word: str, *arguments: str) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-c", "from training_operator.cli import main; main()", "local", *arguments]
        env = {**os.environ, WORD: word, "TMPDIR": str(self.scratch), STATE_VARIABLE: str(self.state)}
        return subprocess.Popen(
            [*program, "--sandbox", self.mode], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def run(self, word: str) -> subprocess.Popen[bytes]:
        file = self.folder / "job.yaml"
        file.write_text(yaml.safe_dump(job(word)))
        return self.start(word, "run", "--no-archive", str(file))  # which is kept on purpose

    @contextmanager
    def compared(self, what: str, word: str, seen: set[str]) -> Iterator[None]:
        """Compare before and after; `seen` are the namespaces and control groups that were found in between."""
        before = Machine.now(self.state, self.scratch)
        yield
        self.settle(what, word, seen)
        self.survivors += [f"{what}: {left}" for left in Machine.now(self.state, self.scratch).beyond(before)]

    def settle(self, what: str, word: str, seen: set[str]) -> None:
        """Give the kernel its time and note what is left then."""
        begun = time.monotonic()
        foreign = seen - namespaces([os.getpid()])
        while (left := left_of(word, foreign)) and time.monotonic() < begun + KERNEL_SECONDS:
            time.sleep(0.005)
        self.slowest = max(self.slowest, time.monotonic() - begun)
        self.survivors += [f"{what}: {complaint}" for complaint in left]

    def kill(self, everything: bool, running: bool, moment: float) -> None:
        """Kill a cluster so many seconds after its start, or after its job runs, and let the next one sweep."""
        word, seen = self.word(), set[str]()
        since = "its job ran" if running else "its start"
        what = f"{'everything' if everything else 'the cluster'} killed {moment:.2f} s after {since}"
        with self.compared(what, word, seen):
            cluster = self.run(word)
            while running and len(of_word(word)) < PROCESSES_OF_JOB and cluster.poll() is None:
                time.sleep(0.02)
            time.sleep(moment)
            victims = of_word(word)
            self.most = max(self.most, len(victims))
            seen |= namespaces(victims) | groups(victims)
            victims = [cluster.pid, *supervisors(word)] if everything else [cluster.pid]
            self.rng.shuffle(victims)
            for pid in victims:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            cluster.wait()
            self.sweep()

    def sweep(self) -> None:
        """Do what the next cluster does first."""
        before = os.environ.get(STATE_VARIABLE)
        os.environ[STATE_VARIABLE] = str(self.state)
        try:
            with claimed("next"):
                pass
        finally:
            os.environ.pop(STATE_VARIABLE) if before is None else os.environ.update({STATE_VARIABLE: before})

    def interrupt(self, number: signal.Signals, moment: float) -> None:
        """End a cluster by a signal: it clears up itself, and no later one has to."""
        word, seen = self.word(), set[str]()
        with self.compared(f"{number.name} after {moment:.2f} s", word, seen):
            cluster = self.run(word)
            time.sleep(moment)
            victims = of_word(word)
            seen |= namespaces(victims) | groups(victims)
            cluster.send_signal(number)
            cluster.wait()

    def delete(self, times: int) -> None:
        """Create and delete jobs in one cluster at random moments; the cluster goes on living."""
        word, seen = self.word(), set[str]()
        with self.compared(f"{times} deletions", word, seen):
            cluster = self.start(word, "up", "--name", "deletions")
            try:
                asyncio.run(self._delete(times, self._record(cluster)))
            finally:
                cluster.send_signal(signal.SIGTERM)
                cluster.wait()

    def _record(self, cluster: subprocess.Popen[bytes]) -> ClusterRecord:
        os.environ[STATE_VARIABLE] = str(self.state)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and cluster.poll() is None:
            with suppress(Exception):
                return find("deletions")
            time.sleep(0.05)
        raise SystemExit("the cluster for deletions did not start")

    async def _delete(self, times: int, record: ClusterRecord) -> None:
        async with connected(access(record)) as api:
            for number in range(times):
                word, name = self.word(), f"job-{number}"
                moment = self.rng.uniform(0.0, 1.5)
                body = json.dumps(job(word, name)).encode()
                assert (await api.request(Request("POST", JOBS, body=body))).status == 201
                await asyncio.sleep(moment)
                victims = of_word(word)
                self.most = max(self.most, len(victims))
                seen = namespaces(victims)
                assert (await api.request(Request("DELETE", f"{JOBS}/{name}"))).status == 200
                async with asyncio.timeout(START_SECONDS):
                    while True:
                        if not await self._pods(api):
                            break
                        await asyncio.sleep(0.05)
                what = f"job deleted after {moment:.2f} s"
                self.settle(what, word, seen)
                work = record.kubeconfig.parent / "node" / "work"
                self.survivors += [f"{what}: {left}" for left in work.glob("*")]

    @staticmethod
    async def _pods(api: Any) -> list[Any]:
        answer = await api.request(Request("GET", "/api/v1/namespaces/default/pods"))
        return list(json.loads(answer.body)["items"])


def prove(mode: str, kills: int, interrupts: int, deletions: int, seed: int) -> Proof:
    """Do all of it in one sandbox mode and return what was left."""
    rng = Random(seed)
    for ignored in (signal.SIGINT, signal.SIGHUP):  # by nohup and by shells in the background; clusters inherit it
        signal.signal(ignored, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="survivors-") as name:
        folder = Path(name)
        (folder / "scratch").mkdir()
        proof = Proof(mode, rng, folder)
        proof.sweep()
        for number in range(kills):
            running = number % 4 in (1, 2)
            proof.kill(number % 2 == 1, running, rng.uniform(0.0, 1.0) if running else rng.uniform(0.1, 3.0))
            if number % 10 == 9:
                print(f"{mode}: {number + 1} kills, {len(proof.survivors)} survivors", flush=True)
        for number in range(interrupts):
            proof.interrupt((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3], rng.uniform(0.1, 3.0))
        if deletions:
            proof.delete(deletions)
    return proof


def main() -> None:
    """Prove it from the command line; the exit status is 1 if something has survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50, help="clusters killed in each sandbox mode")
    parser.add_argument("--interrupts", type=int, default=6, help="clusters ended by SIGINT, SIGTERM, SIGHUP")
    parser.add_argument("--deletions", type=int, default=10, help="jobs deleted")
    parser.add_argument("--sandbox", choices=["netns", "host", "both"], default="both")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = False
    for mode in ("netns", "host") if given.sandbox == "both" else (given.sandbox,):
        proof = prove(mode, given.kills, given.interrupts, given.deletions, given.seed)
        print(*proof.survivors, sep="\n")
        print(
            f"{mode}: {given.kills} kills, {given.interrupts} interrupts, {given.deletions} deletions: "
            f"{len(proof.survivors)} survivors; up to {proof.most} processes each; "
            f"the kernel took up to {proof.slowest:.3f} s",
            flush=True,
        )
        failed = failed or bool(proof.survivors)
    sys.exit(failed)


if __name__ == "__main__":
    main()
