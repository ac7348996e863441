"""What replicas are given grows with their number: a job for which it has no room is rejected in one sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit_tests.controllers.builders import framework_of, load, make_job, pod, stored_job

from training_api.kinds import Job
from training_controllers.frameworks.mpi.objects import CONFIG_MAP_BYTES, MOST_OF_OTHER_FILES, files
from training_controllers.frameworks.mpi.ssh_pods import files as files_over_ssh
from training_controllers.frameworks.tensorflow import tf_config
from training_controllers.model.names import ReplicaNames
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import LONGEST_VARIABLE
from training_controllers.model.records import JobRecord
from training_controllers.reconcile.loader import Loader


def rejection(job: dict[str, Any], kind: str) -> str:
    """What the operator says of a stored job; empty if it runs it."""
    record = JobRecord("ns", job["metadata"]["name"], "uid", "1", msgspec.json.encode(job))
    return Loader(framework_of(kind)).load(record).problem


def most(fits: Callable[[int], bool]) -> int:
    """The largest number that fits."""
    return bisect_left(range(10_000), True, key=lambda number: not fits(number)) - 1


@given(st.integers(0, 12_000), st.text("abc-", max_size=9))
def test_the_size_of_names_is_told_without_making_them(count: int, prefix: str) -> None:
    names = ReplicaNames(prefix, count)
    assert names.size == sum(map(len, names))


def whole_config(job: Job) -> int:
    """Bytes of the largest TF_CONFIG, as execve(2) counts them."""
    slots = [Slot(name, job.count(name) - 1) for name in job.replicas]
    return max(len(f"TF_CONFIG={tf_config('', job, slot)}") for slot in slots) + 1


def tf_job(workers: int, **spec: Any) -> dict[str, Any]:
    return stored_job("TFJob", {"Chief": 1, "PS": 3, "Worker": workers}, **spec)


def test_tf_config_may_be_as_long_as_linux_takes_it() -> None:
    fits = most(lambda n: whole_config(load("TFJob", tf_job(n))) <= LONGEST_VARIABLE)
    assert fits > 4000
    assert rejection(tf_job(fits), "TFJob") == ""
    assert rejection(tf_job(fits + 1), "TFJob") == (
        f"spec.tfReplicaSpecs: Forbidden: TF_CONFIG lists every replica and would have "
        f"{whole_config(load('TFJob', tf_job(fits + 1)))} bytes; an environment variable on Linux has at most "
        "131072: use fewer replicas"
    )


def test_dynamic_workers_do_not_know_each_other() -> None:
    assert rejection(tf_job(10_000, enableDynamicWorker=True), "TFJob") == ""
    servers = stored_job("TFJob", {"PS": 10_000, "Worker": 2}, enableDynamicWorker=True)
    assert "TF_CONFIG lists every replica and would have" in rejection(servers, "TFJob")


def test_the_list_of_xgboost_workers_may_be_as_long_as_linux_takes_it() -> None:
    def listed(workers: int) -> int:
        job = make_job("XGBoostJob", {"Master": 1, "Worker": workers})
        framework = framework_of("XGBoostJob")
        spec = framework.configure_pod(job, Slot("Master", 0), job.replicas["Master"].template["spec"])
        value = next(each["value"] for each in spec["containers"][0]["env"] if each["name"] == "WORKER_ADDRS")
        return len(f"WORKER_ADDRS={value}") + 1

    def stored(workers: int) -> dict[str, Any]:
        return stored_job("XGBoostJob", {"Master": 1, "Worker": workers})

    fits = most(lambda n: listed(n) <= LONGEST_VARIABLE)
    assert rejection(stored(fits), "XGBoostJob") == ""
    assert "WORKER_ADDRS lists every replica and would have" in rejection(stored(fits + 1), "XGBoostJob")


@pytest.mark.parametrize("ssh", [False, True], ids=["exec", "ssh"])
def test_lists_of_hosts_fit_into_a_config_map(ssh: bool) -> None:
    """All that the ConfigMap holds once every worker runs."""

    def stored(workers: int) -> dict[str, Any]:
        job = stored_job("MPIJob", {"Launcher": 1, "Worker": workers}, name="n" * 63, slotsPerWorker=8)
        job["metadata"]["annotations"] = {"extension.training.kubeflow.org/mpi-launch": "ssh"} if ssh else {}
        return job

    def held(workers: int) -> int:
        running = {
            Slot("Worker", index): pod("Worker", index, "Running", name=f"{'n' * 63}-worker-{index}")
            for index in range(workers)
        }
        made = (files_over_ssh if ssh else files)(load("MPIJob", stored(workers)), running)
        return sum(map(len, made.values()))

    fits = most(lambda n: not rejection(stored(n), "MPIJob"))
    assert held(fits) <= CONFIG_MAP_BYTES
    assert held(fits) > CONFIG_MAP_BYTES - 2 * MOST_OF_OTHER_FILES
    assert rejection(stored(fits + 1), "MPIJob").startswith(
        f"spec.mpiReplicaSpecs[Worker].replicas: Invalid value: {fits + 1}: the lists of hosts would have "
    )


@pytest.mark.parametrize("kind", ["PyTorchJob", "PaddleJob", "JAXJob"])
def test_other_kinds_may_have_as_many_as_there_may_be(kind: str) -> None:
    assert rejection(stored_job(kind, {"Worker": 10_000}), kind) == ""


def test_an_mpijob_may_have_as_many_as_there_may_be() -> None:
    assert rejection(stored_job("MPIJob", {"Launcher": 1, "Worker": 10_000}), "MPIJob") == ""
