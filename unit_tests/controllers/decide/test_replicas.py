"""An active job: which pods and services it gets and how its status reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND
from unit_tests.controllers.builders import (
    START,
    World,
    conditions,
    framework_of,
    make_job,
    message,
    pod,
    stored_job,
    texts,
    world,
)

from training_api.kinds import Job
from training_api.models.common import JobStatus, ReplicaStatus
from training_api.registry import KINDS
from training_controllers.decide.decide import decide, managed_here
from training_controllers.model.plan import Counter, Plan, Slot, Snapshot
from training_controllers.model.records import PodRecord, ServiceRecord


def plan_for(job: Job, pods: Sequence[PodRecord] = ()) -> Plan:
    return decide(Snapshot(job, pods, (), START), framework_of(job.info.kind))


def created(plan: Plan) -> list[tuple[str, int]]:
    return [(new.slot.replica_type, new.slot.index) for new in plan.create_pods]


@pytest.mark.shows("E-023", "E-059")
def test_every_replica_gets_a_pod_and_a_service() -> None:
    plan = plan_for(make_job("PyTorchJob", {"Worker": 2, "Master": 1}))
    assert created(plan) == [("Master", 0), ("Worker", 0), ("Worker", 1)]
    assert plan.create_services == (Slot("Master", 0), Slot("Worker", 0), Slot("Worker", 1))


@pytest.mark.shows("E-064")
def test_a_kind_without_services_gets_none() -> None:
    job = make_job("JAXJob", {"Worker": 2})
    job = replace(job, info=replace(job.info, services=False))
    assert plan_for(job).create_services == ()


@pytest.mark.shows("K-26", "E-011", "E-082")
def test_the_first_status_says_created_and_starts_the_clock() -> None:
    plan = plan_for(make_job("JAXJob", {"Worker": 1}))
    assert plan.status is not None
    assert conditions(plan.status) == ["Created=True"]
    assert message(plan.status, "Created") == "JAXJob sim is created."
    assert plan.status.conditions[0].reason == "JAXJobCreated"
    assert plan.status.start_time == START
    assert plan.status.completion_time is None
    assert plan.counters == (Counter.CREATED,)
    assert plan.events == ()


@pytest.mark.shows("E-082", "K-27", "K-59")
def test_a_later_reconcile_keeps_the_start_time_and_observes_the_generation() -> None:
    w = world("JAXJob", {"Worker": 1}).settle()
    w.advance(60)
    w.patch(runPolicy={"backoffLimit": 3})
    w.report("Running")
    assert (w.status.start_time, w.status.observed_generation) == (START, 2)
    assert w.counters == [Counter.CREATED], "once"


SELECTOR = (
    "training.kubeflow.org/job-name=sim,training.kubeflow.org/operator-name=pytorchjob-controller,"
    "training.kubeflow.org/replica-type=worker"
)


@pytest.mark.shows("E-010", "PT-043")
@pytest.mark.parametrize(("scalable", "selector"), [(True, SELECTOR), (False, None)])
def test_kinds_with_the_scale_subresource_have_the_selector(scalable: bool, selector: str | None) -> None:
    job = make_job("PyTorchJob", {"Worker": 1})
    status = plan_for(replace(job, info=replace(job.info, scalable=scalable))).status
    assert status is not None
    assert status.replica_statuses["Worker"].selector == selector


@pytest.mark.shows("E-042")
def test_replicas_are_counted_by_phase() -> None:
    job = make_job("PyTorchJob", {"Worker": 6})
    phases = ["Running", "Running", "Pending", "Unknown", "Succeeded", "Failed"]
    pods = [pod("Worker", i, phase, ready=i == 0) for i, phase in enumerate(phases)]
    status = plan_for(job, pods).status
    assert status is not None
    worker = status.replica_statuses["Worker"]
    assert (worker.active, worker.ready, worker.succeeded, worker.failed) == (2, 1, 1, 1)


@pytest.mark.shows("E-079")
def test_nothing_changed_nothing_written() -> None:
    w = world("PyTorchJob", {"Master": 1, "Worker": 2}).settle().report("Running")
    assert w.step() == Plan()


@pytest.mark.shows("E-031")
def test_raising_replicas_creates_only_what_is_missing() -> None:
    w = world("PyTorchJob", {"Worker": 1}, elasticPolicy={}).settle()
    w.stored["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 3
    assert created(w.step()) == [("Worker", 1), ("Worker", 2)]


@pytest.mark.shows("E-032")
def test_lowering_replicas_deletes_pods_and_services_beyond() -> None:
    w = world("JAXJob", {"Worker": 3}).settle()
    w.stored["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 2
    plan = w.step()
    assert [deletion.pod.name for deletion in plan.delete_pods] == ["sim-worker-2"]
    assert [service.name for service in plan.delete_services] == ["sim-worker-2"]


@pytest.mark.shows("K-08")
def test_no_index_beyond_the_desired_number_is_filled() -> None:
    job = make_job("JAXJob", {"Worker": 2})
    plan = plan_for(job, [pod("Worker", 5, "Running", container="jax")])
    assert created(plan) == [("Worker", 0), ("Worker", 1)]


@pytest.mark.shows("K-14")
def test_pods_beyond_are_deleted_once_and_not_counted() -> None:
    job = make_job("JAXJob", {"Worker": 1}, restart="OnFailure")
    pods = [
        pod("Worker", 0, "Pending"),
        pod("Worker", 1, "Failed", exit_code=1, container="jax"),
        pod("Worker", 2, "Running", deleting=True),
    ]
    plan = plan_for(job, pods)
    assert [deletion.pod.index for deletion in plan.delete_pods] == [1]
    assert plan.status is not None
    worker = plan.status.replica_statuses["Worker"]
    assert worker == ReplicaStatus(selector=worker.selector)
    assert conditions(plan.status) == ["Created=True"]


@pytest.mark.shows("K-07")
@pytest.mark.parametrize("replicas", [0, -3])
def test_no_replicas_no_pods(replicas: int) -> None:
    plan = plan_for(make_job("PyTorchJob", {"Master": 1, "Worker": replicas}))
    assert created(plan) == [("Master", 0)]
    assert plan.create_services == (Slot("Master", 0),)


def test_jax_without_replicas_has_succeeded() -> None:
    w = world("JAXJob", {"Worker": 0}).settle()
    assert conditions(w.status) == ["Created=True", "Succeeded=True"]
    assert w.pods == {}


@pytest.mark.shows("K-06")
@pytest.mark.parametrize("kind", ["PyTorchJob", "JAXJob"])
def test_an_empty_replica_map_is_created_and_waits(kind: str) -> None:
    w = world(kind, {}).settle()
    assert conditions(w.status) == ["Created=True"]
    assert w.status.replica_statuses == {}


@pytest.mark.shows("K-09")
@pytest.mark.parametrize("phase", ["Running", "Failed", "Pending"])
def test_a_terminating_pod_is_neither_active_nor_failed(phase: str) -> None:
    job = make_job("JAXJob", {"Worker": 1}, restart="Never")
    plan = plan_for(job, [pod("Worker", 0, phase, exit_code=143, container="jax", deleting=True)])
    assert plan.status is not None
    worker = plan.status.replica_statuses["Worker"]
    assert (worker.active, worker.failed, worker.succeeded) == (0, 0, 0)
    assert plan.create_pods == () == plan.delete_pods
    assert conditions(plan.status) == ["Created=True"]


@pytest.mark.shows("K-09")
def test_a_process_that_ends_with_0_because_it_was_asked_to_stop_has_not_succeeded() -> None:
    job = make_job("JAXJob", {"Worker": 1})
    plan = plan_for(job, [pod("Worker", 0, "Succeeded", exit_code=0, container="jax", deleting=True)])
    assert plan.status is not None
    assert plan.status.replica_statuses["Worker"].succeeded == 0
    assert plan.status.replica_statuses["Worker"].completed_indexes == ""


@pytest.mark.shows("K-09")
def test_a_deleted_pod_is_replaced_when_it_is_gone() -> None:
    w = world("PyTorchJob", {"Master": 1, "Worker": 1}, restart="Never")
    w.lingering = True
    w.settle()
    w.set_pods("Running")
    w.delete("sim-worker-0")
    assert created(w.step()) == []
    w.finish_deletions()
    assert created(w.step()) == [("Worker", 0)]
    assert conditions(w.status) == ["Created=True", "Running=True"]


@pytest.mark.parametrize(("stops_in", "requeue_after"), [(5, 15), (-9, 1), (-10, None), (None, None)])
def test_the_job_is_requeued_when_a_deletion_becomes_overdue(stops_in: int | None, requeue_after: float | None) -> None:
    stops_by = START + timedelta(seconds=stops_in) if stops_in is not None else None
    going = pod("Worker", 0, "Running", deleting=True, stops_by=stops_by)
    plan = plan_for(make_job("JAXJob", {"Worker": 1}), [going])
    assert plan.requeue_after == requeue_after
    assert plan.status is not None
    assert (plan.status.waiting is not None) == (requeue_after is None)


@pytest.mark.shows("K-12")
def test_the_older_of_two_pods_stays() -> None:
    job = make_job("JAXJob", {"Worker": 1})
    old = pod("Worker", 0, "Running", name="old", created=START)
    new = pod("Worker", 0, "Running", name="a-new", created=START + timedelta(seconds=1))
    plan = plan_for(job, [new, old])
    assert [deletion.pod.name for deletion in plan.delete_pods] == ["a-new"]
    assert plan.status is not None
    assert plan.status.replica_statuses["Worker"].active == 1


@pytest.mark.shows("K-12")
def test_a_terminating_pod_does_not_outlive_a_younger_one() -> None:
    job = make_job("JAXJob", {"Worker": 1})
    old = pod("Worker", 0, "Running", name="old", created=START, deleting=True)
    new = pod("Worker", 0, "Running", name="new", created=START + timedelta(seconds=1))
    assert plan_for(job, [old, new]).delete_pods == ()


@pytest.mark.shows("K-41", "E-034")
@pytest.mark.parametrize(("replica_type", "index"), [("Worker", -1), ("", 0), ("Chief", 0)])
def test_pods_without_a_slot_are_ignored(replica_type: str, index: int) -> None:
    job = make_job("JAXJob", {"Worker": 1})
    plan = plan_for(job, [pod(replica_type, index, "Running", name="stray")])
    assert created(plan) == [("Worker", 0)]
    assert plan.delete_pods == ()


@pytest.mark.shows("K-13")
def test_a_completed_index_is_not_run_again() -> None:
    w = world("JAXJob", {"Worker": 3}).settle()
    w.set_pods("Running")
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    assert w.status.replica_statuses["Worker"].completed_indexes == "1"
    w.delete("sim-worker-1")
    w.settle()
    assert "sim-worker-1" not in w.pods
    worker = w.status.replica_statuses["Worker"]
    assert (worker.active, worker.succeeded, worker.completed_indexes) == (2, 1, "1")
    w.report("Succeeded", exit_code=0)
    assert conditions(w.status)[-1] == "Succeeded=True"
    assert w.status.replica_statuses["Worker"].succeeded == 3


@pytest.mark.shows("K-13")
def test_with_restart_policy_always_it_is() -> None:
    w = world("JAXJob", {"Worker": 2}, restart="Always").settle()
    w.set_pods("Running")
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    assert w.status.replica_statuses["Worker"].completed_indexes == ""
    w.delete("sim-worker-1")
    w.settle()
    assert "sim-worker-1" in w.pods


@pytest.mark.shows("K-13")
def test_a_terminating_pod_of_a_completed_index_changes_nothing() -> None:
    w = world("JAXJob", {"Worker": 2})
    w.lingering = True
    w.settle()
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    w.delete("sim-worker-1")
    w.settle()
    assert w.status.replica_statuses["Worker"].succeeded == 1


@pytest.mark.shows("K-42")
def test_entries_of_removed_types_vanish() -> None:
    w = world("PyTorchJob", {"Master": 1, "Worker": 1}).settle()
    del w.stored["spec"]["pytorchReplicaSpecs"]["Worker"]
    w.settle()
    assert list(w.status.replica_statuses) == ["Master"]


@pytest.mark.parametrize(
    ("kind", "replicas", "left"),
    [
        ("PyTorchJob", {"Master": 1, "Worker": 2}, ["sim-master-0"]),
        ("TFJob", {"Chief": 1, "PS": 1, "Worker": 2}, ["sim-chief-0", "sim-ps-0"]),
        ("XGBoostJob", {"Master": 1, "Worker": 2}, ["sim-master-0"]),
        ("MPIJob", {"Launcher": 1, "Worker": 2}, ["sim-launcher"]),
        ("PaddleJob", {"Master": 1, "Worker": 2}, ["sim-master-0"]),
    ],
)
def test_pods_and_services_of_removed_types_go(kind: str, replicas: dict[str, int], left: list[str]) -> None:
    w = world(kind, replicas).settle().report("Running")
    kept = {name: w.pods[name] for name in left}
    del w.stored["spec"][KINDS[kind].replica_field]["Worker"]
    w.settle()
    assert w.pods == kept
    assert sorted(w.services) == (left if KINDS[kind].services else [])


def test_a_terminating_service_is_not_created_a_second_time_nor_deleted_again() -> None:
    w = world("JAXJob", {"Worker": 1}).settle()
    w.services["sim-worker-0"] = replace_service(w, "sim-worker-0", index=0)
    w.services["sim-worker-4"] = replace_service(w, "sim-worker-0", index=4)
    assert w.step() == Plan()


def replace_service(w: World, name: str, *, index: int) -> ServiceRecord:
    return msgspec.structs.replace(w.services[name], deleting=True, index=index)


@pytest.mark.shows("E-013")
def test_a_terminating_job_is_ignored() -> None:
    stored = stored_job("PyTorchJob", {"Worker": 1})
    stored["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert World(stored, "PyTorchJob").decide() == Plan()


@pytest.mark.shows("K-19", "E-115", "PT-048")
@pytest.mark.parametrize("kind", ["PyTorchJob", "JAXJob"])
@pytest.mark.parametrize("suspend", [True, False])
def test_a_job_of_another_manager_is_ignored(kind: str, suspend: bool) -> None:
    policy = {"managedBy": "kueue.x-k8s.io/multikueue", "suspend": suspend}
    w = world(kind, {"Worker": 1}, run_policy=policy)
    assert not managed_here(w.snapshot().job)
    assert w.decide() == Plan()


@pytest.mark.shows("K-19", "E-116")
@pytest.mark.parametrize("manager", [None, "", "kubeflow.org/training-operator"])
def test_jobs_without_manager_or_with_this_operator_are_managed_here(manager: str | None) -> None:
    w = world("JAXJob", {"Worker": 1}, run_policy={"managedBy": manager})
    assert managed_here(w.snapshot().job)
    assert len(w.decide().create_pods) == 1


@pytest.mark.shows("E-030")
@pytest.mark.parametrize(
    ("kind", "first", "reason"),
    [
        ("PyTorchJob", "Master", "SetPodTemplateRestartPolicy"),
        ("MPIJob", "Launcher", "SettedPodTemplateRestartPolicy"),
    ],
)
def test_a_restart_policy_in_the_template_emits_one_event_per_type(kind: str, first: str, reason: str) -> None:
    stored = stored_job(kind, {first: 1, "Worker": 2})
    worker = stored["spec"][EVERY_KIND[kind].replica_field]["Worker"]
    worker["template"] = {"spec": {**worker["template"]["spec"], "restartPolicy": "Never"}}
    w = World(stored, kind).settle()
    w.delete("sim-worker-1")
    w.settle()
    text = "Restart policy in pod template will be overwritten by restart policy in replica spec"
    assert [each for each in texts(w.events) if "RestartPolicy" in each] == [f"Warning {reason} {text}"]


def test_a_status_of_the_go_operator_is_continued() -> None:
    status = JobStatus(replica_statuses={"Worker": ReplicaStatus(active=1)}, start_time=START)
    job = replace(make_job("JAXJob", {"Worker": 1}), status=status)
    plan = plan_for(job, [pod("Worker", 0, "Running")])
    assert plan.status is not None
    assert plan.status.start_time == START
    assert conditions(plan.status) == ["Created=True", "Running=True"]


def test_replicas_that_a_smaller_job_does_not_want_do_not_count_as_succeeded() -> None:
    w = world("JAXJob", {"Worker": 3}).settle().report("Running")
    w.report("Succeeded", "sim-worker-1", "sim-worker-2", exit_code=0)
    w.patch(jaxReplicaSpecs={"Worker": {"replicas": 2}})
    w.settle()
    assert w.status.replica_statuses["Worker"].succeeded == 1
    assert conditions(w.status)[-1] == "Running=True"
    w.report("Succeeded", "sim-worker-0", exit_code=0)
    assert conditions(w.status)[-1] == "Succeeded=True"


@pytest.mark.parametrize(
    ("lacks", "errors", "reason"),
    [
        ((), {"create_errors": {("pod", "Worker"): ("Quota", "full")}}, None),
        (("pods",), {"create_errors": {("pod", "Worker"): ("Quota", "full")}}, "Quota"),
        (("services",), {"create_errors": {("service", "Worker"): ("Quota", "full")}}, "Quota"),
        ((), {"owned_errors": {"ConfigMap": ("CreateFailed", "rejected")}}, "CreateFailed"),
        ((), {"owned_errors": {"PodGroup": ("CreateFailed", "rejected")}}, None),
    ],
)
def test_a_job_waits_for_what_it_lacks_and_cannot_create(
    lacks: tuple[str, ...], errors: dict[str, Any], reason: str | None
) -> None:
    w = world("PyTorchJob", {"Worker": 1}).settle()
    for objects in lacks:
        getattr(w, objects).clear()
    status = decide(replace(w.snapshot(), **errors), w.framework).status or w.status
    assert (status.waiting and status.waiting.reason) == reason
