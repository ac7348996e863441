"""How a job has ended, by its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from training_migration.runs.record import EndState

Json = dict[str, Any]
End = tuple[EndState, list[str]]

_V1: Final = {"Succeeded": EndState.SUCCEEDED, "Failed": EndState.FAILED}
_V2: Final = {"Complete": EndState.SUCCEEDED, "Failed": EndState.FAILED}


def end_of_v1(job: Json) -> End | None:
    """The end of a v1 job and the words of the condition that says so; None while it continues."""
    return _end(job, _V1)


def end_of_train_job(job: Json) -> End | None:
    """The end of a TrainJob and the words of the condition that says so; None while it continues, or forever."""
    return _end(job, _V2)


def _end(job: Json, ends: Mapping[str, EndState]) -> End | None:
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in ends and condition["status"] == "True":
            return ends[condition["type"]], [f"{condition.get('reason', '')}: {condition.get('message', '')}"]
    return None
