"""Records made of what was seen: pods by place, processes by the witness, metrics by pattern."""

from __future__ import annotations

import json
from typing import Any

import pytest

from training_migration.runs.inside.sitecustomize import MARKER
from training_migration.runs.record import EndState, LeftOver, Process, Ref, Side
from training_migration.runs.recording import BadPattern, Metric, Seen, record_of

Json = dict[str, Any]
REF = Ref(kind="PyTorchJob", namespace="team", name="job")


def pod(name: str, role: str, index: int, code: int | None = None, restarts: int = 0) -> Json:
    state: Json = {"running": {}} if code is None else {"terminated": {"exitCode": code}}
    labels = {"training.kubeflow.org/replica-type": role, "training.kubeflow.org/replica-index": str(index)}
    status = {"name": "pytorch", "restartCount": restarts, "state": state}
    env = [{"name": "RANK", "value": "7"}, {"name": "TOKEN", "value": "secret"}]
    return {
        "metadata": {"name": name, "uid": name, "labels": labels},
        "spec": {"containers": [{"name": "pytorch", "env": env}]},
        "status": {
            "phase": "Running" if code is None else "Failed" if code else "Succeeded",
            "containerStatuses": [status],
        },
    }


def met(host: str, rank: int, size: int, at: float = 101.0, **more: Any) -> str:
    line = {
        "event": "met",
        "rank": rank,
        "worldSize": size,
        "host": host,
        "time": at,
        "variables": {"RANK": str(rank)},
    }
    return MARKER + json.dumps({**line, **more})


def alone(host: str) -> str:
    return MARKER + json.dumps({"event": "alone", "host": host, "time": 103.0, "variables": {}})


def run(
    *pods: Json, logs: dict[str, list[list[str]]], witnessed: bool = True, gone: frozenset[str] = frozenset()
) -> Seen:
    by_uid = {each["metadata"]["uid"]: each for each in pods}
    known = {"master": "pytorch", "worker": "pytorch"}
    seen = Seen(Side.V1, REF, "local", 100.0, known, witnessed, EndState.SUCCEEDED, ended=110.0, pods=by_uid, gone=gone)
    seen.logs = logs
    return seen


def test_each_process_is_in_the_pod_whose_host_name_it_has() -> None:
    """The ranks of MPI run in the workers, what they print is in the launcher's log."""
    lines = [met("job-worker-0", 0, 2), met("job-worker-1", 1, 2)]
    pods = (pod("job-launcher", "launcher", 0, 0), pod("job-worker-0", "worker", 0), pod("job-worker-1", "worker", 1))
    record = record_of(run(*pods, logs={"job-launcher": [lines]}), [])
    assert [(p.role, p.index, p.rank) for p in record.processes or ()] == [("worker", 0, 0), ("worker", 1, 1)]
    assert record.time_to_first_rank == 1.0
    assert record.duration == 10.0


def test_a_host_is_the_same_with_and_without_its_domain() -> None:
    pods = (pod("job-launcher", "launcher", 0, 0), pod("job-worker-0", "worker", 0))
    record = record_of(run(*pods, logs={"job-launcher": [[met("job-worker-0.job", 0, 1)]]}), [])
    assert [(p.role, p.rank) for p in record.processes or ()] == [("worker", 0)]


def test_a_pod_whose_programs_never_met_others_has_a_process_without_a_rank() -> None:
    logs = {"a": [[alone("a")]], "b": [[alone("b"), met("b", 0, 1)]]}
    record = record_of(run(pod("a", "worker", 0, 0), pod("b", "worker", 1, 0), logs=logs), [])
    assert record.processes == (
        Process(role="worker", index=1, rank=0, world_size=1),
        Process(role="worker", index=0, rank=None),
    )


def test_without_a_witness_nothing_is_said_about_processes() -> None:
    assert record_of(run(pod("a", "worker", 0, 0), logs={}, witnessed=False), []).processes is None


def test_only_the_last_life_of_a_pod_counts_and_the_others_are_restarts() -> None:
    lives = pod("old", "worker", 0, 137, restarts=1), pod("new", "worker", 0, 0, restarts=2)
    logs = {"old": [[met("old", 0, 1)]], "new": [[met("new", 1, 2)], [met("new", 2, 4)]]}
    record = record_of(run(*lives, logs=logs, gone=frozenset({"old"})), [])
    assert [(p.exit_code, p.restarts) for p in record.pods] == [(0, 4)]
    assert [(p.rank, p.world_size) for p in record.processes or ()] == [(2, 4)]
    assert record.left_over == (LeftOver(role="worker", index=0, phase="Succeeded"),)


def test_the_environment_is_that_of_the_process_else_what_the_pod_states_of_the_wiring() -> None:
    result = record_of(run(pod("a", "worker", 0, 0), logs={"a": [[met("a", 3, 4)]]}), [])
    stated = record_of(run(pod("a", "worker", 0, 0), logs={}), [])
    assert result.pods[0].environment == {"RANK": "3"}
    assert stated.pods[0].environment == {"RANK": "7"}, "no secret, no other variable"


def test_metrics_belong_to_the_rank_of_their_pod() -> None:
    logs = {"a": [[met("a", 1, 2), "epoch 1 loss=0.5", "loss=nan"]], "b": [["step 10 loss 2e-3"]]}
    metrics = [Metric.parse("loss=([0-9.]+|nan)"), Metric.parse(r"step (?P<step>\d+) loss (?P<error>\S+)")]
    record = record_of(run(pod("a", "worker", 0, 0), pod("b", "worker", 1, 0), logs=logs), metrics)
    assert [(s.name, s.rank, s.points) for s in record.metrics or ()] == [
        ("loss", 1, ((1, 0.5), (2, None))),
        ("error", 1, ((10, 0.002),)),
    ]


@pytest.mark.parametrize("text", ["loss", "loss=(", r"step (?P<step>\d+)"])
def test_a_pattern_without_a_group_for_the_value_is_rejected(text: str) -> None:
    with pytest.raises(BadPattern, match="--metric"):
        Metric.parse(text)
