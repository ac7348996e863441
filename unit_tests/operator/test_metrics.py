import re

import pytest

from training_api.registry import KINDS
from training_controllers.model.plan import Counter
from training_controllers.ports import ObjectCounter
from training_operator.controller import ResultLabel
from training_operator.metrics import Metrics
from training_operator.queue import WorkQueue

pytestmark = pytest.mark.virtual_time


def value(metrics: Metrics, series: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(series, labels)


@pytest.mark.shows("E-144")
def test_job_counters_have_v1_s_names_and_labels() -> None:
    metrics = Metrics()
    pytorch, jax = (metrics.job_counters(KINDS[kind]) for kind in ("PyTorchJob", "JAXJob"))
    for counter in Counter:
        pytorch.count_job(counter, "team")
        pytorch.count_job(counter, "team")
        jax.count_job(counter, "team")
    for verb in ("created", "deleted", "successful", "failed", "restarted"):
        name = f"training_operator_jobs_{verb}_total"
        assert value(metrics, name, job_namespace="team", framework="pytorch") == 2
        assert value(metrics, name, job_namespace="team", framework="jax") == 1


def test_job_series_appear_with_their_first_event() -> None:
    metrics = Metrics()
    metrics.job_counters(KINDS["PyTorchJob"])
    assert not re.search(r"^training_operator_jobs_", metrics.exposition().decode(), re.MULTILINE)


def test_object_counters_are_there_from_the_start() -> None:
    metrics = Metrics()
    counters = metrics.job_counters(KINDS["PyTorchJob"])
    assert value(metrics, "failed_pods_total") == 0
    for counter in ObjectCounter:
        counters.count_object(counter)
        assert value(metrics, counter.value) == 1


async def test_controllers_and_queues_are_measured() -> None:
    metrics = Metrics()
    controller = metrics.controller("pytorchjob-controller", 4)
    queue = WorkQueue[str](metrics=metrics.queue("pytorchjob-controller", lambda: queue))
    label = {"controller": "pytorchjob-controller"}
    name = {"name": "pytorchjob-controller", **label}
    assert value(metrics, "controller_runtime_max_concurrent_reconciles", **label) == 4
    for result in ResultLabel:
        assert value(metrics, "controller_runtime_reconcile_total", result=result.value, **label) == 0
    queue.add("a")
    queue.add("b")
    await queue.get()
    controller.began()
    assert value(metrics, "controller_runtime_active_workers", **label) == 1
    assert value(metrics, "workqueue_depth", **name) == 1
    assert value(metrics, "workqueue_adds_total", **name) == 2
    assert value(metrics, "workqueue_unfinished_work_seconds", **name) == 0
    assert value(metrics, "workqueue_longest_running_processor_seconds", **name) == 0
    assert value(metrics, "workqueue_queue_duration_seconds_count", **name) == 1
    controller.crashed()
    controller.retried()
    controller.ended(ResultLabel.ERROR, 0.2)
    queue.done("a")
    assert value(metrics, "controller_runtime_active_workers", **label) == 0
    assert value(metrics, "controller_runtime_reconcile_total", result="error", **label) == 1
    assert value(metrics, "controller_runtime_reconcile_errors_total", **label) == 1
    assert value(metrics, "controller_runtime_reconcile_panics_total", **label) == 1
    assert value(metrics, "controller_runtime_terminal_reconcile_errors_total", **label) == 0
    assert value(metrics, "controller_runtime_reconcile_time_seconds_count", **label) == 1
    assert value(metrics, "workqueue_retries_total", **name) == 1
    assert value(metrics, "workqueue_work_duration_seconds_count", **name) == 1


def test_requests_leadership_and_bad_objects_are_counted() -> None:
    metrics = Metrics()
    metrics.count_request("GET", 200)
    metrics.count_request("GET", 0)
    assert value(metrics, "rest_client_requests_total", method="GET", code="200") == 1
    assert value(metrics, "rest_client_requests_total", method="GET", code="<error>") == 1
    leading = metrics.leader("lease")
    assert value(metrics, "leader_election_master_status", name="lease") == 0
    leading(True)
    assert value(metrics, "leader_election_master_status", name="lease") == 1
    metrics.undecodable("pods")()
    assert value(metrics, "training_operator_undecodable_objects_total", resource="pods") == 1


def test_every_name_that_v1_serves_exists() -> None:
    spec = """
    training_operator_jobs_created_total training_operator_jobs_deleted_total training_operator_jobs_successful_total
    training_operator_jobs_failed_total training_operator_jobs_restarted_total
    created_pods_total deleted_pods_total failed_pods_total succeeded_service_creation_total
    failed_service_creation_total created_pod_groups_total deleted_pod_groups_total
    controller_runtime_reconcile_total controller_runtime_reconcile_errors_total
    controller_runtime_terminal_reconcile_errors_total controller_runtime_reconcile_panics_total
    controller_runtime_reconcile_timeouts_total controller_runtime_reconcile_time_seconds
    controller_runtime_max_concurrent_reconciles controller_runtime_active_workers
    workqueue_depth workqueue_adds_total workqueue_queue_duration_seconds workqueue_work_duration_seconds
    workqueue_unfinished_work_seconds workqueue_longest_running_processor_seconds workqueue_retries_total
    rest_client_requests_total leader_election_master_status leader_election_slowpath_total
    certwatcher_read_certificate_total certwatcher_read_certificate_errors_total
    process_resident_memory_bytes process_cpu_seconds_total"""
    text = Metrics().exposition().decode()
    assert [name for name in spec.split() if f"# TYPE {name} " not in text] == []
    assert "_created{" not in text
