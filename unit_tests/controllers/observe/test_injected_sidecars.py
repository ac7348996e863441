"""Containers that a mesh or a collector adds to pods decide nothing (INT-097, INT-103)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND, led
from unit_tests.controllers.builders import START, World, conditions, pod, world

from training_controllers.model.records import ContainerState, PodRecord
from training_controllers.observe.injected_sidecars import phases_by_template


def running(kind: str, *, restart: str | None = "Never", policy: str | None = None) -> World:
    w = world(kind, led(kind, 1), restart=restart, run_policy={"cleanPodPolicy": policy}).settle().report("Running")
    return w


def phase(w: World, record: PodRecord) -> str:
    return phases_by_template(w.snapshot().job, [record])[0].phase


@pytest.mark.shows("INT-097")
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_training_container_ends_the_job_while_a_proxy_goes_on(kind: str) -> None:
    w = running(kind)
    w.report("Running", exit_code=0)
    assert conditions(w.status)[-1] == "Succeeded=True"


@pytest.mark.shows("INT-097")
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_training_container_that_fails_beside_a_proxy_fails_the_job(kind: str) -> None:
    w = running(kind)
    w.report("Running", exit_code=1)
    assert conditions(w.status)[-1] == "Failed=True"


@pytest.mark.parametrize(("policy", "left"), [(None, 0), ("Running", 0), ("All", 0), ("None", 2)])
def test_collectors_have_a_minute_before_their_pods_go(policy: str | None, left: int) -> None:
    w = running("PyTorchJob", policy=policy)
    w.report("Running", exit_code=0)
    assert len(w.pods) == 2
    assert w.requeue_after == (60 if left == 0 else None)
    w.advance(60)
    assert w.step().requeue_after is None
    assert len(w.pods) == left


def test_collectors_of_a_pod_whose_end_nobody_knows_have_their_minute_from_its_creation() -> None:
    record = pod("Master", 0, "Running", containers=(ContainerState("pytorch", exit_code=0),), created=START)
    assert phases_by_template(running("PyTorchJob").snapshot().job, [record])[0].template_ended_at == START


def test_pods_whose_collector_ends_in_time_are_kept_as_ever() -> None:
    w = running("PyTorchJob")
    w.report("Running", exit_code=0)
    w.set_pods("Succeeded", exit_code=0)
    w.advance(600)
    w.settle()
    assert len(w.pods) == 2


@pytest.mark.parametrize(
    ("restart", "exit_code", "expected"),
    [
        ("Never", 0, "Succeeded"),
        ("Never", 1, "Failed"),
        ("ExitCode", 137, "Failed"),
        ("OnFailure", 0, "Succeeded"),
        ("OnFailure", 1, "Running"),  # the kubelet starts it again
        ("Always", 0, "Running"),
    ],
)
def test_a_container_that_the_kubelet_starts_again_has_not_ended(restart: str, exit_code: int, expected: str) -> None:
    w = running("PyTorchJob", restart=restart)
    assert phase(w, pod("Master", 0, "Running", exit_code=exit_code)) == expected


def test_a_container_that_has_restarted_and_runs_has_not_ended() -> None:
    assert phase(running("PyTorchJob"), pod("Master", 0, "Running", restarts=1)) == "Running"


def test_where_all_replicas_restart_together_the_kubelet_starts_nothing_again() -> None:
    w = running("PyTorchJob", restart="OnFailure")
    w.stored["metadata"]["annotations"] = {"extension.training.kubeflow.org/restart-scope": "job"}
    assert phase(w, pod("Master", 0, "Running", exit_code=1)) == "Failed"


def test_a_container_of_the_template_is_waited_for() -> None:
    w = running("PyTorchJob")
    template: dict[str, Any] = w.stored["spec"]["pytorchReplicaSpecs"]["Master"]["template"]
    w.stored["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = {
        "spec": {"containers": [*template["spec"]["containers"], {"name": "uploader", "image": "example.com/up:1"}]}
    }
    record = pod("Master", 0, "Running", exit_code=0)
    assert phase(w, record) == "Running"
    uploaded = ContainerState("uploader", exit_code=0, finished_at=START)
    assert phase(w, msgspec.structs.replace(record, containers=(*record.containers, uploaded))) == "Succeeded"


@pytest.mark.shows("INT-097")
@pytest.mark.parametrize("restart", ["Never", "OnFailure", "ExitCode"])
def test_a_proxy_that_fails_afterwards_undoes_nothing(restart: str) -> None:
    w = running("PyTorchJob", restart=restart)
    w.report("Running", "sim-worker-0", exit_code=0)
    worker = w.pods["sim-worker-0"]
    proxy = ContainerState("istio-proxy", exit_code=1, finished_at=START)
    w.pods["sim-worker-0"] = msgspec.structs.replace(worker, phase="Failed", containers=(*worker.containers, proxy))
    assert phase(w, w.pods["sim-worker-0"]) == "Succeeded"
    w.settle()
    assert conditions(w.status)[-1] == "Running=True"
    status = w.status.replica_statuses["Worker"]
    assert (status.succeeded, status.failed, status.restarts) == (1, 0, 0)


@pytest.mark.shows("E-037")
def test_a_pod_that_fails_otherwise_has_failed() -> None:
    w = running("PyTorchJob", restart="ExitCode")
    record = pod("Master", 0, "Failed", exit_code=0)
    assert phase(w, record) == "Failed"
    proxy = ContainerState("istio-proxy", exit_code=1, finished_at=START)
    evicted = msgspec.structs.replace(record, containers=(*record.containers, proxy), reason="Evicted")
    assert phase(w, evicted) == "Failed"


def test_a_pod_that_is_asked_to_stop_keeps_its_phase() -> None:
    w = running("PyTorchJob")
    assert phase(w, pod("Master", 0, "Running", exit_code=0, deleting=True)) == "Running"
