"""What a node takes from the machine, and how to get it on Debian."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from e2e.harness.errors import HarnessError
from e2e.node.leftovers import cgroup_hierarchies

PACKAGES: Final = {
    "/usr/bin/containerd": "containerd",
    "/usr/sbin/runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/sbin/iptables": "iptables",
    "/usr/sbin/ip": "iproute2",
    "/usr/sbin/sysctl": "procps",
    "/usr/bin/nsenter": "util-linux",
    "/bin/bash-static": "bash-static",
    "/bin/busybox": "busybox-static",
    # What runs in the pods lies in /usr of this machine.
    "/usr/bin/python3": "python3",
    "/usr/bin/mpirun.openmpi": "openmpi-bin",
    "/usr/lib/python3/dist-packages/mpi4py": "python3-mpi4py",
    # Jobs that run on v1 and on v2.
    "/usr/lib/python3/dist-packages/torch": "python3-torch",
    "/usr/sbin/sshd": "openssh-server",
    "/usr/bin/ssh": "openssh-client",
}
"""Debian package by a file that is used of it."""


def require() -> None:
    """Raise `HarnessError` if a node cannot run here, in one sentence with all that is missing."""
    if os.geteuid() != 0:
        raise HarnessError("a real node needs root; PROVIDER=bare needs it not, but has no node")
    if packages := missing():
        raise HarnessError(
            f"a real node needs the Debian packages {' '.join(packages)}: `.venv/bin/python -m e2e.node install`"
        )
    if denied := _denied():
        raise HarnessError(f"this machine, perhaps a container without rights, does not let a node run: {denied}")


def missing() -> list[str]:
    """The packages that are not installed."""
    return sorted({package for file, package in PACKAGES.items() if not _usable(Path(file))})


def install() -> None:
    """Install what is missing with apt; raises `HarnessError` where that cannot be done."""
    packages = missing()
    if not packages:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise HarnessError(f"packages are installed by root on Debian alone; missing here: {' '.join(packages)}")
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(["apt-get", "-qq", *arguments], env=environment, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            raise HarnessError(f"`apt-get {arguments[0]}` failed; its message is above")


def _denied() -> str:
    """The kernel's word if it rejects namespaces or control groups, else nothing."""
    namespaces = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    done = subprocess.run(namespaces, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    read_only = [group for group in cgroup_hierarchies() if not os.access(group, os.W_OK)]
    return f"{read_only[0]} cannot be written" if read_only else ""


def _usable(file: Path) -> bool:
    """Whether `file` exists and, if it is busybox, needs no libraries: it runs in an image without them."""
    return file.exists() and not (file.name == "busybox" and b"/ld-linux" in file.read_bytes())
