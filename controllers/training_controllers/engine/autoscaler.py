"""The autoscaler of an elastic job (frameworks.md 3.7): there while the job is active, gone when it is not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from training_controllers.engine.model import AutoscalerChange, AutoscalerVerb, Snapshot


def autoscaler_change(snapshot: Snapshot, wanted: Mapping[str, Any] | None) -> AutoscalerChange | None:
    """What to do so that the job's autoscaler has the spec `wanted`, or is gone if that is None.

    One of this name that the job does not control is never touched (K-34): creating ours then fails visibly.
    """
    record = snapshot.autoscaler
    ours = record is not None and record.owner is not None and record.owner.uid == snapshot.job.metadata.uid
    if record is None or not ours:
        return AutoscalerChange(AutoscalerVerb.CREATE, wanted) if wanted is not None else None
    if record.deleting:
        return None
    if wanted is None:
        return AutoscalerChange(AutoscalerVerb.DELETE, record=record)
    if _says(msgspec.json.decode(record.spec), wanted):
        return None
    return AutoscalerChange(AutoscalerVerb.REPLACE, wanted, record)


def _says(stored: Any, wanted: Any) -> bool:
    """Whether `stored` has everything that `wanted` asks for; what the API server filled in does not matter."""
    if isinstance(wanted, Mapping):
        return isinstance(stored, Mapping) and all(_says(stored.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list | tuple) and wanted:
        return (
            isinstance(stored, list)
            and len(stored) == len(wanted)
            and all(_says(has, wants) for has, wants in zip(stored, wanted, strict=True))
        )
    return bool(stored == wanted) or wanted in ([], ())
