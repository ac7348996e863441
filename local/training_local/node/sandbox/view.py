"""The file system that a pod sees: the machine's own, with private places where the pod's volumes appear."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress

from training_local.node.sandbox import syscalls
from training_local.node.sandbox.messages import Mount

_TMPFS_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV


def tmpfs(target: str, options: str) -> None:
    """Mount an empty file system in memory."""
    syscalls.mount("tmpfs", target, "tmpfs", _TMPFS_FLAGS, options)


def mount_processes(target: str) -> None:
    """Mount the process list of this process-id namespace."""
    syscalls.mount("proc", target, "proc", _TMPFS_FLAGS | syscalls.MS_NOEXEC)


_KERNEL_SETTINGS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")


def protect_kernel() -> None:
    """Make the kernel's settings below `/proc` read-only: they are the machine's, and root could change them."""
    for path in _KERNEL_SETTINGS:
        if os.path.exists(path):
            syscalls.bind(path, path, readonly=True)


def make_readonly(directory: str) -> None:
    """Make read-only what is mounted at a directory and below it."""
    with open("/proc/self/mountinfo", "rb") as table:
        targets = [os.fsdecode(line.split()[4]) for line in table]
    for target in targets:
        if _is_below(target, directory):
            with suppress(FileNotFoundError):  # a mount that another covers
                syscalls.forbid_writing(target)


def _is_below(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")


_ORDINARY_DEVICES = frozenset({"null", "zero", "full", "random", "urandom", "tty"})
_ACCELERATORS = ("nvidia", "dri", "kfd", "dxg", "infiniband", "accel", "davinci", "vfio")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}


def private_devices(machine: str) -> None:
    """Replace `/dev` by one with what container runtimes give and the accelerators; the machine's goes to `machine`."""
    syscalls.bind("/dev", machine)
    syscalls.mount("tmpfs", "/dev", "tmpfs", syscalls.MS_NOSUID, "mode=755,size=64k")
    with os.scandir(machine) as entries:
        for entry in entries:
            if entry.name in _ORDINARY_DEVICES or entry.name.startswith(_ACCELERATORS):
                _make_point(f"/dev/{entry.name}", entry.is_dir())
                syscalls.bind(entry.path, f"/dev/{entry.name}")
    for name, destination in _DEVICE_LINKS.items():
        os.symlink(destination, f"/dev/{name}")
    for directory in ("pts", "shm"):
        os.mkdir(f"/dev/{directory}")
    _make_point("/dev/termination-log", directory=False)


def mount_terminals() -> None:
    """Mount the terminals of a pod, which no other pod sees."""
    syscalls.mount("devpts", "/dev/pts", "devpts", syscalls.MS_NOSUID | syscalls.MS_NOEXEC, "ptmxmode=666,mode=620")


def build_root(at: str) -> None:
    """Replace the root by an empty one in memory in which each top-level entry of the machine is bound.

    New mount points can then be made anywhere at the top without touching the machine's disk.
    """
    tmpfs(at, "mode=755")
    syscalls.mount("none", at, None, syscalls.MS_UNBINDABLE)  # else binding its own parent would copy it
    _show_entries("/", at)
    os.chdir(at)
    syscalls.pivot_root(".", ".")
    syscalls.detach(".")
    os.chdir("/")
    syscalls.mount("none", "/", None, syscalls.MS_PRIVATE)


def _show_entries(source: str, target: str) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            place = f"{target}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), place)
                continue
            _make_point(place, entry.is_dir(follow_symlinks=False))
            with suppress(FileNotFoundError):  # deleted since the directory was read
                syscalls.bind(entry.path, place)


def _make_point(place: str, directory: bool) -> None:
    """Make what something is mounted on; containers of one scope share a root, and may make the same at a time."""
    with suppress(FileExistsError):
        if directory:
            os.mkdir(place)
        else:
            os.close(os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))


class View:
    """The file system of one container while it is put together, inside its own mount namespace."""

    def __init__(self, *, private_root: bool, devices: str) -> None:
        """`devices` is where the machine's `/dev` is to be found."""
        self._devices = devices
        # Directories whose own entries, and trees whose whole contents, may grow without touching the machine's disk.
        self._fresh = {"/"} if private_root else set()
        self._volumes: set[str] = set()
        self._shown: list[tuple[str, str]] = []

    def show(self, mounts: Sequence[Mount], own: Sequence[Mount], visible: Sequence[str]) -> None:
        """Bind each source at its target, outer targets first.

        Before that `own` folders take the place of the machine's, unless a volume does; of these `visible` stays.
        """
        ordered = sorted(mounts, key=lambda m: m.target.count("/"))
        # All are opened first, for they may lie below what is replaced.
        opened = [(mount, self._open(mount.source)) for mount in (*own, *ordered)]
        volumes = {os.path.realpath(mount.target) for mount in mounts}
        for mount, (_, descriptor) in opened[: len(own)]:
            place = os.path.realpath(mount.target)
            if place not in volumes:
                _cover(place, [each for each in visible if _is_below(each, place)], descriptor)
                self._fresh.add(place)
        for mount, (source, descriptor) in opened[len(own) :]:
            self._bind(mount, source, descriptor)
        for _, (_, descriptor) in opened:
            os.close(descriptor)

    def _open(self, path: str) -> tuple[str, int]:
        source = self._source(path)
        if not os.path.lexists(source):  # part of a volume in memory, which only exists in here
            os.makedirs(source)
        return os.path.realpath(source), os.open(source, os.O_PATH)

    def _bind(self, mount: Mount, source: str, descriptor: int) -> None:
        target, directory = os.path.realpath(mount.target), stat.S_ISDIR(os.fstat(descriptor).st_mode)
        if not os.path.lexists(target):
            self._make(target, directory)
        elif os.path.isdir(target) != directory:
            kinds = ("a file", "a directory")
            raise OSError(f"{mount.target} is {kinds[not directory]}, but the volume is {kinds[directory]}")
        syscalls.bind(f"/proc/self/fd/{descriptor}", target, readonly=mount.readonly)
        self._volumes.add(target)
        self._shown.append((source, target))

    def _source(self, path: str) -> str:
        return self._devices + path.removeprefix("/dev") if f"{path}/".startswith("/dev/") else path

    def hide(self, hidden: Sequence[str], visible: Sequence[str]) -> None:
        """Cover files and directories, also where a volume shows them; of these only the volumes and `visible` stay."""
        kept = [*visible, *self._volumes]
        for path in hidden:
            original = os.path.realpath(path)
            shown = [
                t + original[len(s.rstrip("/")) :] for s, t in self._shown if s != original and _is_below(original, s)
            ]
            for place in {original, *shown} - self._volumes:
                _cover(place, [each for each in kept if _is_below(each, place)])

    def _make(self, target: str, directory: bool) -> None:
        parent = os.path.dirname(target)
        missing = [target]
        while not os.path.lexists(parent):
            missing.append(parent)
            parent = os.path.dirname(parent)
        if parent not in self._fresh and not any(f"{parent}/".startswith(f"{v}/") for v in self._volumes):
            self._mirror(parent)
        for place in reversed(missing):
            _make_point(place, directory or place != target)
            self._fresh.add(place)

    def _mirror(self, directory: str) -> None:
        """Cover `directory` with a private one that shows the same entries."""
        if directory == "/":
            raise OSError("cannot make a new directory in / because the root cannot be replaced on this machine")
        original = os.open(directory, os.O_PATH)
        tmpfs(directory, f"mode={stat.S_IMODE(os.fstat(original).st_mode):o}")
        _show_entries(f"/proc/self/fd/{original}", directory)
        os.close(original)
        self._fresh.add(directory)


def _cover(place: str, visible: Sequence[str], own: int = -1) -> None:
    """Show nothing at a place, or an empty directory (or an `own` one) in which only `visible` exists."""
    if not os.path.lexists(place):
        return
    if not os.path.isdir(place):
        syscalls.bind("/dev/null", place)
        return
    outermost = [path for path in visible if not any(_is_below(path, v) and path != v for v in visible)]
    kept = [(path, os.open(path, os.O_PATH)) for path in outermost if os.path.lexists(path)]
    if own >= 0:
        syscalls.bind(f"/proc/self/fd/{own}", place)
    else:
        tmpfs(place, "mode=755,size=1m")
    for path, descriptor in kept:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _make_point(path, directory=False)
        syscalls.bind(f"/proc/self/fd/{descriptor}", path)
        os.close(descriptor)
