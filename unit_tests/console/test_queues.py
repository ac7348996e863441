"""Where a job stands in Kueue's queue: as Kueue says, or computed where it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from unit_tests.console.served import condition

from training_console.model.queues import Position, WorkloadRow, computed, said, workloads
from training_console.reading.feeds import NotAllowed
from training_console.reading.positions import FRESH_SECONDS, MOST_QUEUES, SILENT_SECONDS, Positions

SUMMARY = {
    "kind": "PendingWorkloadsSummary",
    "items": [
        {
            "metadata": {"name": name, "namespace": "team"},
            "priority": 0,
            "localQueueName": "queue",
            "positionInClusterQueue": 3 * place,
            "positionInLocalQueue": place,
        }
        for place, name in enumerate(("first", "second"))
    ],
}
"""As Kueue's visibility API answers: places from 0."""


def workload(
    name: str, created: str, priority: int = 0, *conditions: Mapping[str, Any], queue: str = "queue"
) -> WorkloadRow:
    metadata = {"name": name, "namespace": "team", "uid": name, "resourceVersion": "1", "creationTimestamp": created}
    spec = {"queueName": queue, "priority": priority}
    stored = {"metadata": metadata, "spec": spec, "status": {"conditions": list(conditions)}}
    return workloads().decode(msgspec.json.encode(stored))


EARLY, LATE, LATEST = (f"2026-01-01T12:00:0{second}Z" for second in (1, 2, 3))


def test_the_order_is_by_priority_then_by_age_and_of_those_that_wait() -> None:
    timeout = {**condition("Evicted", at=LATEST), "reason": "PodsReadyTimeout"}
    rows = [
        workload("old", EARLY),
        workload("urgent", LATE, 10),
        workload("young", LATE),
        workload("evicted", EARLY, 0, timeout),
        workload("preempted", EARLY, 5, {**condition("Evicted", at=LATEST), "reason": "Preempted"}),
        workload("runs", EARLY, 0, condition("QuotaReserved"), condition("Admitted")),
        workload("elsewhere", EARLY, queue="other"),
    ]
    places = {uid: position.place for uid, position in computed(rows).items()}
    assert places == {"urgent": 1, "preempted": 2, "old": 3, "young": 4, "evicted": 5, "elsewhere": 1}
    assert computed(rows)["old"].of == 5
    assert "Kueue has not reported it" in computed(rows)["old"].sentence


def test_what_kueue_has_not_tried_says_so() -> None:
    assert workload("w", EARLY).why == "Kueue has not tried to admit it yet."
    assert workload("w", EARLY, 0, condition("QuotaReserved", "no GPUs", "False")).why == "no GPUs"
    assert workload("w", EARLY, 0, condition("QuotaReserved"), condition("Admitted", "m")).why == ""


def test_what_kueue_says_is_taken_as_it_is() -> None:
    assert said(SUMMARY) == {("team", "first"): Position(1, 2, 1), ("team", "second"): Position(2, 2, 4)}
    assert said(SUMMARY)["team", "second"].sentence == "2 of 2 in its queue, 4 in the cluster queue, says Kueue"


class Kueue:
    """Answers like the API server, and counts."""

    def __init__(self, *answers: Mapping[str, Any] | Exception | None) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def get(self, path: str, _query: Mapping[str, str]) -> Mapping[str, Any] | None:
        self.asked.append(path)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


WAITING = [workload("first", LATE), workload("second", EARLY)]


async def test_kueue_is_asked_once_for_all_pages() -> None:
    kueue = Kueue(None, SUMMARY)
    positions = Positions(kueue.get)
    for _ in range(3):
        places = await positions.of(WAITING)
        assert places["second"] == Position(2, 2, 4), "though it is older"
    assert [path.split("/")[3] for path in kueue.asked] == ["v1beta2", "v1beta1"], "the second where the first is not"
    assert kueue.asked[1].endswith("/v1beta1/namespaces/team/localqueues/queue/pendingworkloads")


@pytest.mark.parametrize("answer", [NotAllowed("no"), {"items": [{}]}])
async def test_where_kueue_says_nothing_the_place_is_computed(
    answer: Mapping[str, Any] | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    kueue, positions, now = Kueue(answer, SUMMARY), None, [1000.0]
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now[0], raising=False)
    positions = Positions(kueue.get)
    assert (await positions.of(WAITING))["second"] == Position(1, 2)
    now[0] += 2 * FRESH_SECONDS
    assert (await positions.of(WAITING))["second"] == Position(1, 2)
    assert len(kueue.asked) == 1, "a rejected request is not sent again at once"
    now[0] += SILENT_SECONDS
    assert (await positions.of(WAITING))["second"] == Position(2, 2, 4)


async def test_a_page_asks_about_so_many_queues_and_no_more() -> None:
    many = [workload(f"w{n}", EARLY, queue=f"q{n}") for n in range(2 * MOST_QUEUES)]
    kueue = Kueue(*[SUMMARY] * len(many))
    places = await Positions(kueue.get).of(many)
    assert len(kueue.asked) == MOST_QUEUES
    assert len(places) == len(many)
