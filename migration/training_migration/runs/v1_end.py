"""How a v1 job has ended, by its conditions."""

from __future__ import annotations

from typing import Any, Final

from training_migration.runs.record import EndState

Json = dict[str, Any]

_ENDS: Final = {"Succeeded": EndState.SUCCEEDED, "Failed": EndState.FAILED}


def end_of_v1(job: Json) -> tuple[EndState, list[str]] | None:
    """The end and the words of the condition that says so; None while the job goes on."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in _ENDS and condition["status"] == "True":
            return _ENDS[condition["type"]], [f"{condition.get('reason', '')}: {condition.get('message', '')}"]
    return None
