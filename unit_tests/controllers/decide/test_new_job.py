from __future__ import annotations

from typing import Any

import pytest
from unit_tests.controllers.builders import START, make_job, pod

from training_controllers.decide.new_job import creates_pods_first
from training_controllers.model.plan import NewPod, Plan, Slot, Snapshot

CAUSE = ("Quota", "no room")


@pytest.mark.parametrize(
    ("pods", "seen", "first"),
    [
        (1, {}, True),
        (32, {}, True),
        (0, {}, False),
        (33, {}, False),
        (1, {"pods": [pod("Worker", 0, "Pending")]}, False),
        (1, {"create_errors": {("pod", "Worker"): CAUSE}}, False),
        (1, {"owned_errors": {"ConfigMap": CAUSE}}, False),
    ],
)
def test_the_first_few_pods_of_a_job_come_before_its_status(pods: int, seen: dict[str, Any], first: bool) -> None:
    snapshot = Snapshot(**{"job": make_job("JAXJob", {"Worker": 2}), "pods": (), "services": (), "now": START, **seen})
    plan = Plan(create_pods=tuple(NewPod(Slot("Worker", index)) for index in range(pods)))
    assert creates_pods_first(snapshot, plan) is first
