"""A decision as a whole: which policy answers, and what of the snapshot it is given."""

from __future__ import annotations

from dataclasses import replace

import pytest
from e2e.support.every_kind import every_framework
from unit_tests.controllers.builders import World, world
from unit_tests.controllers.decide.test_gang import gang
from unit_tests.controllers.decide.test_pod_group import mixed

from training_controllers.decide.decide import decide
from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler


def test_the_plan_names_the_policy_that_answered_for_the_log() -> None:
    w = world("JAXJob", {"Worker": 1})
    assert w.step().policy == "run_replicas"
    w.settle()
    w.report("Succeeded", exit_code=0)
    assert w.step().policy == "settle_finished"
    assert world("JAXJob", {"Worker": 1}, run_policy={"suspend": True}).step().policy == "hold_suspended"
    assert gang().step().policy == "wait_for_gang"


@pytest.mark.parametrize(("priorities", "cpu"), [({}, "1"), ({"high": 1}, "4"), ({"low": -1}, "4")])
def test_a_gang_asks_first_for_what_the_most_urgent_class_of_pods_requests(
    priorities: dict[str, int], cpu: str
) -> None:
    w = World(mixed(minAvailable=1), "PyTorchJob")
    w.own_framework = every_framework(FrameworkOptions(gang=gang_scheduler("volcano")))["PyTorchJob"]
    (change,) = decide(replace(w.snapshot(), priorities=priorities), w.framework).owned_changes
    assert change.wanted is not None
    assert change.wanted.fields["spec"]["minResources"]["cpu"] == cpu
