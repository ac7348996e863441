"""What holds for every kind."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND, led
from unit_tests.controllers.builders import World, conditions, framework_of, load, message, stored_job, world

from training_api.constants import MANAGED_BY_US
from training_api.registry import KINDS
from training_controllers.model.plan import NewPod, Plan, Slot
from training_controllers.model.records import ContainerState
from training_controllers.reconcile.builders import build_pod, build_service

MULTIKUEUE = "kueue.x-k8s.io/multikueue"
REPLICAS = {kind: led(kind) for kind in EVERY_KIND} | {"TFJob": {"PS": 1, "Worker": 2, "Chief": 1, "Evaluator": 1}}
EVERY = pytest.mark.parametrize("kind", EVERY_KIND)


def job_of(kind: str, **options: Any) -> World:
    return world(kind, REPLICAS[kind], **options)


@pytest.mark.parametrize("kind", KINDS)
def test_the_declaration_has_samples_of_its_variables_for_the_docs(kind: str) -> None:
    assert framework_of(kind).samples


@pytest.mark.shows("PT-031", "TF-020", "XGB-017", "MPI-035", "PD-019", "JAX-016")
@EVERY
def test_a_headless_service_per_replica(kind: str) -> None:
    w = job_of(kind).settle()
    assert sorted(w.services) == (sorted(w.pods) if EVERY_KIND[kind].services else [])
    job = w.snapshot().job
    for slot in [Slot(name, 0) for name in REPLICAS[kind]] if EVERY_KIND[kind].services else ():
        service = build_service(job, w.framework, slot)
        pod = build_pod(job, w.framework, NewPod(slot))
        assert service["metadata"]["name"] == pod["metadata"]["name"]
        assert service["spec"]["clusterIP"] == "None"
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        assert "training.kubeflow.org/job-role" not in service["spec"]["selector"]


@pytest.mark.shows("JAX-023", "PD-026", "TF-040")
@EVERY
def test_the_status_has_the_selector_of_workers_where_the_kind_scales(kind: str) -> None:
    selector = job_of(kind).settle().status.replica_statuses["Worker"].selector or ""
    scales = kind in ("PyTorchJob", "PaddleJob", "JAXJob")
    assert selector.endswith("training.kubeflow.org/replica-type=worker") == scales


@pytest.mark.shows("TF-041")
@EVERY
def test_labels_and_annotations_of_the_template_are_on_the_pod(kind: str) -> None:
    stored = copy.deepcopy(stored_job(kind, REPLICAS[kind]))
    template = stored["spec"][EVERY_KIND[kind].replica_field]["Worker"]["template"]
    template["metadata"] = {"labels": {"team": "a"}, "annotations": {"note": "b"}}
    pod = build_pod(load(kind, stored), World(stored, kind).framework, NewPod(Slot("Worker", 1)))
    assert pod["metadata"]["labels"]["team"] == "a"
    assert pod["metadata"]["annotations"] == {"note": "b"}


@pytest.mark.shows("XGB-027", "MPI-045", "PD-028", "JAX-024")
@EVERY
def test_every_kind_can_be_created_suspended(kind: str) -> None:
    w = job_of(kind, run_policy={"suspend": True}).settle()
    assert (w.pods, w.services, w.owned_objects, w.status.start_time) == ({}, {}, {}, None)
    assert conditions(w.status) == ["Created=True", "Suspended=True"]
    assert w.status.conditions[-1].reason == f"{kind}Suspended"


@pytest.mark.shows("XGB-027", "PD-028", "JAX-025")
@EVERY
def test_every_kind_can_be_suspended_and_resumed(kind: str) -> None:
    w = job_of(kind).settle()
    w.set_pods("Running")
    w.step()
    w.patch(runPolicy={"suspend": True})
    w.settle()
    assert (w.pods, w.services) == ({}, {})
    assert conditions(w.status) == ["Running=False", "Created=True", "Suspended=True"]
    assert {c.type: c.reason for c in w.status.conditions}["Running"] == f"{kind}Suspended"
    w.patch(runPolicy={"suspend": False})
    w.settle()
    assert conditions(w.status) == ["Running=False", "Suspended=False", "Created=True"]
    assert {c.type: c.reason for c in w.status.conditions}["Suspended"] == f"{kind}Resumed"
    assert message(w.status, "Suspended") == f"{kind} sim is resumed."


@pytest.mark.shows("XGB-029", "MPI-049")
@EVERY
def test_a_job_of_another_manager_is_ignored(kind: str) -> None:
    assert job_of(kind, run_policy={"managedBy": MULTIKUEUE}).decide() == Plan()
    assert job_of(kind, run_policy={"managedBy": MANAGED_BY_US}).decide() != Plan()


@pytest.mark.shows("TF-037")
@EVERY
def test_the_deadline_fails_the_job(kind: str) -> None:
    w = job_of(kind, run_policy={"activeDeadlineSeconds": 10}).settle()
    w.set_pods("Running")
    w.step()
    assert w.requeue_after == 10
    w.advance(10)
    w.step()
    text = "Job sim has failed because it was active longer than specified deadline"
    assert message(w.status, "Failed").startswith(text)


LIMITS = {"backoffLimit": 1, "activeDeadlineSeconds": 5}


def over_a_limit(kind: str, limit: str, **run_policy: Any) -> World:
    """A job that fails at this limit, whose pods all run, one of them for the second time."""
    w = job_of(kind, restart="OnFailure", run_policy={limit: LIMITS[limit], **run_policy}).settle().report("Running")
    w.set_pods("Running", "sim-worker-1", restarts=1 if limit == "backoffLimit" else 0)
    w.advance(5)
    w.settle()
    assert conditions(w.status)[-1] == "Failed=True"
    return w


@pytest.mark.shows("K-18")
@EVERY
@pytest.mark.parametrize("limit", LIMITS)
def test_without_a_policy_a_job_over_a_limit_keeps_no_active_pod(kind: str, limit: str) -> None:
    w = over_a_limit(kind, limit)
    assert w.pods == {} == w.services
    assert {status.active for status in w.status.replica_statuses.values()} == {0}
    assert "PodsKeptRunning" not in [event.reason for event in w.events]


@pytest.mark.shows("K-18")
@EVERY
@pytest.mark.parametrize("limit", LIMITS)
def test_with_none_they_go_on_and_one_warning_says_so(kind: str, limit: str) -> None:
    w = over_a_limit(kind, limit, cleanPodPolicy="None").settle()
    replicas = sum(REPLICAS[kind].values())
    assert len(w.pods) == replicas
    messages = [event.message for event in w.events if event.reason == "PodsKeptRunning"]
    assert messages == [
        f"{replicas} pod(s) of the failed job keep running and hold their resources because cleanPodPolicy is None"
    ]


@pytest.mark.shows("TF-038")
@EVERY
@pytest.mark.parametrize("failed", [False, True])
def test_the_time_to_live_after_the_end(kind: str, failed: bool) -> None:
    w = job_of(kind, restart="Never", run_policy={"ttlSecondsAfterFinished": 3}).settle()
    w.report("Failed" if failed else "Succeeded", exit_code=int(failed))
    assert not w.deleted
    w.advance(3)
    w.step()
    assert w.deleted


@EVERY
def test_events_of_creation_and_expiry_are_v1_s(kind: str) -> None:
    framework, noun = framework_of(kind), "Pod" if kind in ("JAXJob", "PaddleJob", "PyTorchJob") else "Job"
    assert framework.job_deleted_reason == f"SuccessfulDelete{noun}"
    assert framework.job_delete_failed_reason == f"FailedDelete{noun}"
    if kind != "MPIJob":
        assert framework.pod_created(Slot("Worker", 0), "a") == ("SuccessfulCreatePod", "Created pod: a")


@pytest.mark.shows("TF-035")
@pytest.mark.parametrize(
    ("policy", "left"),
    [
        ("Running", ["sim-chief-0", "sim-worker-0"]),
        ("All", []),
        ("None", ["sim-chief-0", "sim-evaluator-0", "sim-ps-0", "sim-worker-0", "sim-worker-1"]),
    ],
)
def test_cleaning_up_after_success(policy: str, left: list[str]) -> None:
    w = job_of("TFJob", run_policy={"cleanPodPolicy": policy}).settle()
    w.set_pods("Running")
    w.set_pods("Pending", "sim-worker-1")
    w.report("Succeeded", "sim-worker-0", "sim-chief-0", exit_code=0)
    assert sorted(w.pods) == left
    active = {"sim-evaluator-0", "sim-ps-0", "sim-worker-1"}
    assert set(w.services) == (active if policy == "None" else set())


@pytest.mark.shows("TF-033", "TF-034")
@pytest.mark.parametrize("dynamic", [False, True])
def test_workers_are_scaled_down_and_up(dynamic: bool) -> None:
    w = world("TFJob", {"PS": 1, "Worker": 3}, enableDynamicWorker=dynamic).settle()
    w.set_pods("Running")
    w.step()
    kept = {name: pod.uid for name, pod in w.pods.items() if name != "sim-worker-2"}
    for workers in (2, 4):
        specs = copy.deepcopy(w.stored["spec"]["tfReplicaSpecs"])
        specs["Worker"]["replicas"] = workers
        w.patch(tfReplicaSpecs=specs)
        w.settle()
        assert [name for name in w.pods if "worker" in name] == [f"sim-worker-{index}" for index in range(workers)]
        assert {name: w.pods[name].uid for name in kept} == kept
        assert conditions(w.status)[-1] == "Running=True"


@pytest.mark.shows("TF-036")
def test_restarts_in_place_count_against_the_limit() -> None:
    w = world(
        "TFJob", {"Worker": 4}, restart="OnFailure", run_policy={"backoffLimit": 4, "cleanPodPolicy": "All"}
    ).settle()
    w.set_pods("Running", *sorted(w.pods)[:3], restarts=1)
    w.set_pods("Running", "sim-worker-3")
    w.step()
    assert conditions(w.status)[-1] == "Running=True"
    w.set_pods("Running", restarts=1)
    w.now += timedelta(seconds=1)
    w.settle()
    assert message(w.status, "Failed").startswith("Job sim has failed because it has reached the specified backoff")
    assert w.pods == {}


@pytest.mark.shows("K-05")
@EVERY
@pytest.mark.parametrize("policy", ["Never", "ExitCode", None])
def test_the_failure_says_which_pod_and_container_died_of_what(kind: str, policy: str | None) -> None:
    """By the replica itself, or (without policy) by the backoff limit after the first restart."""
    options: dict[str, Any] = {"run_policy": {"backoffLimit": 0}, "restart": policy or "OnFailure"}
    w = world(kind, REPLICAS[kind], **options).settle().report("Running")
    leads = ("sim-launcher", "sim-launcher-0", "sim-chief-0", "sim-master-0", "sim-worker-0")
    lead = next(name for name in leads if name in w.pods)
    container = EVERY_KIND[kind].container
    output = "first line\nCUDA out of memory\n"
    ended = ContainerState(container, exit_code=1, finished_at=w.now, reason="Error", message=output)
    w.pods[lead] = msgspec.structs.replace(w.pods[lead], phase="Failed", ready=False, containers=(ended,))
    w.settle()
    text = message(w.status, "Failed")
    assert text.endswith(f"Pod {lead}: container {container} exited with code 1 (Error): CUDA out of memory")
