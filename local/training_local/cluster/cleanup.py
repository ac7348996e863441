"""Removing what a cluster has left that was killed before it could do so itself."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import structlog

from training_local.cluster.kubeconfig_file import remove_copy
from training_local.node import cgroups
from training_local.node.sandbox.orphans import CLUSTER, processes_with

PATIENCE_SECONDS: Final = 10.0
GROUPS: Final = Path("/sys/fs/cgroup")
"""Where control groups are; those of a cluster are somewhere below, in directories that carry its id."""
_PAUSE_SECONDS: Final = 0.01

_log = structlog.get_logger(__name__)


def remove_leftovers(folder: Path, cluster_id: str) -> None:
    """End the processes of a dead cluster and remove its files, which are kept while a process does not end.

    Mode `netns` leaves no process: the kernel ends them. Mode `host` can leave those that have left their container's
    session, if cluster and supervisor were killed together.
    """
    if cluster_id and not (_end_processes(cluster_id) and _remove_groups(cluster_id)):
        _log.warning("processes of a dead cluster do not end", cluster=folder.name)
        return
    remove_copy(folder / "kubeconfig")
    remove_tree(folder)


def _end_processes(cluster_id: str) -> bool:
    mark = f"{CLUSTER}={cluster_id}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while found := processes_with([mark]):  # again until none is left: one may have forked before it was killed
        if time.monotonic() > deadline:
            return False
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)
    return True


def _remove_groups(cluster_id: str) -> bool:
    wanted = f"{cgroups.PREFIX}{cluster_id}"
    found = [Path(parent, name) for parent, names, _ in os.walk(GROUPS) for name in names if name == wanted]
    for group in found:
        cgroups.remove(group)
    return not any(group.exists() for group in found)


def remove_tree(folder: Path) -> None:
    """Remove a folder, also where a container has taken its own permissions away; never follows links."""
    for directory, names, _ in os.walk(folder):
        for name in names:
            inner = Path(directory, name)
            if not inner.is_symlink():
                with suppress(OSError):
                    inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
