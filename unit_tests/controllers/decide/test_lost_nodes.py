"""Pods on nodes that are gone or not ready are deleted by force after a while, if a flag asks for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND, led
from unit_tests.controllers.builders import START, World, conditions, message, texts, world

from training_controllers.decide.decide import decide
from training_controllers.model.plan import Plan
from training_controllers.observe.lost_nodes import lost_since

LOST_AT = START + timedelta(minutes=5)


def running(
    kind: str = "JAXJob", restart: str = "OnFailure", annotations: dict[str, str] | None = None, **run: Any
) -> World:
    """A job whose worker 1 runs on node `lost`, and all others on node `well`."""
    w = world(kind, led(kind), restart=restart, run_policy=run)
    prefix = "extension.training.kubeflow.org/"
    w.stored["metadata"]["annotations"] = {prefix + name: value for name, value in (annotations or {}).items()}
    w.settle()
    w.set_pods("Running")
    for name, each in w.pods.items():
        w.pods[name] = msgspec.structs.replace(each, node="lost" if name == "sim-worker-1" else "well")
    w.settle()
    w.events.clear()
    return w


def decide_at(w: World, at: datetime) -> Plan:
    """Decide while node `lost` is lost, at some moment; nothing of it comes true but the status."""
    plan = decide(replace(w.snapshot(), lost_nodes={"lost": LOST_AT}, now=at), w.framework)
    w.status = plan.status or w.status
    return plan


def change(w: World, **fields: Any) -> None:
    w.pods["sim-worker-1"] = msgspec.structs.replace(w.pods["sim-worker-1"], **fields)


@pytest.mark.shows("K-02")
@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("phase", ["Running", "Pending", "Unknown"])
def test_the_pods_of_a_lost_node_are_replaced_when_its_time_has_come(kind: str, phase: str) -> None:
    w = running(kind)
    change(w, phase=phase)
    early = decide_at(w, LOST_AT - timedelta(seconds=20))
    assert (early.delete_pods, early.requeue_after) == ((), 20)
    plan = decide_at(w, LOST_AT)
    assert [(each.pod.name, each.force) for each in plan.delete_pods] == [("sim-worker-1", True)]
    assert texts(plan.events) == [
        "Warning PodDisrupted pod sim-worker-1 was disrupted (NodeLost: node lost does not exist or is not ready): "
        "it is replaced; this does not count as a restart",
        "Warning LostNode pod sim-worker-1 is deleted by force because its node lost is lost",
    ]
    assert w.status.replica_statuses["Worker"].restarts == 0
    assert w.status.replica_statuses["Worker"].active == (2 if kind == "JAXJob" else 1)
    assert conditions(w.status)[-1] == "Running=True"


def test_without_lost_nodes_nothing_is_forced() -> None:
    w = running()
    change(w, deleting=True, stops_by=START)
    w.advance(10**6)
    plan = w.decide()
    assert (plan.delete_pods, plan.requeue_after) == ((), None)


@pytest.mark.parametrize("grace", [0, 60])
def test_a_pod_that_is_being_deleted_keeps_its_grace_period(grace: int) -> None:
    w = running()
    stops_by = LOST_AT + timedelta(seconds=grace)
    change(w, deleting=True, stops_by=stops_by)
    before = decide_at(w, stops_by - timedelta(seconds=1))
    assert (before.delete_pods, before.requeue_after) == ((), 1)
    plan = decide_at(w, stops_by)
    assert [(each.pod.name, each.force) for each in plan.delete_pods] == [("sim-worker-1", True)]
    assert [text for text in texts(plan.events) if "Disrupted" in text] == []
    # If the request fails, it is tried again with its own delays.
    assert plan.requeue_after != 0


def test_a_forced_deletion_that_is_tried_again_is_told_once() -> None:
    w = running()
    change(w, deleting=True, stops_by=START)
    first, again = decide_at(w, LOST_AT), decide_at(w, LOST_AT)
    assert {event.once for event in (*first.events, *again.events)} == {f"lost/{w.pods['sim-worker-1'].uid}"}


def test_a_pod_that_only_waits_for_its_finalizers_is_not_deleted_again_and_again() -> None:
    w = running()
    change(w, deleting=True, stops_by=None)
    plan = decide_at(w, LOST_AT + timedelta(hours=1))
    assert (plan.delete_pods, plan.requeue_after) == ((), None)


@pytest.mark.shows("K-13")
def test_a_replica_that_has_succeeded_is_not_run_again_when_its_node_goes() -> None:
    w = running()
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    assert decide_at(w, LOST_AT).delete_pods == ()
    del w.pods["sim-worker-1"]
    assert decide_at(w, LOST_AT).create_pods == ()


def test_disruptions_that_fail_a_job_do_so_for_lost_nodes() -> None:
    w = running(restart="Never")
    plan = decide_at(w, LOST_AT)
    assert plan.delete_pods == ()
    assert conditions(w.status)[-1] == "Failed=True"
    assert message(w.status, "Failed").endswith("Pod sim-worker-1: NodeLost: node lost does not exist or is not ready")


def test_disruptions_that_count_do_so_for_lost_nodes() -> None:
    w = running(annotations={"disruptions": "count"})
    plan = decide_at(w, LOST_AT)
    assert [(each.force, each.history and each.history.restarts) for each in plan.delete_pods] == [(True, 1)]
    assert w.status.replica_statuses["Worker"].restarts == 1


def test_a_job_that_restarts_as_a_whole_begins_its_next_attempt() -> None:
    w = running("PyTorchJob", annotations={"restart-scope": "job"})
    plan = decide_at(w, LOST_AT)
    assert {each.pod.name: each.force for each in plan.delete_pods} == {
        "sim-master-0": False,
        "sim-worker-0": False,
        "sim-worker-1": True,
    }
    assert w.status.attempt == 1


def test_what_is_left_of_an_earlier_attempt_on_a_lost_node_is_deleted_by_force() -> None:
    w = running("PyTorchJob", annotations={"restart-scope": "job"})
    w.lingering = True
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.step()
    assert w.status.attempt == 1
    for name in w.pods:
        w.pods[name] = msgspec.structs.replace(w.pods[name], deleting=True, stops_by=START)
    assert [each.pod.name for each in decide_at(w, LOST_AT).delete_pods] == ["sim-worker-1"]


@pytest.mark.parametrize(("policy", "left"), [("None", True), ("Running", False), ("All", False)])
def test_a_finished_job_is_cleaned_up_as_ever(policy: str, left: bool) -> None:
    w = running(cleanPodPolicy=policy, activeDeadlineSeconds=1)
    w.advance(1)
    w.step()
    plan = decide_at(w, LOST_AT)
    assert ("sim-worker-1" not in [each.pod.name for each in plan.delete_pods]) is left
    assert not any(each.force for each in plan.delete_pods)


def test_a_node_that_was_not_ready_before_it_went_has_been_lost_since_then() -> None:
    earlier, now = START, START + timedelta(minutes=3)
    assert lost_since({"a": earlier, "b": None}, {}, now) == {"a": earlier, "b": now}
    assert lost_since({"a": None, "b": None}, {"a": earlier}, now) == {"a": earlier, "b": now}
    assert lost_since({"a": now}, {"a": earlier}, now) == {"a": now}
    assert lost_since({}, {"a": earlier}, now) == {}
