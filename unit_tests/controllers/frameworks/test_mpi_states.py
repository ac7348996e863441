"""MPIJob: what the states of launcher and workers mean, and the events about them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from unit_tests.controllers.builders import START, World, conditions, framework_of, message, stored_job, texts, world

from training_controllers.model.plan import Slot

BOTH = {"Launcher": 1, "Worker": 2}
LAUNCHER, WORKER = Slot("Launcher", 0), Slot("Worker", 0)


def running_job(*running: str, **spec: Any) -> World:
    w = world("MPIJob", BOTH, **spec).settle()
    w.set_pods("Running", *running)
    return w


def play(phases: dict[str, str], *, code: int = 1, **options: Any) -> World:
    """A job whose pods have the phases named, all others Running."""
    w = running_job(**options)
    for name, phase in phases.items():
        w.set_pods(phase, f"sim-{name}", exit_code={"Succeeded": 0, "Failed": code}.get(phase))
    w.step()
    return w


def counters(w: World) -> dict[str, tuple[int, int, int]]:
    return {name: (each.active, each.succeeded, each.failed) for name, each in w.status.replica_statuses.items()}


@pytest.mark.shows("MPI-040")
def test_a_running_launcher_is_enough() -> None:
    w = play({"worker-0": "Pending", "worker-1": "Pending"})
    assert conditions(w.status) == ["Created=True", "Running=True"]
    assert message(w.status, "Running") == "MPIJob sim is running."
    assert counters(w) == {"Launcher": (1, 0, 0), "Worker": (0, 0, 0)}


def test_workers_alone_do_not_make_it_run() -> None:
    w = play({"launcher": "Pending"})
    assert conditions(w.status) == ["Created=True"]
    assert counters(w)["Worker"] == (2, 0, 0)


@pytest.mark.shows("MPI-041", "MPI-048")
def test_a_succeeded_launcher_ends_the_job_and_workers_count_no_more() -> None:
    w = play({"launcher": "Succeeded"})
    assert message(w.status, "Succeeded") == "MPIJob sim is successfully completed."
    assert w.status.completion_time == START
    w.settle()
    assert counters(w) == {"Launcher": (0, 1, 0), "Worker": (0, 0, 0)}
    assert sorted(w.pods) == ["sim-launcher", "sim-worker-0", "sim-worker-1"]
    assert "Normal mpijobsSucceeded MPIJob ns/sim successfully completed." in texts(w.events)


@pytest.mark.shows("MPI-042")
def test_a_failed_launcher_fails_the_job() -> None:
    w = play({"launcher": "Failed"})
    sentence = "MPIJob sim is failed because 1 Launcher replica(s) failed."
    failed = w.status.conditions[-1]
    assert (failed.reason, failed.message.startswith(sentence)) == ("MPIJobMPIJobFailed", True)
    w.settle()
    assert counters(w) == {"Launcher": (0, 0, 1), "Worker": (2, 0, 0)}
    assert f"Warning MPIJobFailed {sentence}" in texts(w.events)
    assert "Warning MPIJobFailed MPIJob ns/sim has failed" in texts(w.events)


@pytest.mark.shows("MPI-043")
@pytest.mark.parametrize("launcher", ["Running", "Succeeded"])
def test_a_failed_worker_fails_the_job_even_if_mpirun_ends_well(launcher: str) -> None:
    w = play({"worker-0": "Failed", "launcher": launcher})
    assert message(w.status, "Failed").startswith("MPIJob sim is failed because 1 Worker replica(s) failed.")
    assert conditions(w.status)[-1] == "Failed=True"


@pytest.mark.shows("MPI-043")
def test_workers_of_a_job_that_runs_on_still_count() -> None:
    w = play({"worker-0": "Failed"}).settle()
    assert counters(w) == {"Launcher": (1, 0, 0), "Worker": (1, 0, 1)}


@pytest.mark.shows("K-42")
@pytest.mark.parametrize("end", ["Succeeded", "Failed"])
def test_a_launcher_that_ends_after_its_job_failed_takes_no_worker_out_of_the_count(end: str) -> None:
    w = play({"worker-0": "Failed"}, run_policy={"cleanPodPolicy": "None"})
    w.report(end, "sim-launcher", exit_code=0 if end == "Succeeded" else 1)
    assert counters(w)["Worker"] == (1, 0, 1)
    assert counters(w)["Launcher"][0] == 0
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    assert counters(w)["Worker"] == (0, 0, 1)


@pytest.mark.shows("K-42")
@pytest.mark.parametrize(("policy", "active"), [("None", 2), ("Running", 0), ("All", 0)])
def test_the_workers_of_a_failed_launcher_count_as_long_as_they_are_kept(policy: str, active: int) -> None:
    w = play({"launcher": "Failed"}, run_policy={"cleanPodPolicy": policy}).settle()
    assert counters(w) == {"Launcher": (0, 0, 1), "Worker": (active, 0, 0)}


def test_the_list_of_hosts_loses_the_worker_that_ends_the_job() -> None:
    w = play({"worker-0": "Failed"}).settle()
    content = w.owned_objects["ConfigMap", "sim-config"].content
    assert (b"echo sim-worker-0" in content, b"echo sim-worker-1" in content) == (False, True)


@pytest.mark.shows("MPI-039")
@pytest.mark.parametrize("restart", ["Never", "OnFailure"])
def test_a_failed_worker_is_not_run_again(restart: str) -> None:
    w = play({"worker-0": "Failed"}, restart=restart)
    failed = w.pods["sim-worker-0"].uid
    w.settle()
    assert conditions(w.status)[-1] == "Failed=True"
    assert w.pods["sim-worker-0"].uid == failed


@pytest.mark.shows("MPI-044")
def test_a_launcher_with_a_retryable_exit_code_is_run_again() -> None:
    w = play({"launcher": "Failed"}, code=137, restart="ExitCode")
    assert message(w.status, "Restarting") == "job sim is restarting because Launcher replica(s) failed."
    assert "sim-launcher" not in w.pods
    assert "Warning MPIJobFailed MPIJob ns/sim has failed" not in texts(w.events)
    w.settle()
    assert "sim-launcher" in w.pods


def test_a_permanent_exit_code_of_any_first_container_fails_the_job() -> None:
    stored = stored_job("MPIJob", BOTH, restart="ExitCode")
    for spec in stored["spec"]["mpiReplicaSpecs"].values():
        spec["template"] = {"spec": {"containers": [{"name": "main", "image": "i"}]}}
    w = World(stored, "MPIJob").settle()
    failed = w.pods["sim-launcher"]
    w.set_pods("Failed", "sim-launcher", exit_code=2)
    (state,) = w.pods["sim-launcher"].containers
    main = msgspec.structs.replace(state, name="main")
    w.pods["sim-launcher"] = msgspec.structs.replace(failed, phase="Failed", containers=(main,))
    w.step()
    assert conditions(w.status)[-1] == "Failed=True"


@pytest.mark.shows("MPI-045", "MPI-046")
def test_suspending_keeps_what_is_not_a_pod() -> None:
    w = world("MPIJob", BOTH, run_policy={"suspend": True}).settle()
    assert (w.pods, w.owned_objects, w.status.start_time) == ({}, {}, None)
    w.patch(runPolicy={"suspend": False})
    w.settle()
    assert len(w.owned_objects) == 4
    assert b"sim-worker-1" in w.owned_objects["Role", "sim-launcher"].content
    w.patch(runPolicy={"suspend": True})
    w.step()
    assert b"sim-worker-1" not in w.owned_objects["Role", "sim-launcher"].content, "even before its pods have gone"
    w.settle()
    assert (w.pods, len(w.owned_objects)) == ({}, 4)


@pytest.mark.shows("MPI-009", "MPI-047")
@pytest.mark.parametrize(
    ("spec", "left"),
    [
        pytest.param({"run_policy": {"cleanPodPolicy": "Running"}}, ["sim-launcher"], id="policy Running"),
        pytest.param({"cleanPodPolicy": "All"}, [], id="policy in the old place"),
        pytest.param(
            {"cleanPodPolicy": "All", "run_policy": {"cleanPodPolicy": "Running"}}, ["sim-launcher"], id="both"
        ),
    ],
)
def test_the_clean_up_policy_says_which_pods_stay(spec: dict[str, Any], left: list[str]) -> None:
    w = play({"launcher": "Succeeded"}, **spec).settle()
    assert list(w.pods) == left
    assert len(w.owned_objects) == 4


def test_events_of_new_pods_are_v1_s() -> None:
    framework = framework_of("MPIJob")
    assert framework.pod_created(LAUNCHER, "a") == ("MPIJobRunning", "launcher pod created success: a")
    assert framework.pod_created(WORKER, "b") == ("SuccessfulCreatePod", "Created worker pod: b")


def test_evicted_workers_are_counted_in_an_event() -> None:
    w = running_job("sim-launcher", restart="OnFailure")
    evicted = w.pods["sim-worker-1"]
    w.pods["sim-worker-1"] = msgspec.structs.replace(evicted, phase="Failed", reason="Evicted")
    w.lingering = True
    w.settle()
    assert texts(w.events).count("Warning MPIJobEvicted 1/2 workers are evicted") == 1


def test_all_pods_running_emits_one_event() -> None:
    w = play({}).settle()
    assert texts(w.events).count("Normal MPIJobRunning MPIJob ns/sim is running") == 1
