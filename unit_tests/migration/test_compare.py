from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as replaced
from typing import Any

import msgspec
import pytest

from training_migration.compare import Comparison, Outcome, Tolerance, compare
from training_migration.comparison.rows import Answer, Row
from training_migration.runs.record import EndState, LeftOver, Pod, Process, Ref, RunRecord, Series, Side

V1_PLACES = (("master", 0), ("worker", 0), ("worker", 1))
V2_PLACES = (("node", 0), ("node", 1), ("node", 2))
Places = Sequence[tuple[str, int]]


def pods(places: Places, exit_code: int | None = 0, restarts: int | None = 0) -> tuple[Pod, ...]:
    return tuple(Pod(role, index, exit_code, restarts) for role, index in places)


def group(places: Places, each: int = 1) -> tuple[Process, ...]:
    """One group of all pods with so many processes in each."""
    size = len(places) * each
    return tuple(
        Process(role, index, node * each + local, size, local)
        for node, (role, index) in enumerate(places)
        for local in range(each)
    )


def alone(places: Places) -> tuple[Process, ...]:
    return tuple(Process(role, index, 0, 1, 0) for role, index in places)


def run(side: Side, places: Places, **fields: Any) -> RunRecord:
    kind = "PyTorchJob" if side is Side.V1 else "TrainJob"
    settled: dict[str, Any] = {"end": EndState.SUCCEEDED, "pods": pods(places), "processes": group(places)}
    return RunRecord(side=side, ref=Ref(kind, "team", "mnist"), **(settled | fields))


GOOD_V1 = run(Side.V1, V1_PLACES)
GOOD_V2 = run(Side.V2, V2_PLACES)


changed = msgspec.structs.replace


def row(comparison: Comparison, aspect: str) -> Row:
    return next(each for each in comparison.rows if each.aspect == aspect)


def test_equal_runs_are_equal() -> None:
    comparison = compare(GOOD_V1, GOOD_V2)
    assert comparison.outcome is Outcome.EQUAL
    assert comparison.headline == "The same training happened on both sides."
    assert row(comparison, "ranks") == Row("ranks", "ranks 0 to 2 of 3", "ranks 0 to 2 of 3", Answer.EQUAL)


def test_that_every_node_trains_alone_is_reported_although_both_sides_succeeded() -> None:
    comparison = compare(GOOD_V1, changed(GOOD_V2, processes=alone(V2_PLACES)))
    assert comparison.outcome is Outcome.DIFFERENT
    assert comparison.headline == (
        "Not the same training: on v2 every node trains alone, while v1 had ranks 0 to 2 of 3."
    )
    assert row(comparison, "ranks").v2 == "3 pods, each alone"


@pytest.mark.parametrize(("role", "outcome"), [("worker", Outcome.EQUAL), ("launcher", Outcome.INCONCLUSIVE)])
def test_the_workers_of_mpi_need_no_exit_code_since_nothing_in_them_ends(role: str, outcome: Outcome) -> None:
    places = (("launcher", 0), ("worker", 0)), (("launcher", 0), ("node", 0))
    seen = tuple(Pod(name, 0, None if name == role else 0, 0) for name, _ in places[0])
    trained = [(Process(name, 0, 0, 1, 0),) for name in ("worker", "node")]
    v1 = changed(run(Side.V1, places[0], pods=seen, processes=trained[0]), ref=Ref("MPIJob", "team", "mnist"))
    assert compare(v1, run(Side.V2, places[1], processes=trained[1])).outcome is outcome


def test_a_node_with_several_processes_can_be_alone_as_well() -> None:
    own = tuple(Process("node", index, local, 2, local) for index in range(3) for local in range(2))
    comparison = compare(changed(GOOD_V1, processes=group(V1_PLACES, 2)), changed(GOOD_V2, processes=own))
    assert "on v2 every node trains alone" in comparison.headline


def test_pods_that_never_initialise_are_alone() -> None:
    silent = tuple(Process(role, index) for role, index in V2_PLACES)
    assert compare(GOOD_V1, changed(GOOD_V2, processes=silent)).headline.startswith(
        "Not the same training: on v2 every node trains alone"
    )


@pytest.mark.parametrize(
    ("v1", "v2", "aspect", "answer", "reason"),
    [
        ({}, {"processes": None}, "ranks", "inconclusive", "there was no witness on v2"),
        ({"processes": None}, {"processes": None}, "ranks", "inconclusive", "there was no witness on either side"),
        ({}, {"processes": group(V2_PLACES)[:2]}, "ranks", "inconclusive", "on v2 1 of the ranks were not seen"),
        ({}, {"processes": group(V2_PLACES, 2)}, "ranks", "different",
         "v1 had ranks 0 to 2 of 3, v2 had ranks 0 to 5 of 6"),
        ({}, {"processes": (*group(V2_PLACES)[:2], Process("node", 2, 1, 3, 0))}, "ranks", "different",
         "on v2 several processes had one rank"),
        ({"processes": tuple(Process(*place) for place in V1_PLACES)},
         {"processes": tuple(Process(*place) for place in V2_PLACES)}, "ranks", "inconclusive",
         "no process initialised distributed training on either side"),
        ({"processes": group(V1_PLACES[:1])}, {"processes": (Process(*V2_PLACES[0]),)}, "ranks", "different",
         "on v2 no process initialised distributed training"),
        ({}, {"end": EndState.FAILED, "reasons": ("FailedJobs",)}, "end state", "different", "v1 succeeded, v2 failed"),
        ({}, {"end": EndState.REJECTED}, "end state", "different", "v1 succeeded, v2 was rejected"),
        ({}, {"end": EndState.TIMED_OUT}, "end state", "inconclusive", "v2 did not end in time"),
        ({"end": EndState.UNKNOWN}, {}, "end state", "inconclusive", "v1 has an unknown end"),
        ({}, {"pods": pods(V2_PLACES, exit_code=1)}, "exit codes", "different",
         "exit codes differ (master 0: 0 on v1, 1 on v2, worker 0: 0 on v1, 1 on v2, worker 1: 0 on v1, 1 on v2)"),
        ({}, {"pods": pods(V2_PLACES, exit_code=None)}, "exit codes", "inconclusive",
         "exit codes of master 0, worker 0, worker 1 were not seen on both sides"),
        ({"pods": ()}, {"pods": ()}, "exit codes", "inconclusive", "exit codes were not seen on both sides"),
        ({}, {"pods": pods(V2_PLACES[:2])}, "exit codes", "different",
         "exit codes differ (worker 1 of v1 has no partner)"),
        ({}, {"pods": pods(V2_PLACES, restarts=2)}, "restarts", "different",
         "restarts differ (master 0: 0 on v1, 2 on v2, worker 0: 0 on v1, 2 on v2, worker 1: 0 on v1, 2 on v2)"),
        ({"duration": 10.0}, {"duration": 20.0}, "duration", "note", "v2 took more than 1.5 times as long"),
        ({"duration": 10.0}, {"duration": 14.0}, "duration", "equal", ""),
        ({}, {"left_over": (LeftOver("node", 0, "Running"),)}, "left-over pods", "note",
         "v2 left pods that have not finished"),
        ({"left_over": (LeftOver("worker", 0, "Running"),)}, {}, "left-over pods", "note", ""),
        ({"left_over": (LeftOver("worker", 0, "Failed"),), "clean_pod_policy": "All"}, {}, "left-over pods", "note",
         "v1 left pods that its policy All deletes"),
    ],
)  # fmt: skip
def test_every_aspect_is_judged(v1: dict[str, Any], v2: dict[str, Any], aspect: str, answer: str, reason: str) -> None:
    found = row(compare(changed(GOOD_V1, **v1), changed(GOOD_V2, **v2)), aspect)
    assert (found.answer, found.reason) == (answer, reason)


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        ("equal note", Outcome.EQUAL),
        ("equal inconclusive note", Outcome.INCONCLUSIVE),
        ("inconclusive different", Outcome.DIFFERENT),
    ],
)
def test_missing_evidence_is_neither_equal_nor_stronger_than_a_difference(answers: str, outcome: Outcome) -> None:
    rows = tuple(Row("x", "", "", Answer(each), "why") for each in answers.split())
    comparison = replaced(compare(GOOD_V1, GOOD_V2), rows=rows)
    assert comparison.outcome is outcome


def losses(*values: float | None, rank: int = 0) -> tuple[Series, ...]:
    return (Series("loss", rank, tuple(enumerate(values))),)


@pytest.mark.parametrize(
    ("v1", "v2", "tolerance", "answer", "reason"),
    [
        (losses(1.0, 0.5), losses(9.0), None, "note", "metrics are compared only with a tolerance"),
        (losses(1.0, 0.5), losses(1.0, 0.504), 0.01, "equal", ""),
        (losses(1.0, 0.5), losses(1.0, 0.6), 0.01, "different",
         "loss of rank 0 at step 1 is 0.5 on v1, 0.6 on v2, more than 0.01 apart"),
        (losses(1.0, None), losses(1.0, None), 0.01, "equal", ""),
        (losses(1.0, 0.5), losses(1.0, None), 0.01, "different",
         "loss of rank 0 at step 1 is 0.5 on v1, no number on v2, more than 0.01 apart"),
        (losses(1.0), losses(1.0, rank=1), 0.01, "inconclusive", "loss of rank 0 is missing on v2"),
        (losses(1.0), losses(), 0.01, "inconclusive", "loss of rank 0 is missing on v2"),
        (losses(0.0, 0.0), losses(0.0, 0.0), 0.0, "equal", ""),
        (losses(1.0), (Series("loss", 0, ((5, 1.0),)),), 0.01, "inconclusive",
         "loss of rank 0 has no step on both sides"),
    ],
)  # fmt: skip
def test_metrics_are_compared_step_by_step_within_a_tolerance(
    v1: tuple[Series, ...], v2: tuple[Series, ...], tolerance: float | None, answer: str, reason: str
) -> None:
    comparison = compare(
        changed(GOOD_V1, metrics=v1), changed(GOOD_V2, metrics=v2), tolerance=Tolerance(metrics=tolerance)
    )
    found = row(comparison, "metric loss")
    assert (found.answer, found.reason) == (answer, reason)


def test_a_tolerance_without_any_metric_is_inconclusive() -> None:
    comparison = compare(GOOD_V1, GOOD_V2, tolerance=Tolerance(metrics=0.1))
    assert comparison.headline == "Not enough evidence: no metrics were recorded."


def hearing(places: Places, peers: Sequence[Sequence[int]]) -> tuple[Process, ...]:
    return tuple(changed(each, peers=tuple(peers[each.rank or 0])) for each in group(places))


def test_peers_are_compared_where_they_were_asked() -> None:
    heard_by_all = hearing(V1_PLACES, [[1, 2], [0], [0]])
    same = compare(
        changed(GOOD_V1, processes=heard_by_all), changed(GOOD_V2, processes=hearing(V2_PLACES, [[2, 1], [0], [0]]))
    )
    assert row(same, "peers").answer is Answer.EQUAL
    lost = compare(
        changed(GOOD_V1, processes=heard_by_all), changed(GOOD_V2, processes=hearing(V2_PLACES, [[1], [0], []]))
    )
    assert row(lost, "peers").reason == "rank 0, 2 heard from others than on v1"
    unasked = compare(changed(GOOD_V1, processes=heard_by_all), GOOD_V2)
    assert row(unasked, "peers").reason == "peers were not asked on v2"
    assert all(each.aspect != "peers" for each in compare(GOOD_V1, GOOD_V2).rows)


def test_task_types_are_groups_of_their_own() -> None:
    def tasks() -> tuple[Process, ...]:
        return (
            Process("chief", 0, 0, 1, group="chief"),
            *(Process("worker", index, index, 2, group="worker") for index in range(2)),
        )

    v1 = changed(GOOD_V1, ref=Ref("TFJob", "team", "mnist"), processes=tasks())
    comparison = compare(v1, changed(GOOD_V2, processes=tasks()))
    assert row(comparison, "ranks").v1 == "chief rank 0 of 1, worker ranks 0, 1 of 2"
    assert row(comparison, "ranks").answer is Answer.EQUAL


def test_a_process_that_started_twice_counts_once() -> None:
    twice = (*group(V2_PLACES), group(V2_PLACES)[1])
    assert compare(GOOD_V1, changed(GOOD_V2, processes=twice)).outcome is Outcome.EQUAL


def test_variables_of_one_side_only_are_reported_without_a_judgement() -> None:
    def with_variables(record: RunRecord, *names: str) -> RunRecord:
        return changed(record, pods=tuple(changed(pod, environment=dict.fromkeys(names, "1")) for pod in record.pods))

    comparison = compare(with_variables(GOOD_V1, "RANK", "MASTER_ADDR"), with_variables(GOOD_V2, "RANK", "PET_NNODES"))
    assert row(comparison, "environment").reason == "only on v1: MASTER_ADDR; only on v2: PET_NNODES"
    assert comparison.outcome is Outcome.EQUAL
