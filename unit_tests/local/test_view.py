"""What people, pipes and programs see of a job."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from rich.console import Console

from training_api.registry import KINDS
from training_local.follow import JobProgress, JobRef, Replica, replica_of
from training_local.view import JsonView, LiveView, PlainView, choose_view

JOB = JobRef(KINDS["JAXJob"], "default", "linear")
RUNNING = {"type": "Running", "status": "True", "message": "JAXJob default/linear is running."}
SUCCEEDED = {"type": "Succeeded", "status": "True", "message": "done"}
WORKER = Replica("linear-worker-0", "worker", 0, "Running", "0", 0, "")
ENDED = Replica("linear-worker-0", "worker", 0, "Succeeded", "0", 2, "0 Completed")


def clock(*moments: float) -> Callable[[], float]:
    readings = iter(moments)
    return lambda: next(readings)


def test_lines_are_printed_once_per_change() -> None:
    out = io.StringIO()
    view = PlainView(JOB, out, clock(0, 1, 2, 3))
    view.progress(JobProgress((RUNNING,), (WORKER,)))
    view.progress(JobProgress((RUNNING,), (WORKER,)))
    view.line(WORKER, "step 1/2 loss 3")
    view.progress(JobProgress((RUNNING,), (ENDED,)))
    assert out.getvalue().splitlines() == [
        "   1.0s JAXJob default/linear Running: JAXJob default/linear is running.",
        "   2.0s linear-worker-0 Running (node rank 0)",
        "linear-worker-0 | step 1/2 loss 3",
        "   3.0s linear-worker-0 Succeeded (node rank 0, 2 restarts, ended with 0 Completed)",
    ]


def test_json_lines_can_be_read_by_programs() -> None:
    out = io.StringIO()
    view = JsonView(out)
    view.progress(JobProgress((RUNNING,), (WORKER,)))
    view.line(WORKER, 'quote " and newline')
    progress, log = map(json.loads, out.getvalue().splitlines())
    assert progress["progress"]["state"] == "Running"
    assert progress["progress"]["replicas"][0]["phase"] == "Running"
    assert log == {"log": {"pod": "linear-worker-0", "text": 'quote " and newline'}}


def test_the_picture_has_replicas_progress_and_the_last_lines() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=40, _environ={})
    now = 0.0
    view = LiveView(JOB, console, lambda: now)
    view.progress(JobProgress((RUNNING,), (ENDED,)))
    for step in range(1, 13):
        view.line(WORKER, f"step {step}/40 loss 0.5")
    now = 7.5
    view.close()
    last = out.getvalue().split("JAXJob default/linear")[-1]
    assert "Running" in last
    assert "7.5 s" in last
    assert "12/40" in last
    assert "0 Completed" in last
    assert "step 12/40" in last
    assert "step 4/40" not in last  # only the last lines are kept


def test_a_pipe_gets_lines_and_json_is_asked_for() -> None:
    assert isinstance(choose_view(JOB, as_json=False), PlainView)
    assert isinstance(choose_view(JOB, as_json=True), JsonView)


@pytest.mark.parametrize(
    ("conditions", "state", "outcome"),
    [
        ((), "", ""),
        ((RUNNING,), "Running", ""),
        (({**RUNNING, "status": "False"}, SUCCEEDED), "Succeeded", "Succeeded"),
        (({**SUCCEEDED, "type": "Failed", "status": "False"}, RUNNING), "Running", ""),
    ],
)
def test_state_and_outcome_follow_the_conditions(
    conditions: tuple[dict[str, str], ...], state: str, outcome: str
) -> None:
    progress = JobProgress(conditions)
    assert (progress.state, progress.outcome) == (state, outcome)


def test_a_pod_is_reduced_to_rank_restarts_and_its_last_end() -> None:
    pod = {
        "metadata": {
            "name": "p-worker-1",
            "labels": {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1"},
        },
        "spec": {"containers": [{"name": "pytorch", "env": [{"name": "RANK", "value": "2"}]}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [
                {
                    "restartCount": 3,
                    "state": {"running": {}},
                    "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                }
            ],
        },
    }
    assert replica_of(pod) == Replica("p-worker-1", "worker", 1, "Running", "2", 3, "137 OOMKilled")
