"""Persistent volume claims: each is bound at once and is a folder, which pods of its namespace share."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from training_local.node.podspec import Wire
from training_local.node.volumes import VolumeError, safe_name


class Claims:
    """The volume claims there are, and the folders of their data."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._uids: dict[tuple[str, str], str] = {}
        self._orphans: dict[tuple[str, str], str] = {}
        """Claims that have been deleted while pods use them."""

    def put(self, claim: Wire, *, gone: bool) -> None:
        """Note a change of a claim."""
        metadata = claim["metadata"]
        key, uid = (metadata["namespace"], metadata["name"]), safe_name(metadata["uid"])
        if not gone:
            self._uids[key] = uid
        elif self._uids.pop(key, None):
            self._orphans[key] = uid

    def path(self, namespace: str, name: str) -> Path:
        """The folder of a claim, made if it is the first time; raises `VolumeError` if there is no such claim."""
        uid = self._uids.get((namespace, name))
        if uid is None:
            raise VolumeError(f'persistentvolumeclaim "{name}" not found')
        folder = self._folder / uid
        folder.mkdir(mode=0o777, parents=True, exist_ok=True)
        return folder

    def remove_orphans(self, used: Collection[tuple[str, str]]) -> None:
        """Remove the data of deleted claims, but for those that pods use, as (namespace, name)."""
        for key in [key for key in self._orphans if key not in used]:
            shutil.rmtree(self._folder / self._orphans.pop(key), ignore_errors=True)


def binding(claim: Wire) -> tuple[Wire, Wire] | None:
    """How to bind a claim: merge patches of the object and of its status; None if it is bound or cannot be.

    Any class, size and access mode will do: the volume is a folder of this machine.
    """
    spec, status = claim["spec"], claim.get("status") or {}
    if (
        status.get("phase") == "Bound"
        or spec.get("volumeMode") == "Block"
        or claim["metadata"].get("deletionTimestamp")
    ):
        return None
    volume = spec.get("volumeName") or f"pvc-{claim['metadata']['uid']}"
    capacity = {"storage": spec["resources"]["requests"]["storage"]}
    bound = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": capacity}
    return {"spec": {"volumeName": volume}}, {"status": bound}
