"""Removing what a cluster has left that was killed before it could do so itself."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from training_local.node.sandbox.marks import CLUSTER, marked

PATIENCE_SECONDS: Final = 10.0
GROUPS: Final = Path("/sys/fs/cgroup")
"""Where control groups are; those of a cluster are below a directory `training-operator-ID`."""
_PAUSE_SECONDS: Final = 0.01

_log = structlog.get_logger(__name__)


def remove_remains(folder: Path, cluster_id: str) -> None:
    """End the processes of a dead cluster and remove its folder, which is kept while a process does not end.

    Mode `netns` leaves no process: the kernel ends them. Mode `host` can leave those that have left their container's
    session, if cluster and supervisor were killed together.
    """
    if cluster_id:
        groups = _groups(cluster_id)
        if not _end_processes(cluster_id, groups):
            _log.warning("processes of a dead cluster do not end", cluster=folder.name)
            return
        for group in groups:
            with suppress(OSError):  # for example because it is not ours
                group.rmdir()
    remove_tree(folder)


def _groups(cluster_id: str) -> list[Path]:
    """The control groups of a cluster, inner ones first."""
    tops = [Path(top, name) for top, names, _ in os.walk(GROUPS) for name in names if name == group_name(cluster_id)]
    return [Path(inner) for top in tops for inner, _, _ in os.walk(top, topdown=False)]


def group_name(cluster_id: str) -> str:
    """Return what the outermost control group of a cluster is called."""
    return f"training-operator-{cluster_id}"


def _end_processes(cluster_id: str, groups: Sequence[Path]) -> bool:
    mark = f"{CLUSTER}={cluster_id}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while found := [*marked(mark), *_members(groups)]:  # until none is left: one may have forked before it was killed
        if time.monotonic() > deadline:
            return False
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)
    return True


def _members(groups: Sequence[Path]) -> list[int]:
    found: list[int] = []
    for group in groups:
        with suppress(OSError):
            found += [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    return [pid for pid in found if pid > 0]  # 0 stands for one outside of our process-id namespace


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where a container has taken its own permissions away; never follows links."""
    for directory, names, _ in os.walk(folder):
        for name in names:
            inner = Path(directory, name)
            if not inner.is_symlink():
                with suppress(OSError):
                    inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
