"""Linux system calls that Python 3.11 lacks, through ctypes.

Importable everywhere; on other systems every call raises `OSError(ENOSYS)`.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_NOATIME = 1024
MS_NODIRATIME = 2048
MS_BIND = 4096
MS_REC = 16384
MS_UNBINDABLE = 1 << 17
MS_PRIVATE = 1 << 18
MS_SLAVE = 1 << 19
MNT_DETACH = 2

_PR_SET_PDEATHSIG = 1
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38

# What container runtimes leave to root by default: chown, dac_override, fowner, fsetid, kill, setgid, setuid,
# setpcap, net_bind_service, net_raw, sys_chroot, mknod, audit_write, setfcap.
_CONTAINER_CAPABILITIES = frozenset({0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31})

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _call(name: str, *arguments: object) -> None:
    if _libc is None:
        raise OSError(errno.ENOSYS, f"{name} exists on Linux only")
    function: Callable[..., int] = getattr(_libc, name)
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    """Move this process (or, for process ids, its next children) into new namespaces."""
    _call("unshare", flags)


def setns(descriptor: int, kind: int) -> None:
    """Enter the namespace that `descriptor` refers to."""
    _call("setns", descriptor, kind)


def mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    """Mount `source` at `target`; `kind` is the file system, None for bind mounts and changes of flags."""
    _call(
        "mount",
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )


def bind(source: str, target: str, *, readonly: bool = False) -> None:
    """Show `source`, with everything mounted below it, at `target`."""
    mount(source, target, None, MS_BIND | MS_REC)
    if readonly:
        forbid_writing(target)


def forbid_writing(target: str) -> None:
    """Make the mount at `target` read-only, in this mount namespace."""
    # The flags of the underlying mount are locked inside a user namespace and must be repeated.
    kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME | MS_NODIRATIME)
    mount("none", target, None, MS_REMOUNT | MS_BIND | MS_RDONLY | kept)


def detach(target: str) -> None:
    """Take the topmost mount away from `target` as soon as it is unused."""
    _call("umount2", target.encode(), MNT_DETACH)


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root and move the old root to `old`."""
    _call("pivot_root", new.encode(), old.encode())


def _prctl(option: int, value: int) -> None:
    _call("prctl", option, *(ctypes.c_ulong(n) for n in (value, 0, 0, 0)))


def die_with_parent(signal_number: int) -> None:
    """Receive `signal_number` when the thread that started this process ends."""
    _prctl(_PR_SET_PDEATHSIG, signal_number)


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def give_up_privileges() -> None:
    """Keep only what root has in an ordinary container, and let no program raise it again."""
    for capability in range(64):
        if capability not in _CONTAINER_CAPABILITIES:
            try:
                _prctl(_PR_CAPBSET_DROP, capability)
            except OSError as error:
                if error.errno != errno.EINVAL:  # EINVAL: past the kernel's last capability
                    raise
                break
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
