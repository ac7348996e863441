"""Which failure is called the first cause, and what is said of a job that does not start."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from unit_tests.local.pods import RUNNING, Json, deleted, pod, terminated, waiting

from training_api.registry import KINDS
from training_local.run.cause import PATIENCE, Failures, standstill
from training_local.run.progress import JobProgress, JobRef, progress_of, replica_of
from training_local.show.report import failure_json, failure_report, next_steps, unfinished

JAX = KINDS["JAXJob"]
JOB = JobRef(JAX, "default", "sim")
NOON = "2026-01-01T12:00:0"


def seen(pods: Sequence[Json], workers: int = 2) -> Failures:
    """What is known after pods were seen in this order."""
    failures, current = Failures(), {}
    job = {"spec": {"jaxReplicaSpecs": {"Worker": {"replicas": workers}}}}
    for each in pods:
        current[each["metadata"]["uid"]] = each
        replicas = [replica_of(p) for p in current.values()]
        failures = failures.after_pod(each).after_progress(progress_of(JAX, job, replicas))
    return failures


def first(pods: Sequence[Json]) -> str:
    failure = seen(pods).first
    return failure.sentence if failure else ""


def test_the_replica_that_ended_first_is_the_cause_whatever_was_seen_first() -> None:
    late = pod("worker-0", terminated(1, f"{NOON}5Z"), phase="Failed")
    early = pod("worker-1", terminated(3, f"{NOON}4Z"), phase="Failed")
    assert first([late, early]) == first([early, late])
    assert first([late, early]) == "worker-1 (pod sim-worker-1, container jax) exited with code 3"


def test_within_one_second_the_one_that_was_seen_first_is_the_cause() -> None:
    one, other = (pod(f"worker-{n}", terminated(n + 1, f"{NOON}4Z"), phase="Failed") for n in (0, 1))
    assert "exited with code 1" in first([one, other])
    assert "exited with code 2" in first([other, one])


def test_what_a_clean_up_kills_is_no_cause() -> None:
    killed = deleted(pod("worker-0", terminated(137, f"{NOON}3Z")), f"{NOON}3Z", grace=0)
    asked_to_end = deleted(pod("worker-0", terminated(143, f"{NOON}3Z")), "2026-01-01T12:00:32Z")
    assert first([killed]) == first([asked_to_end]) == ""
    failed = pod("worker-1", terminated(1, f"{NOON}5Z"), phase="Failed")
    assert "worker-1" in first([killed, failed])


def test_a_pod_that_failed_before_it_was_deleted_has_failed_by_itself() -> None:
    replaced = deleted(pod("worker-0", terminated(137, f"{NOON}1Z"), phase="Failed"), "2026-01-01T12:00:32Z")
    assert "worker-0" in first([replaced])


def test_what_all_replicas_recovered_from_is_no_cause() -> None:
    preempted = pod("worker-0", terminated(137, f"{NOON}0Z"))
    again = pod("worker-0", RUNNING, last=terminated(137, f"{NOON}0Z"), restarts=1)
    broken = pod("worker-1", terminated(1, f"{NOON}9Z"), phase="Failed")
    failures = seen([pod("worker-1", RUNNING), preempted, again, broken])
    assert failures.first is not None
    assert failures.first.replica.short_name == "worker-1"
    assert len(failures.seen) == 1


def test_a_failure_counts_as_long_as_not_all_replicas_run_again() -> None:
    origin = pod("worker-0", terminated(3, f"{NOON}0Z"))
    victim = pod("worker-1", terminated(1, f"{NOON}1Z"))
    back = pod("worker-0", RUNNING, last=terminated(3, f"{NOON}0Z"), restarts=1)
    loop = pod("worker-1", waiting("CrashLoopBackOff"), last=terminated(1, f"{NOON}1Z"))
    again = pod("worker-0", terminated(1, f"{NOON}5Z"), restarts=1)
    assert "exited with code 3" in first([origin, victim, back, loop, again])


def test_the_same_end_is_counted_once_as_current_and_as_last_state() -> None:
    ended = pod("worker-0", terminated(1))
    backing_off = pod("worker-0", waiting("CrashLoopBackOff"), last=terminated(1))
    assert len(seen([ended, backing_off]).seen) == 1
    again = pod("worker-0", terminated(1, f"{NOON}5Z"), last=terminated(1), restarts=1)
    assert [f.attempt for f in seen([ended, backing_off, again]).seen] == [0, 1]


def test_an_init_container_and_a_whole_pod_can_be_the_cause() -> None:
    fetch = pod("worker-0", waiting("PodInitializing"), init=terminated(22), phase="Failed")
    assert first([fetch]) == "worker-0 (pod sim-worker-0, init container fetch) exited with code 22"
    evicted = pod("worker-0", terminated(137), phase="Failed", reason="Evicted", message="The node was low on memory.")
    assert first([evicted]) == "worker-0 (pod sim-worker-0) failed (Evicted): The node was low on memory."


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (terminated(1), "exited with code 1"),
        (terminated(137), "was killed with SIGKILL (exit code 137)"),
        (
            terminated(137, reason="OOMKilled"),
            "used more memory than its limit and was killed (OOMKilled, exit code 137)",
        ),
        (terminated(139), "crashed with SIGSEGV: invalid memory access (exit code 139)"),
        (terminated(131), "was ended by SIGQUIT (exit code 131)"),
        (terminated(2, signal=9), "was killed with SIGKILL (exit code 2)"),
        (terminated(127), "ended with exit code 127: its command was not found"),
        (terminated(126), "ended with exit code 126: its command cannot be executed"),
        (
            terminated(128, reason="StartError", message="no such file: trian.py"),
            "could not be started: no such file: trian.py",
        ),
        (terminated(7, message="dataset is empty\n"), "exited with code 7: dataset is empty"),
        (terminated(255), "exited with code 255"),
    ],
)
def test_an_end_in_words(state: Json, sentence: str) -> None:
    assert first([pod("worker-0", state, phase="Failed")]).partition(") ")[2] == sentence


def progress(*pods: Json, **more: Any) -> JobProgress:
    return progress_of(JAX, {"spec": {"jaxReplicaSpecs": {"Worker": {}}}, **more}, [replica_of(p) for p in pods])


SINCE = datetime(2026, 1, 1, 12, tzinfo=UTC)
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available",
}


@pytest.mark.parametrize(
    ("pods", "sentence"),
    [
        (
            [pod("worker-0", phase="Pending", conditions=[UNSCHEDULABLE])],
            "JAXJob default/sim has not started: worker-0 waits: Unschedulable: 0/1 nodes are available",
        ),
        (
            [pod(f"worker-{n}", waiting("CreateContainerConfigError", "no x"), phase="Pending") for n in range(3)],
            "JAXJob default/sim has not started: worker-0 (and 2 more) waits: CreateContainerConfigError: no x",
        ),
        ([], "JAXJob default/sim has no pods yet"),
        ([pod("worker-0", waiting("ContainerCreating"), phase="Pending")], ""),
        ([pod("worker-0", RUNNING), pod("worker-1", phase="Pending", conditions=[UNSCHEDULABLE])], ""),
    ],
)
def test_a_job_that_cannot_start_says_why_after_some_seconds(pods: list[Json], sentence: str) -> None:
    assert standstill(JOB, progress(*pods), SINCE, SINCE + PATIENCE) == sentence
    assert standstill(JOB, progress(*pods), SINCE, SINCE + PATIENCE - timedelta(seconds=1)) == ""


def test_a_suspended_job_says_at_once_how_to_resume_it() -> None:
    suspended = progress_of(JAX, {"spec": {"runPolicy": {"suspend": True}}}, [])
    said = standstill(JOB, suspended, SINCE, SINCE)
    assert "suspended" in said
    assert said.endswith(
        """kubectl patch jaxjob sim -n default --type merge -p '{"spec":{"runPolicy":{"suspend":false}}}'"""
    )


def test_a_job_of_another_controller_says_so_at_once() -> None:
    others = progress_of(JAX, {"spec": {"runPolicy": {"managedBy": "kueue.x-k8s.io/multikueue"}}}, [])
    assert "kueue.x-k8s.io/multikueue" in standstill(JOB, others, SINCE, SINCE)


def test_what_the_operator_says_of_a_job_without_pods_is_passed_on() -> None:
    quota = progress(status={"waiting": {"reason": "Quota", "message": "no pods left"}})
    assert standstill(JOB, quota, SINCE, SINCE + PATIENCE) == "JAXJob default/sim has not started: Quota: no pods left"


def test_a_finished_job_stands_still_rightly() -> None:
    done = progress(status={"conditions": [{"type": "Succeeded", "status": "True"}]})
    assert standstill(JOB, done, SINCE, SINCE + PATIENCE) == ""


def test_a_failure_is_reported_with_its_last_words_made_harmless() -> None:
    failures = seen(
        [pod("worker-1", terminated(3, f"{NOON}4Z"), phase="Failed"), pod("worker-0", terminated(1, f"{NOON}5Z"))]
    )
    failed = progress(status={"conditions": [{"type": "Failed", "status": "True", "message": "1 Worker failed."}]})
    assert failure_report(
        JOB, failed, failures.first, 1, ["Traceback", "\x1b[2JValueError: bad"], remarks=["it does not see\n/tmp/x"]
    ).plain.splitlines() == [
        "First cause: worker-1 (pod sim-worker-1, container jax) exited with code 3",
        "  1 more failure followed it",
        "  worker-1 | Traceback",
        r"  worker-1 | \x1b[2JValueError: bad",
        "  Warning: it does not see /tmp/x",
        "JAXJob default/sim Failed: 1 Worker failed.",
    ]
    report = failure_json(failures.first, 1, ["x"])
    assert report is not None
    assert (report["replica"], report["end"]["exitCode"], report["othersFailed"], report["lastLines"]) == (
        "worker-1",
        3,
        1,
        ["x"],
    )
    assert failure_json(None, 0, []) is None


def test_a_job_can_fail_without_any_failure_of_a_replica() -> None:
    late = progress(status={"conditions": [{"type": "Failed", "status": "True", "message": "over its deadline"}]})
    assert failure_report(JOB, late, None, 0, []).plain == "JAXJob default/sim Failed: over its deadline\n"
    gone = progress_of(JAX, {}, [], gone=True)
    assert failure_report(JOB, gone, None, 0, []).plain == "JAXJob default/sim was deleted before it had finished\n"


def test_the_command_to_repeat_can_be_pasted_into_a_shell() -> None:
    arguments = ["local", "run", "my job.yaml", "--timeout", "5", "$(reboot)"]
    first, kept, inside = next_steps(arguments, seen([pod("worker-1", terminated(3))]).first).plain.splitlines()
    assert shlex.split(first.partition(": ")[2]) == ["training-operator", *arguments]
    assert shlex.split(kept.partition(": ")[2]) == ["training-operator", "local", "run", "--keep", *arguments[2:]]
    assert inside.endswith("training-operator local shell worker-1")
    assert "--keep" not in next_steps(["local", "demo"], None).plain


def test_an_unfinished_job_in_numbers_and_with_what_it_waits_for() -> None:
    waits = pod("worker-1", phase="Pending", conditions=[UNSCHEDULABLE])
    running = progress(pod("worker-0", RUNNING), waits, status={"conditions": [{"type": "Created", "status": "True"}]})
    assert unfinished(running) == (
        "it is Created: 1 Running, 1 Pending; worker-1 waits: Unschedulable: 0/1 nodes are available"
    )
    assert unfinished(progress()) == "it is not begun: no replica exists"
