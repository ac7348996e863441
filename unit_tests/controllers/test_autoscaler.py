"""The autoscaler of elastic PyTorchJobs (frameworks.md 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import UID, World, conditions, world

from training_controllers.engine.autoscaler import autoscaler_change
from training_controllers.engine.model import AutoscalerVerb
from training_controllers.records import AutoscalerRecord, Owner

CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}


def elastic(metrics: Sequence[object] | None = (CPU,), **options: Any) -> World:
    policy = {"minReplicas": 1, "maxReplicas": 3, **({} if metrics is None else {"metrics": list(metrics)})}
    return world("PyTorchJob", {"Worker": 2}, elasticPolicy=policy, **options)


def spec_of(w: World) -> dict[str, Any]:
    assert w.autoscaler is not None
    return msgspec.json.decode(w.autoscaler.spec, type=dict[str, Any])


def test_pt032_an_elastic_job_with_metrics_has_one() -> None:
    w = elastic()
    plan = w.decide()
    assert plan.autoscaler is not None
    assert plan.autoscaler.verb is AutoscalerVerb.CREATE
    w.settle()
    assert spec_of(w) == {
        "scaleTargetRef": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "sim"},
        "minReplicas": 1,
        "maxReplicas": 3,
        "metrics": [CPU],
    }


def test_pt035_without_metrics_none() -> None:
    w = elastic(None)
    w.settle()
    assert w.autoscaler is None


def test_an_empty_list_of_metrics_counts_and_whatever_the_server_makes_of_it_stays() -> None:
    w = elastic(())
    w.settle()
    assert w.autoscaler is not None
    stored = spec_of(w) | {"metrics": [CPU], "behavior": {}}
    w.autoscaler = msgspec.structs.replace(w.autoscaler, spec=msgspec.json.encode(stored))
    assert w.step().autoscaler is None


@pytest.mark.parametrize(
    "change",
    [{"maxReplicas": 4}, {"metrics": []}, {"metrics": [CPU, CPU]}, {"scaleTargetRef": None}, {"metrics": {"a": 1}}],
)
def test_pt034_a_different_spec_is_replaced(change: dict[str, object]) -> None:
    w = elastic()
    w.settle()
    assert w.autoscaler is not None
    w.autoscaler = msgspec.structs.replace(w.autoscaler, spec=msgspec.json.encode(spec_of(w) | change))
    plan = w.step()
    assert plan.autoscaler is not None
    assert plan.autoscaler.verb is AutoscalerVerb.REPLACE
    assert plan.autoscaler.record is not None
    assert w.step().autoscaler is None


def test_pt034_the_jobs_policy_is_followed() -> None:
    w = elastic()
    w.settle()
    w.patch(elasticPolicy={"minReplicas": 2, "maxReplicas": 5, "metrics": [CPU]})
    w.settle()
    assert (spec_of(w)["minReplicas"], spec_of(w)["maxReplicas"]) == (2, 5)


def test_pt033_suspending_deletes_it_and_resuming_brings_it_back() -> None:
    w = elastic(run_policy={"suspend": True})
    w.settle()
    assert w.autoscaler is None
    for suspend in (False, True, False):
        w.patch(runPolicy={"suspend": suspend})
        w.settle()
        assert (w.autoscaler is None) is suspend


def test_it_goes_when_the_metrics_go() -> None:
    w = elastic()
    w.settle()
    w.patch(elasticPolicy={"minReplicas": 1, "maxReplicas": 3})
    w.settle()
    assert w.autoscaler is None


def test_it_goes_when_the_job_has_finished() -> None:
    w = elastic()
    w.settle()
    w.set_pods("Succeeded", exit_code=0)
    w.step()
    assert conditions(w.status)[-1] == "Succeeded=True"
    assert w.autoscaler is not None
    w.settle()
    assert w.autoscaler is None


@pytest.mark.parametrize("owner", [None, Owner("Deployment", "sim", "uid-of-somebody")])
def test_k34_one_of_somebody_else_is_never_touched(owner: Owner | None) -> None:
    w = elastic()
    w.autoscaler = AutoscalerRecord("ns", "sim", "uid-x", "1", owner, b"{}")
    wanted = autoscaler_change(w.snapshot(), {"minReplicas": 1})
    assert wanted is not None
    assert wanted.verb is AutoscalerVerb.CREATE  # which the API server refuses, visibly
    assert autoscaler_change(w.snapshot(), None) is None


def test_one_that_is_being_deleted_is_waited_for() -> None:
    w = elastic()
    w.autoscaler = AutoscalerRecord("ns", "sim", "uid-x", "1", Owner("PyTorchJob", "sim", UID), b"{}", deleting=True)
    assert w.decide().autoscaler is None
