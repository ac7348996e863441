"""The autoscaler of elastic PyTorchJobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import UID, World, conditions, world

from training_controllers.model.plan import OwnedVerb
from training_controllers.model.records import OwnedRecord, Owner

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def elastic(metrics: Sequence[object] | None = (CPU,), **options: Any) -> World:
    policy = {"minReplicas": 1, "maxReplicas": 3, **({} if metrics is None else {"metrics": list(metrics)})}
    return world("PyTorchJob", {"Worker": 2}, elasticPolicy=policy, **options)


KEY = ("HorizontalPodAutoscaler", "sim")


def spec_of(w: World) -> dict[str, Any]:
    return msgspec.json.decode(w.owned_objects[KEY].content, type=dict[str, Any])


def set_spec(w: World, spec: dict[str, Any]) -> None:
    w.owned_objects[KEY] = msgspec.structs.replace(w.owned_objects[KEY], content=msgspec.json.encode(spec))


@pytest.mark.shows("PT-032")
def test_an_elastic_job_with_metrics_has_an_autoscaler() -> None:
    w = elastic()
    assert [change.verb for change in w.decide().owned_changes] == [OwnedVerb.CREATE]
    w.settle()
    assert spec_of(w) == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "sim"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [CPU],
    }


@pytest.mark.shows("PT-035")
def test_a_job_without_metrics_has_no_autoscaler() -> None:
    w = elastic(None).settle()
    assert KEY not in w.owned_objects


def test_an_empty_list_of_metrics_counts_and_whatever_the_server_makes_of_it_stays() -> None:
    w = elastic(()).settle()
    set_spec(w, spec_of(w) | {"metrics": [CPU], "behavior": {}})
    assert w.step().owned_changes == ()


@pytest.mark.shows("PT-034")
@pytest.mark.parametrize(
    "change",
    [{"maxReplicas": 4}, {"metrics": []}, {"metrics": [CPU, CPU]}, {"scaleTargetRef": None}, {"metrics": {"a": 1}}],
)
def test_a_different_spec_is_replaced(change: dict[str, object]) -> None:
    w = elastic().settle()
    before = w.owned_objects[KEY]
    set_spec(w, spec_of(w) | change)
    (replacement,) = w.step().owned_changes
    assert replacement.verb is OwnedVerb.REPLACE
    assert replacement.record is not None
    assert replacement.record.uid == before.uid
    assert w.step().owned_changes == ()


@pytest.mark.shows("PT-034")
def test_the_jobs_policy_is_followed() -> None:
    w = elastic().settle()
    w.patch(elasticPolicy={"minReplicas": 2, "maxReplicas": 5, "metrics": [CPU]})
    w.settle()
    assert (spec_of(w)["minReplicas"], spec_of(w)["maxReplicas"]) == (2, 5)


@pytest.mark.shows("PT-033")
def test_suspending_deletes_it_and_resuming_brings_it_back() -> None:
    w = elastic(run_policy={"suspend": True}).settle()
    assert KEY not in w.owned_objects
    for suspend in (False, True, False):
        w.patch(runPolicy={"suspend": suspend})
        w.settle()
        assert (KEY not in w.owned_objects) is suspend


def test_it_goes_when_the_metrics_go() -> None:
    w = elastic().settle()
    w.patch(elasticPolicy={"minReplicas": 1, "maxReplicas": 3})
    w.settle()
    assert KEY not in w.owned_objects


def test_it_goes_when_the_job_has_finished() -> None:
    w = elastic().settle()
    w.set_pods("Succeeded", exit_code=0)
    w.step()
    assert conditions(w.status)[-1] == "Succeeded=True"
    assert KEY in w.owned_objects
    w.settle()
    assert KEY not in w.owned_objects


def test_one_that_is_being_deleted_is_waited_for() -> None:
    w = elastic()
    owner = Owner("PyTorchJob", "sim", UID)
    w.owned_objects[KEY] = OwnedRecord(KEY[0], "ns", "sim", "uid-x", "1", owner, b"{}", deleting=True)
    assert w.decide().owned_changes == ()
