"""Python begins with this where its folder is on PYTHONPATH: the process plays the system that PLAYED_SYSTEM names.

Of macOS (`darwin`) and Windows (`win32`) it plays `sys.platform`, and what the standard library lacks there: such a
module cannot be imported, such a function is not there. Paths stay those of this machine, and so does `/proc`.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

LINUX_ONLY = {
    os: "copy_file_range eventfd memfd_create O_PATH pidfd_open sched_getaffinity sched_setaffinity "
    "setns splice unshare",
    signal: "pidfd_send_signal",
    socket: "AF_NETLINK AF_VSOCK SO_PEERCRED",
}
UNIX_ONLY = {
    os: "chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getsid getuid killpg "
    "mkfifo openpty pipe2 setsid sysconf uname",
    select: "epoll poll",
    signal: "SIGHUP SIGKILL SIGUSR1 SIGUSR2 pthread_sigmask",
    socket: "AF_UNIX socketpair",
}
UNIX_MODULES = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"})
STANDARD = (
    "asyncio ctypes getpass logging pathlib platform selectors shutil ssl subprocess sysconfig tempfile urllib.request "
    "zipfile zoneinfo"
)
"""What looks at `sys.platform` at its import, and would import what only the real system has."""
PACKAGES = "aiohttp click cloup cryptography google.protobuf kubernetes_asyncio msgspec pydantic rich.console yaml"
"""Packages of others, whose wheels for that system are other ones."""


class Refuser(MetaPathFinder):
    """Finds no module that the played system lacks."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Reject it."""
        if name in UNIX_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def play(system: str) -> None:
    """Play this system from now on."""
    for name in f"{STANDARD} {PACKAGES if system == 'win32' else ''}".split():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            continue
    lacking = [LINUX_ONLY, UNIX_ONLY] if system == "win32" else [LINUX_ONLY]
    for module, names in (pair for each in lacking for pair in each.items()):
        for name in names.split():
            vars(module).pop(name, None)
    if system == "win32":
        for name in UNIX_MODULES:
            sys.modules.pop(name, None)
        sys.meta_path.insert(0, Refuser())
    sys.platform = system


if os.environ.get("PLAYED_SYSTEM"):
    play(os.environ["PLAYED_SYSTEM"])
