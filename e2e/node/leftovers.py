"""Removing what outlives a node's processes: an interface, control groups, files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from e2e.harness.errors import HarnessError

CGROUPS = Path("/sys/fs/cgroup")
LIMIT = 10.0
"""Seconds that the kernel may take to let go."""


def cgroup_hierarchies() -> list[Path]:
    """The mounted hierarchies: one with cgroup v2, one for each controller with v1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return sorted({folder.resolve() for folder in CGROUPS.iterdir() if (folder / "cgroup.procs").exists()})


def make_cgroups(name: str, below: str) -> None:
    """Make the groups `name/below`, which the kubelet expects to exist."""
    for hierarchy in cgroup_hierarchies():
        for group in (hierarchy / name, hierarchy / name / below):
            group.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):  # new groups of v1 have none and take no process
                if hierarchy.name == "cpuset":
                    (group / file).write_text((group.parent / file).read_text())


def remove_cgroups(name: str) -> None:
    """Remove the groups `name` of all hierarchies with everything below, killing who is still in there."""
    for top in [hierarchy / name for hierarchy in cgroup_hierarchies()]:
        deadline = time.monotonic() + LIMIT
        while top.exists():
            _empty(top)
            if time.monotonic() > deadline:
                raise HarnessError(f"the control group {top} cannot be removed: processes in it do not end")
            time.sleep(0.02)


def _empty(top: Path) -> None:
    for group in [*reversed(list(_descendants(top))), top]:
        with suppress(OSError):
            for pid in (group / "cgroup.procs").read_text().split():
                if pid != "0":  # of another process namespace
                    os.kill(int(pid), signal.SIGKILL)
        with suppress(OSError):  # busy: the next round tries again
            group.rmdir()


def _descendants(top: Path) -> Iterator[Path]:
    """All groups below `top`, each before its own."""
    for folder, names, _ in os.walk(top):
        yield from (Path(folder) / name for name in names)


def remove_interface(name: str) -> None:
    """Remove the interface `name`, and thereby the other end of the cable; no error if there is none."""
    if Path("/sys/class/net", name).exists():
        subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


def remove_folder(folder: Path) -> None:
    """Remove `folder` with everything in it; no error if there is none."""
    if folder.exists():
        shutil.rmtree(folder)
