"""How conditions are set, and in which order they stand (K-59)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training_api.conditions import find, holds, is_finished, set_condition
from training_api.models.common import ConditionStatus, ConditionType, JobCondition, JobStatus

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def after(*steps: str, status: JobStatus | None = None) -> JobStatus:
    """The status after setting conditions a second apart, each given as `Type`, `Type=False` or `Type=True:Reason`."""
    status = status or JobStatus()
    for second, step in enumerate(steps):
        name, _, rest = step.partition("=")
        value, _, reason = rest.partition(":")
        condition = JobCondition(
            type=name, status=ConditionStatus(value or "True"), reason=reason or f"Job{name}", message=f"step {second}"
        )
        status = set_condition(status, condition, NOON + timedelta(seconds=second))
    return status


def shown(status: JobStatus) -> list[str]:
    return [f"{c.type} {c.status[0]}" for c in status.conditions]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["Created", "Running", "Succeeded"], ["Running F", "Created T", "Succeeded T"]),
        (["Created", "Succeeded"], ["Created T", "Succeeded T"]),
        (["Created", "Running", "Failed"], ["Running F", "Created T", "Failed T"]),
        (["Created", "Running", "Restarting"], ["Created T", "Restarting T"]),
        (["Created", "Running", "Restarting", "Running"], ["Created T", "Running T"]),
        (["Created", "Restarting", "Failed"], ["Restarting F", "Created T", "Failed T"]),
        (["Created", "Suspended"], ["Created T", "Suspended T"]),
        (
            ["Created", "Running", "Running=False:JobSuspended", "Suspended"],
            ["Running F", "Created T", "Suspended T"],
        ),
        (
            ["Created", "Running", "Running=False:JobSuspended", "Suspended", "Suspended=False:JobResumed"],
            ["Running F", "Suspended F", "Created T"],
        ),
        (
            ["Created", "Suspended", "Suspended=False:JobResumed", "Running"],
            ["Suspended F", "Created T", "Running T"],
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value[0], str) and " " not in value[0] else "",
)
def test_typical_histories(steps: list[str], expected: list[str]) -> None:
    assert shown(after(*steps)) == expected


@pytest.mark.shows("E-073")
def test_equal_status_and_reason_change_nothing() -> None:
    status = after("Created")
    again = JobCondition(type="Created", status=ConditionStatus.TRUE, reason="JobCreated", message="another")
    assert set_condition(status, again, NOON + timedelta(hours=1)) is status


@pytest.mark.shows("E-074")
def test_only_the_reason_changes() -> None:
    condition = find(after("Created", "Created=True:Other"), "Created")
    assert condition is not None
    assert (condition.reason, condition.message) == ("Other", "step 1")
    assert condition.last_transition_time == NOON
    assert condition.last_update_time == NOON + timedelta(seconds=1)


def test_transition_time_moves_with_the_status() -> None:
    condition = find(after("Suspended", "Suspended=False"), "Suspended")
    assert condition is not None
    assert condition.last_transition_time == condition.last_update_time == NOON + timedelta(seconds=1)


@pytest.mark.shows("E-075")
def test_a_changed_condition_becomes_the_last_of_its_kind() -> None:
    assert shown(after("Created", "Suspended", "Created=True:Again")) == ["Suspended T", "Created T"]
    assert shown(after("Created=False", "Suspended=False", "Created=False:Again")) == ["Suspended F", "Created F"]


@pytest.mark.shows("E-076")
def test_setting_running_or_restarting_to_false_removes_the_other_too() -> None:
    assert shown(after("Running", "Restarting=False")) == ["Restarting F"]
    assert shown(after("Restarting", "Running=False")) == ["Running F"]


@pytest.mark.shows("E-077")
def test_running_keeps_its_reason_and_times_when_the_job_ends() -> None:
    running = find(after("Running", "Succeeded"), "Running")
    assert running is not None
    assert (running.status, running.reason, running.message) == ("False", "JobRunning", "step 0")
    assert running.last_transition_time == running.last_update_time == NOON


@pytest.mark.shows("E-078")
@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
@pytest.mark.parametrize(
    "late", ["Succeeded", "Failed", "Running", "Restarting", "Created=False", "Suspended", "Failed=False"]
)
def test_nothing_changes_a_finished_job(end: str, late: str) -> None:
    finished = after("Created", "Running", end)
    assert is_finished(finished)
    assert after(late, status=finished) is finished


def test_foreign_conditions_are_kept() -> None:
    assert shown(after("Created", "Quota", "Quota=False", "Running")) == ["Quota F", "Created T", "Running T"]


def test_times_are_stored_as_utc_without_fractions() -> None:
    now = datetime(2026, 1, 31, 14, 0, 0, 987654, tzinfo=timezone(timedelta(hours=2)))
    status = set_condition(JobStatus(), JobCondition(type="Created", status=ConditionStatus.TRUE), now)
    assert status.conditions[0].last_update_time == NOON


def test_questions() -> None:
    status = after("Created", "Suspended", "Suspended=False")
    assert (holds(status, "Created"), holds(status, "Suspended"), holds(status, "Failed")) == (True, False, False)
    assert find(status, "Failed") is None
    assert not is_finished(status)
    assert not is_finished(after("Succeeded=False"))


STEPS = st.lists(
    st.builds(
        "{}={}:{}".format, st.sampled_from([*ConditionType]), st.sampled_from(["True", "False"]), st.sampled_from("ab")
    )
)


@given(STEPS)
def test_invariants_of_every_history(steps: list[str]) -> None:
    status = after(*steps)
    types = [c.type for c in status.conditions]
    assert len(types) == len(set(types)), "one condition of each type"
    assert not {"Running", "Restarting"} <= set(types), "running and restarting exclude each other"
    truths = [c.status == ConditionStatus.TRUE for c in status.conditions]
    assert truths == sorted(truths), "what does not hold comes first"
    assert not (holds(status, "Succeeded") and holds(status, "Failed"))
    if is_finished(status):
        assert not holds(status, "Running")
        assert not holds(status, "Restarting")
        assert types[-1] in ("Succeeded", "Failed")
