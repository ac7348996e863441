"""How much of the disk a pod uses, and whether that is more than it may: a kubelet looks now and then, and evicts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from training_api import quantity
from training_local.node.podspec import Pod

SECONDS: Final = 10.0
"""How often a kubelet looks."""
_RESOURCE: Final = "ephemeral-storage"


def limited(pod: Pod) -> bool:
    """Whether anything of the pod has a limit, so that it is worth a look."""
    return bool(_of_volumes(pod)) or any(_RESOURCE in c.resources.limits for c in pod.containers)


def overrun(pod: Pod, volumes: Mapping[str, Path], writable: Mapping[str, Path]) -> str:
    """What a kubelet says of a pod that uses more than one of its limits; empty if it keeps to them.

    `writable` has a folder per container: what it has written outside of volumes.
    """
    for name, limit in _of_volumes(pod).items():
        if name in volumes and used(volumes[name]) > quantity.parse(limit):
            return f'Usage of EmptyDir volume "{name}" exceeds the limit "{limit}". '
    for container in pod.containers:
        allowed = container.resources.limits.get(_RESOURCE)
        if allowed is not None and used(writable[container.name]) > quantity.parse(str(allowed)):
            return f'Container {container.name} exceeded its local ephemeral storage limit "{allowed}". '
    return ""


def _of_volumes(pod: Pod) -> dict[str, str]:
    """The limits of the volumes that lie on the disk; those in memory are held by the kernel."""
    found = {v["name"]: v.get("emptyDir") or {} for v in pod.spec.volumes}
    return {name: str(e["sizeLimit"]) for name, e in found.items() if e.get("sizeLimit") and not e.get("medium")}


def used(folder: Path) -> int:
    """Bytes that a folder takes of the disk; what goes while we look is not counted."""
    total, left = 0, [folder]
    while left:
        try:
            with os.scandir(left.pop()) as found:
                for entry in found:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        left.append(Path(entry.path))
        except OSError:
            continue
    return total
