"""Namespaces of their own for all processes of a node: nothing collides, nothing leaks, one kill ends everything."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e.harness.errors import HarnessError
from e2e.harness.processes import Child
from e2e.node.leftovers import make_cgroups
from e2e.node.place import Place

NODE = "node1"
BRIDGE = "cni0"
OWN_FOLDERS = {
    "/run/containerd": "64g",
    "/var/lib/containerd": "64g",
    # Pods may ask for more ephemeral storage than there is memory: what counts is what they use.
    "/var/lib/kubelet": "64g",
    "/var/lib/cni": "1g",
    "/var/log/containers": "1g",
    "/var/log/pods": "1g",
    "/mnt": "1g",
}
"""Folders of which the box has its own, empty and in memory, with their size; the host's are not touched."""


@dataclass(frozen=True, slots=True)
class Size:
    """What a node offers beyond what tests usually need."""

    cpus: int | None = None
    """So many as the kubelet shall tell; without, those of this machine."""
    images_on_disk: bool = False
    """Images need more than there is memory for."""
    gangs: bool = False
    """A second scheduler, which places the pods of a PodGroup together."""


USUAL: Final = Size()


class Box:
    """New network, mount and process namespaces, joined to the host by a cable; they end with this process."""

    def __init__(self, place: Place, pause: Path) -> None:
        self.place = place
        self.children: list[Child] = []
        namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self._outer = Child(["unshare", *namespaces, pause], place.folder / "box.log")
        self.pid = self._first_process()
        """The first process in there, by its number on the host; also in the file `pid`, for `nsenter` by hand."""
        (place.folder / "pid").write_text(str(self.pid))

    def _first_process(self) -> int:
        children = Path(f"/proc/{self._outer.pid}/task/{self._outer.pid}/children")
        deadline = time.monotonic() + 10
        while True:
            self._outer.check_alive()
            pid = children.read_text().split()
            # Before it is the program, it has yet to mount /proc.
            if pid and Path(f"/proc/{pid[0]}/exe").readlink().name == "pause":
                return int(pid[0])
            if time.monotonic() > deadline:
                raise HarnessError("no process appears in the new namespaces")
            time.sleep(0.01)

    def entering(self, *command: str | Path) -> list[str | Path]:
        """The command that runs `command` in the box."""
        return entering(self.pid, *command)

    def run(self, *command: str | Path) -> None:
        """Run a program in the box to its end; raises `HarnessError` with its message if it fails."""
        execute(*self.entering(*command))

    def start(self, *command: str | Path) -> Child:
        """Start a component in the box, with a log named like the program."""
        name = Path(command[0]).name
        child = Child(self.entering(*command), self.place.folder / f"{name}.log")
        child.name = name
        self.children.append(child)
        return child

    def destroy(self) -> None:
        """Kill everything in the box; the kernel takes its mounts and interfaces away."""
        subprocess.run(["kill", "-KILL", str(self.pid)], check=False, capture_output=True)
        self._outer.process.wait()  # it waits for its child, and that for the whole namespace
        for child in self.children:
            child.kill()


@contextmanager
def box(place: Place, pause: Path, size: Size = USUAL) -> Iterator[Box]:
    """A box with network and mounts as a node needs them; everything in it ends with the context."""
    make_cgroups(place.name, NODE)
    box = Box(place, pause)
    try:
        _mount(box)
        if size.images_on_disk:
            _put_on_disk(box, "/var/lib/containerd")
        if size.cpus:
            _show_cpus(box, size.cpus)
        _connect(box)
        yield box
    finally:
        box.destroy()


def _mount(box: Box) -> None:
    box.run("mount", "--make-rshared", "/")
    for folder, size in OWN_FOLDERS.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        box.run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder)


def _put_on_disk(box: Box, path: str) -> None:
    folder = box.place.folder / Path(path).name
    folder.mkdir()
    box.run("mount", "--bind", folder, path)


def _show_cpus(box: Box, cpus: int) -> None:
    """Let the kubelet count so many CPUs: it counts the folders that the kernel has for the first memory node.

    It gives pods the CPUs of these numbers, so that there must be no others: `cpu01` is `cpu1` as a further core.
    """
    node = Path("/sys/devices/system/node/node0")
    shown, here = box.place.folder / "cpus", os.cpu_count() or 1
    for number in range(cpus):
        times, cpu = divmod(number, here)
        topology = shown / f"cpu{'0' * times}{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "core_id").write_text(f"{number}\n")
        shutil.copyfile(node / f"cpu{cpu}" / "topology" / "physical_package_id", topology / "physical_package_id")
    for file in ("meminfo", "distance"):
        shutil.copyfile(node / file, shown / file)
    (shown / "hugepages").mkdir()
    box.run("mount", "--bind", shown, node)


def _connect(box: Box) -> None:
    """Make the pods' bridge, with the host as one of its stations."""
    place = box.place
    box.run("ip", "link", "set", "lo", "up")
    box.run("ip", "link", "add", BRIDGE, "address", place.mac, "type", "bridge")
    box.run("ip", "address", "add", f"{place.address}/24", "dev", BRIDGE)
    box.run("ip", "link", "set", BRIDGE, "up")
    box.run("ip", "route", "add", place.services, "dev", BRIDGE)  # for the node's own use of services
    box.run("sysctl", "--quiet", "--write", "net.ipv4.ip_forward=1", "net.bridge.bridge-nf-call-iptables=1")
    cable = ["ip", "link", "add", place.name, "type", "veth", "peer", "name", "uplink", "netns", str(box.pid)]
    execute(*cable)
    box.run("ip", "link", "set", "uplink", "master", BRIDGE, "up")
    execute("ip", "address", "add", f"{place.host_address}/24", "dev", place.name)
    execute("ip", "link", "set", place.name, "up")
    execute("ip", "route", "replace", place.services, "via", place.address, "dev", place.name)


def entering(pid: int | str, *command: str | Path) -> list[str | Path]:
    """The command that runs `command` in the namespaces of a process."""
    return ["nsenter", f"--target={pid}", "--net", "--mount", "--pid", "--", *command]


def execute(*command: str | Path) -> None:
    """Run a program to its end; raises `HarnessError` with its message if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        words = " ".join(map(str, command))
        raise HarnessError(
            f"`{words}` ended with status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"
        )
