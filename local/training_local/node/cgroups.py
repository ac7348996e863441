"""Control groups: where this machine lets us make them, and one for each attempt of a container (cgroups(7))."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

PREFIX: Final = "training-operator-"
_MOUNT = re.compile(r"\S+ \S+ \S+ (\S+) (\S+) .* - (cgroup2?) \S+ (\S+)")
_FIRST_VERSION = ("memory", "cpu", "cpuacct", "pids")
_PERIOD_MICROSECONDS = 100_000
_PATIENCE_SECONDS = 2.0


def most_processes() -> int:
    """How many processes and threads a container may have: libraries start some per processor, bombs any number."""
    return 1024 + 256 * (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Group:
    """The control group of one attempt of a container: one folder per hierarchy."""

    folders: Mapping[str, Path]
    """Controller -> folder; all the same where there is one hierarchy (version 2)."""

    @property
    def entrances(self) -> Sequence[str]:
        """Files to which a process writes 0 to come under the limits, its later children included."""
        return [str(folder / "cgroup.procs") for folder in sorted({*self.folders.values()})]

    def limit(self, memory: int | None, cpu: int | None) -> None:
        """Set the limits that are given: bytes, and thousandths of processors."""
        folder, cpu_folder = self.folders["memory"], self.folders.get("cpu")
        if processes := self.folders.get("pids"):
            _write(processes / "pids.max", str(most_processes()))
        if memory is not None:
            _write(folder / "memory.max", str(memory)) or _write(folder / "memory.limit_in_bytes", str(memory))
            # Swap would let a container grow beyond its limit; the kernel ends all processes of one, as of a pod's.
            _write(folder / "memory.swap.max", "0") or _write(folder / "memory.memsw.limit_in_bytes", str(memory))
            _write(folder / "memory.oom.group", "1")
        if cpu is not None and cpu_folder is not None:
            quota = str(cpu * _PERIOD_MICROSECONDS // 1000)
            if not _write(cpu_folder / "cpu.max", f"{quota} {_PERIOD_MICROSECONDS}"):
                _write(cpu_folder / "cpu.cfs_quota_us", quota)

    def ran_out(self) -> bool:
        """Whether the kernel has killed a process of the group for its memory."""
        folder = self.folders["memory"]
        counted = _numbers(folder / "memory.events") or _numbers(folder / "memory.oom_control")
        return counted.get("oom_kill", 0) > 0

    def use(self) -> tuple[float, int] | None:
        """Seconds of processors so far, and bytes of memory without files that can be read again; None if unknown."""
        folder, cpu_folder = self.folders["memory"], self.folders.get("cpuacct")
        used, counted = _number(folder / "memory.current"), _numbers(folder / "memory.stat")
        idle = counted.get("inactive_file", 0)
        if used is None:
            used, idle = _number(folder / "memory.usage_in_bytes"), counted.get("total_inactive_file", 0)
        if used is None or cpu_folder is None:
            return None
        microseconds = _numbers(cpu_folder / "cpu.stat").get("usage_usec")
        nanoseconds = _number(cpu_folder / "cpuacct.usage")
        if microseconds is None and nanoseconds is None:
            return None
        seconds = (nanoseconds or 0) / 1e9 if microseconds is None else microseconds / 1e6
        return seconds, max(0, used - idle)

    def remove(self) -> None:
        """Remove the group; its processes have ended, or are about to."""
        for folder in {*self.folders.values()}:
            remove(folder)


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """The folders of one cluster, in which the groups of its containers are made."""

    folders: Mapping[str, Path] = field(default_factory=dict)
    """Controller -> folder; empty where this machine does not let us make any."""

    def group(self, name: str) -> Group:
        """Make the group of an attempt; raises `OSError`."""
        flat = name.replace("/", "_")
        folders = {controller: folder / flat for controller, folder in self.folders.items()}
        for folder in {*folders.values()}:
            folder.mkdir(exist_ok=True)
        return Group(folders)

    def close(self) -> None:
        """Remove all groups."""
        for folder in {*self.folders.values()}:
            remove(folder)


def open_hierarchies(cluster: str, proc: Path = Path("/proc/self")) -> Hierarchies:
    """Make the folders of a cluster, memory at least, or none where this machine does not let us."""
    for places in (_second_version(proc), _first_version(proc)):
        if "memory" not in places:
            continue
        made: dict[str, Path] = {}
        for controller, parent in places.items():
            with suppress(OSError):
                folder = parent / f"{PREFIX}{cluster}"
                folder.mkdir(exist_ok=True)
                made[controller] = folder
        for folder in {*made.values()}:
            for controller in ("memory", "cpu", "pids"):
                _write(folder / "cgroup.subtree_control", f"+{controller}")
        hierarchies = Hierarchies(made)
        if "memory" in made and _works(hierarchies):
            return hierarchies
        hierarchies.close()
    return Hierarchies()


def _works(hierarchies: Hierarchies) -> bool:
    """Try with a process that does nothing."""
    try:
        trial = hierarchies.group("trial")
    except OSError:
        return False
    trial.limit(1 << 30, None)
    script = 'for entrance; do echo 0 > "$entrance" || exit 1; done'
    done = subprocess.run(["sh", "-c", script, "sh", *trial.entrances], check=False, capture_output=True)
    limited = any((trial.folders["memory"] / name).exists() for name in ("memory.max", "memory.limit_in_bytes"))
    trial.remove()
    return done.returncode == 0 and limited


def _mounts(proc: Path) -> Iterator[tuple[str, str, Path, str]]:
    """Type, root, place and options of each mounted hierarchy."""
    with suppress(OSError):
        for line in (proc / "mountinfo").read_text().splitlines():
            if found := _MOUNT.fullmatch(line):
                root, place, kind, options = found.groups()
                yield kind, root, Path(place), options


def _own(proc: Path) -> Mapping[str, str]:
    """Controller -> path of this process; "" stands for version 2."""
    paths: dict[str, str] = {}
    with suppress(OSError):
        for line in (proc / "cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def _folder(place: Path, root: str, path: str) -> Path:
    """Where a path of a hierarchy is found, of which `root` is mounted at `place`."""
    inner = path.removeprefix(root) if root != "/" else path
    return place / inner.strip("/")


def _first_version(proc: Path) -> Mapping[str, Path]:
    found: dict[str, Path] = {}
    own = _own(proc)
    for kind, root, place, options in _mounts(proc):
        for controller in _FIRST_VERSION:
            if kind == "cgroup" and controller in options.split(",") and controller in own:
                found[controller] = _folder(place, root, own[controller])
    return found


def _second_version(proc: Path) -> Mapping[str, Path]:
    """The nearest group above our own that has been delegated to us with memory, and holds no process itself.

    Our own does not serve: a group with processes cannot hand its controllers on.
    """
    path = _own(proc).get("")
    for kind, root, place, _ in _mounts(proc):
        if kind != "cgroup2" or path is None:
            continue
        own = _folder(place, root, path)
        for parent in [each for each in own.parents if each.is_relative_to(place)]:
            controllers = _text(parent / "cgroup.subtree_control").split()
            writable = os.access(parent, os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK)
            if "memory" in controllers and writable:
                further = {name: parent for name in ("cpu", "pids") if name in controllers}
                return {"memory": parent, "cpuacct": parent} | further
    return {}


def own_limits(proc: Path = Path("/proc/self")) -> tuple[int | None, int | None]:
    """What this process itself is held to: bytes of memory, thousandths of processors; None for no limit."""
    memory: list[int | None] = []
    cpu: list[int | None] = []
    path = _own(proc).get("")
    for kind, root, place, _ in _mounts(proc):
        if kind == "cgroup2" and path is not None:
            own = _folder(place, root, path)
            for folder in [each for each in (own, *own.parents) if each.is_relative_to(place)]:
                memory.append(_number(folder / "memory.max"))
                cpu.append(_share(_text(folder / "cpu.max").split()))
    first = _first_version(proc)
    if "memory" in first:
        memory.append(_numbers(first["memory"] / "memory.stat").get("hierarchical_memory_limit"))
    if "cpu" in first:
        cpu.append(_share([_text(first["cpu"] / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]))
    return min((each for each in memory if each), default=None), min((each for each in cpu if each), default=None)


def _share(quota: Sequence[str]) -> int | None:
    """Thousandths of processors from time and period; without a limit the time is `max` or -1."""
    return int(quota[0]) * 1000 // int(quota[1]) if len(quota) == 2 and quota[0].isdigit() else None


def remove(folder: Path) -> None:
    """Remove a group and those in it; the kernel denies it while a process lives, a killed one for a moment."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while folder.is_dir() and time.monotonic() < deadline:
        for directory, _, _ in os.walk(folder, topdown=False):
            for pid in _text(Path(directory, "cgroup.procs")).split():
                if pid != "0":  # which stands for one outside of our process-id namespace
                    with suppress(OSError):
                        os.kill(int(pid), signal.SIGKILL)
            with suppress(OSError):
                Path(directory).rmdir()
        if folder.is_dir():
            time.sleep(0.005)


def _write(path: Path, text: str) -> bool:
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError:
        return False
    try:
        os.write(descriptor, text.encode())
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _numbers(path: Path) -> Mapping[str, int]:
    """The content of a file of names and numbers."""
    pairs = (line.split() for line in _text(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
