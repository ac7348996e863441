"""A decision costs what it does next, not what the job asks for: here every replica that there could be."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from unit_tests.controllers.builders import START, framework_of, make_job, pod

from training_api.kinds import Job
from training_api.models.common import ConditionStatus, JobCondition, JobStatus, ReplicaStatus
from training_controllers.decide.decide import decide
from training_controllers.decide.replicas import FIRST_AT_ONCE, MOST_AT_ONCE
from training_controllers.frameworks.registry import with_gang
from training_controllers.gang.schedulers import VOLCANO
from training_controllers.model.plan import Plan, Slot, Snapshot
from training_controllers.model.records import OwnedRecord, PodRecord, ServiceRecord

EVERY_NUMBER = 2**31 - 1
KINDS = ("PyTorchJob", "PaddleJob", "JAXJob", "TFJob", "XGBoostJob")
TOGETHER = {"extension.training.kubeflow.org/restart-scope": "job"}


def large(kind: str = "PyTorchJob", replicas: int = EVERY_NUMBER, **options: Any) -> Job:
    return make_job(kind, {"Worker": replicas}, **options)


def service(index: int) -> ServiceRecord:
    return ServiceRecord("ns", f"sim-worker-{index}", f"uid-{index}", "1", None, "worker", index)


def plan_for(
    job: Job, pods: Sequence[PodRecord] = (), services: Sequence[ServiceRecord] = (), *, gang: bool = False
) -> Plan:
    framework = with_gang(framework_of(job.info.kind), VOLCANO if gang else None)
    let_in = OwnedRecord("PodGroup", "ns", "sim", "uid", "1", None, b"{}", phase="Inqueue")
    return decide(Snapshot(job, pods, services, START, (let_in,) if gang else ()), framework)


def costs_little(decision: Callable[[], Plan]) -> Plan:
    """The plan; its making has taken no more memory than that of a thousand pods does."""
    decision()  # fills what is kept for good
    tracemalloc.start()
    try:
        plan = decision()
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    return plan


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_next_replicas_are_planned(kind: str) -> None:
    job = large(kind)
    plan = costs_little(lambda: plan_for(job))
    next_slots = [Slot("Worker", index) for index in range(FIRST_AT_ONCE)]
    assert [new.slot for new in plan.create_pods] == next_slots
    assert list(plan.create_services) == next_slots


def test_more_are_planned_when_these_exist() -> None:
    there = range(FIRST_AT_ONCE)
    pods = [pod("Worker", index, "Pending") for index in there]
    plan = costs_little(lambda: plan_for(large(), pods, [service(index) for index in there]))
    assert [new.slot.index for new in plan.create_pods] == [*range(FIRST_AT_ONCE, FIRST_AT_ONCE + MOST_AT_ONCE)]
    assert [slot.index for slot in plan.create_services] == [*range(FIRST_AT_ONCE, FIRST_AT_ONCE + MOST_AT_ONCE)]


def test_no_services_are_made_ahead_of_pods_that_are_rejected() -> None:
    plan = plan_for(large(), (), [service(index) for index in range(FIRST_AT_ONCE)])
    assert len(plan.create_pods) == FIRST_AT_ONCE
    assert plan.create_services == ()


def test_replicas_that_are_there_or_done_keep_their_services() -> None:
    done = JobStatus(replica_statuses={"Worker": ReplicaStatus(completed_indexes="1-3")})
    job = replace(large(), status=done)
    plan = plan_for(job, [pod("Worker", index, "Running") for index in (0, 7000)], [service(7000)])
    assert [new.slot.index for new in plan.create_pods] == [*range(4, 4 + MOST_AT_ONCE)]
    assert [slot.index for slot in plan.create_services] == [*range(MOST_AT_ONCE)]


def test_one_type_does_not_wait_for_another() -> None:
    job = make_job("TFJob", {"PS": EVERY_NUMBER, "Worker": 2})
    plan = plan_for(job)
    assert [new.slot.index for new in plan.create_pods if new.slot.replica_type == "Worker"] == [0, 1]
    assert [slot.index for slot in plan.create_services if slot.replica_type == "Worker"] == [0, 1]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="active"),
        pytest.param({"run_policy": {"suspend": True}}, id="suspended"),
        pytest.param({"run_policy": {"backoffLimit": 3}, "restart": "OnFailure"}, id="limited"),
        pytest.param({"elasticPolicy": {"minReplicas": 1, "maxReplicas": EVERY_NUMBER}}, id="elastic"),
    ],
)
@pytest.mark.parametrize("together", [False, True], ids=["alone", "together"])
@pytest.mark.parametrize("gang", [False, True], ids=["", "gang"])
def test_whatever_becomes_of_them_costs_little(options: dict[str, Any], together: bool, gang: bool) -> None:
    job = large(**options)
    status = JobStatus(replica_statuses={"Worker": ReplicaStatus(active=3, completed_indexes="5-1000000")})
    metadata = job.metadata.model_copy(update={"annotations": TOGETHER if together else {}})
    job = replace(job, status=status, metadata=metadata)
    pods = [pod("Worker", 0, "Running"), pod("Worker", 1, "Failed", exit_code=1), pod("Worker", 4, "Succeeded")]
    plan = costs_little(lambda: plan_for(job, pods, gang=gang))
    assert plan.status is not None


def test_what_is_left_of_one_costs_little() -> None:
    ended = JobCondition(type="Succeeded", status=ConditionStatus.TRUE, last_transition_time=START)
    job = replace(large(), status=JobStatus(conditions=(ended,)))
    plan = costs_little(lambda: plan_for(job, [pod("Worker", 0, "Running")], [service(0), service(9)]))
    assert [each.name for each in plan.delete_services] == ["sim-worker-9"]


def test_a_gang_asks_for_all_replicas_that_will_be() -> None:
    done = JobStatus(replica_statuses={"Worker": ReplicaStatus(completed_indexes="0-4")})
    plan = costs_little(lambda: plan_for(replace(large(), status=done), [pod("Worker", 4, "Running")], gang=True))
    [change] = plan.owned_changes
    assert change.patch["spec"]["minMember"] == EVERY_NUMBER - 4
