"""What this machine can do for pods, found out by doing it once, and said in sentences."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from training_local.node.cgroups import open_hierarchies
from training_local.node.egress.mode import NetworkMode
from training_local.node.limits import Limits
from training_local.node.sandbox.client import SandboxError, Supervisor
from training_local.node.sandbox.messages import PodSpec, Setup
from training_local.node.sandbox.restrictions import cause

REDIRECT = "redirect"
_CONSEQUENCES = {
    REDIRECT: "programs in pods have no other network access than http_proxy and https_proxy, which are set for them",
    "root": "a volume can only be mounted below an existing top-level directory",
    "proc": "a pod sees the process list of the whole machine, but can signal its own processes only",
    "devices": "a pod sees every device of the machine",
    "settings": "root can change control groups and settings of the kernel below /sys from inside a pod",
    "terminals": "programs that are started in a pod get no terminal",
    "hostname": "pods keep the machine's host name; it leads to the pod's own address inside the pod",
    "ipc": "pods share the machine's System V shared memory",
}
ELSEWHERE = (
    "Here pods are plain processes, without a network, host name, process list, mounts, limits or measured usage of "
    "their own; in a virtual machine with Linux, such as those of Lima and Colima, they have all of these."
)
HOST_MODE = (
    "Pods run in host mode: names of services and their ports are replaced in environment and arguments, because pods "
    "share the machine's network; /tmp is a folder of the container's own where its command or variables name it, and "
    "in TMPDIR, but programs that know the path otherwise share the machine's; nothing hides files or processes of the "
    "machine from a pod."
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a trial sandbox has shown."""

    denied: str = ""
    """Why mode `netns` is impossible; empty if it is possible."""
    cause: str = ""
    """The setting of this machine behind it, and the remedy, in one sentence; empty if it is not known."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """What mode `netns` must do without here: capability -> reason."""

    @property
    def mode(self) -> str:
        """The best mode this machine can do."""
        return "host" if self.denied else "netns"

    def sentences(self, network: NetworkMode) -> list[str]:
        """The diagnosis for people, who have asked for such a network."""
        if self.denied:
            said = [f"Pods cannot be isolated on this machine: {self.denied}.", self.cause, HOST_MODE]
            return [sentence for sentence in said if sentence]
        lacking = {
            what: why for what, why in self.missing.items() if what != REDIRECT or network is not NetworkMode.NONE
        }
        first = "Each pod gets its own network, host name, process list and mounts, in one user namespace per job."
        return [first, *(f"Without {what} ({why}): {_CONSEQUENCES[what]}." for what, why in lacking.items())]


def how_limits_are_enforced() -> str:
    """One sentence, found out by making control groups and removing them; takes some 20 ms."""
    trial = open_hierarchies(f"trial-{os.getpid()}")
    try:
        return Limits(trial, "").sentence
    finally:
        trial.close()


async def examine() -> Diagnosis:
    """Build a sandbox with one pod and take it down again; takes some 50 ms."""
    if sys.platform != "linux":
        return Diagnosis(f"namespaces exist on Linux only, this is {sys.platform}", ELSEWHERE)
    # Mounts of the trial are private to it, so any folder will do, and a trial that is killed leaves no file behind.
    folder = str(Path(__file__).parent)
    try:
        supervisor = await Supervisor.launch(
            Setup("netns", folder, folder, (), gateway=("10.244.255.254", 16), redirect=1)
        )
        try:
            await supervisor.add_pod(PodSpec("trial", "trial", "10.244.0.1", 16, "/dev/null", 1 << 20))
        finally:
            await supervisor.close()
    except SandboxError as error:
        return Diagnosis(str(error), cause())
    return Diagnosis(missing=supervisor.missing)
