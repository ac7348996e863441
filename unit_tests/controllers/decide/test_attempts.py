"""Restart scope `job`: all replicas restart together, one attempt after the other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND, led
from unit_tests.controllers.builders import World, conditions, texts, world

from training_api.constants import ATTEMPT_ANNOTATION
from training_api.models.common import ReplicaStatus
from training_controllers.model.plan import Counter, NewPod, Plan, Slot
from training_controllers.reconcile.builders import build_pod

SCOPE = "extension.training.kubeflow.org/restart-scope"
NAMES = ["sim-master-0", "sim-worker-0", "sim-worker-1"]


def together(
    kind: str = "PyTorchJob", *, restart: str = "OnFailure", scope: str = "job", **run_policy: object
) -> World:
    """A job with three replicas that all run; deleted pods take their time to go."""
    w = world(kind, led(kind), restart=restart, run_policy=run_policy)
    w.stored["metadata"]["annotations"] = {SCOPE: scope}
    w.settle()
    w.report("Running")
    w.lingering = True
    return w


def attempts(w: World) -> set[int]:
    return {pod.attempt for pod in w.pods.values()}


def deleted(plan: Plan) -> list[str]:
    return [deletion.pod.name for deletion in plan.delete_pods]


def restarts(w: World) -> int:
    return sum(status.restarts for status in w.status.replica_statuses.values())


def test_a_failed_replica_takes_all_others_along_and_none_comes_before_the_last_has_gone() -> None:
    w = together()
    selector = w.status.replica_statuses["Worker"].selector
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    plan = w.step()
    assert sorted(deleted(plan)) == NAMES
    assert deleted(plan)[-1] == "sim-worker-0"
    assert plan.create_pods == ()
    assert w.status.replica_statuses["Worker"] == ReplicaStatus(selector=selector, restarts=1)
    assert w.status.attempt == 1
    assert conditions(w.status)[-1] == "Restarting=True"
    for gone in ("sim-worker-0", "sim-master-0"):
        del w.pods[gone]
        plan = w.step()
        assert plan.create_pods == () == plan.delete_pods
        assert w.status.waiting is not None
        assert w.status.waiting.reason == "Terminating"
        assert "sim-worker-1" in w.status.waiting.message
    del w.pods["sim-worker-1"]
    w.settle()
    assert sorted(w.pods) == NAMES
    assert attempts(w) == {1}
    assert w.status.waiting is None
    w.report("Running")
    assert conditions(w.status)[-1] == "Running=True"


def test_by_default_only_the_failed_replica_is_replaced() -> None:
    w = together(scope="pod")
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    assert deleted(w.step()) == ["sim-worker-0"]
    assert w.status.attempt == 0


def test_one_restart_is_counted_however_many_replicas_die_of_it() -> None:
    w = together()
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    w.set_pods("Failed", "sim-master-0", "sim-worker-1", exit_code=1)
    w.step()
    w.finish_deletions()
    w.settle()
    assert restarts(w) == 1
    assert w.counters.count(Counter.RESTARTED) == 1
    events = [each for each in texts(w.events) if "NextAttempt" in each]
    assert events == [
        "Warning NextAttempt pod sim-master-0 has failed: all replicas restart together as attempt 1",
    ]
    assert sum(pod.restarts_before for pod in w.pods.values()) == 1


def test_a_crash_after_any_step_neither_counts_twice_nor_mixes_attempts() -> None:
    w = together()
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    plan = w.decide()
    assert plan.status is not None
    w._store(plan.status)  # the process ends before a pod is deleted
    assert sorted(deleted(w.step())) == NAMES
    assert restarts(w) == 1
    del w.pods["sim-worker-0"]  # and again when the pod that failed has gone
    w.history.clear()
    w.pods["sim-master-0"] = msgspec.structs.replace(w.pods["sim-master-0"], deleting=False)
    plan = w.step()
    assert (deleted(plan), plan.create_pods) == (["sim-master-0"], ())
    w.finish_deletions()
    w.history.clear()
    w.settle()
    assert (restarts(w), attempts(w), w.status.attempt) == (1, {1}, 1)
    assert sum(pod.restarts_before for pod in w.pods.values()) == 1


def test_of_many_pods_that_are_waited_for_some_are_named_and_the_others_counted() -> None:
    w = world("JAXJob", {"Worker": 5}, restart="OnFailure")
    w.stored["metadata"]["annotations"] = {SCOPE: "job"}
    w.settle()
    w.report("Running")
    w.lingering = True
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    messages = []
    while w.pods:
        w.step()
        messages.append(w.status.waiting.message if w.status.waiting is not None else "")
        w.pods.pop(max(w.pods))
    begins = "attempt 1 starts when these pods are deleted: sim-worker-0"
    assert messages == [
        "",
        f"{begins}, sim-worker-1, sim-worker-2 and 1 more",
        f"{begins}, sim-worker-1, sim-worker-2",
        f"{begins}, sim-worker-1",
        begins,
    ]


def test_under_v1s_crds_the_pods_know_the_attempt() -> None:
    w = together()
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.step()
    w.finish_deletions()
    w.settle()
    w.status = w.status.model_copy(update={"attempt": 0})
    del w.pods["sim-worker-1"]
    assert [new.attempt for new in w.decide().create_pods] == [1]


def test_attempts_are_delayed_longer_each_time_whoever_fails() -> None:
    w = together("JAXJob")
    waited = []
    for attempt in range(4):
        w.set_pods("Failed", f"sim-worker-{attempt % 3}", exit_code=1)
        w.step()
        assert restarts(w) == attempt + 1
        waited.append(w.requeue_after)
        w.advance(w.requeue_after or 0)
        for _ in range(2):
            w.step()
        w.finish_deletions()
        w.settle()
        assert attempts(w) == {attempt + 1}
        w.report("Running")
    assert waited == [0, 10, 20, 40]
    assert [text for text in texts(w.events) if "lost their pods" in text] == []


def test_what_was_completed_in_an_attempt_is_run_again_in_the_next() -> None:
    w = together("JAXJob")
    w.report("Succeeded", "sim-worker-2", exit_code=0)
    assert w.status.replica_statuses["Worker"].completed_indexes == "2"
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.step()
    assert w.status.replica_statuses["Worker"].completed_indexes == ""
    w.finish_deletions()
    w.settle()
    assert len(w.pods) == 3


@pytest.mark.parametrize("at_once", [False, True])
def test_a_replica_that_loses_its_pod_restarts_all_without_being_counted(at_once: bool) -> None:
    w = together()
    w.lingering = not at_once
    w.delete("sim-worker-1")
    plan = w.step()
    assert sorted(deleted(plan)) == NAMES[:2]
    w.finish_deletions()
    w.settle()
    assert attempts(w) == {1}
    assert restarts(w) == 0
    assert w.counters.count(Counter.RESTARTED) == 0


def test_a_replica_that_loses_its_pod_while_it_backs_off_restarts_all() -> None:
    w = together("JAXJob")
    w.lingering = False
    failed = msgspec.structs.replace(w.pods["sim-worker-1"], backoff_level=1)
    w.pods["sim-worker-1"] = failed
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    w.step()
    w.advance(5)
    assert (w.step().delete_pods, attempts(w)) == ((), {0})
    del w.pods["sim-worker-1"]
    plan = w.step()
    assert deleted(plan) == ["sim-worker-0", "sim-worker-2"]
    assert texts(plan.events)[-1].endswith(
        "1 Worker replica(s) have lost their pods: all replicas restart together as attempt 1"
    )


def test_a_lost_pod_restarts_all_beside_replicas_that_have_completed_and_begins_no_series() -> None:
    w = together()
    w.lingering = False
    w.report("Succeeded", "sim-worker-0", exit_code=0)
    del w.pods["sim-worker-1"], w.pods["sim-master-0"]
    plan = w.step()
    assert texts(plan.events)[-1].startswith(
        "Warning NextAttempt 1 Master replica(s) have lost their pods and 1 Worker replica(s) have lost their pods: "
    )
    w.settle()
    assert (attempts(w), {pod.backoff_level for pod in w.pods.values()}) == ({1}, {0})


def test_the_failure_that_came_first_is_the_one_that_counts() -> None:
    w = together()
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    w.advance(1)
    w.set_pods("Failed", "sim-master-0", exit_code=1)
    w.step()
    assert {name: status.restarts for name, status in w.status.replica_statuses.items()} == {"Master": 0, "Worker": 1}


@pytest.mark.parametrize(
    ("state", "next_attempt"),
    [
        ({"phase": "Failed", "reason": "OutOfcpu"}, ""),  # the node rejected it, so it never ran
        ({"phase": "Pending", "disrupted": True, "deleting": True}, ""),
        ({"phase": "Failed", "reason": "Evicted", "disrupted": True}, "pod sim-worker-1 was disrupted (Evicted)"),
        (
            {"phase": "Running", "disrupted": True, "deleting": True},
            "pod sim-worker-1 was disrupted (DisruptionTarget)",
        ),
        ({"phase": "Failed"}, "pod sim-worker-1 has failed"),
    ],
)
def test_only_a_pod_that_has_begun_takes_the_others_along(state: dict[str, Any], next_attempt: str) -> None:
    w = together()
    w.report("Pending", "sim-worker-1")
    w.pods["sim-worker-1"] = msgspec.structs.replace(w.pods["sim-worker-1"], **state)
    events = [text for text in texts(w.step().events) if "NextAttempt" in text]
    text = f"Warning NextAttempt {next_attempt}: all replicas restart together as attempt 1"
    assert events == ([text] if next_attempt else [])


def test_pods_too_many_go_with_the_attempt_once() -> None:
    w = together()
    spare = [
        msgspec.structs.replace(w.pods["sim-worker-1"], name=name, uid=name, created=w.now, deleting=name == "spare-2")
        for name in ("spare-1", "spare-2")
    ]
    w.pods |= {each.name: each for each in spare}
    w.pods["sim-worker-1"] = msgspec.structs.replace(w.pods["sim-worker-1"], created=None)
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    assert sorted(deleted(w.decide())) == [*NAMES, "spare-1"]


def test_a_pod_that_never_ran_is_created_again_alone() -> None:
    w = together()
    w.report("Pending", "sim-worker-1")
    del w.pods["sim-worker-1"]
    plan = w.step()
    assert [new.attempt for new in plan.create_pods] == [0]
    assert plan.delete_pods == ()


def test_scaling_and_suspension_begin_no_attempt() -> None:
    w = together("JAXJob")
    w.lingering = False
    w.stored["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 1
    w.settle()
    w.stored["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = 3
    w.settle()
    w.patch(runPolicy={"suspend": True})
    w.settle()
    w.patch(runPolicy={"suspend": False})
    w.settle()
    assert (attempts(w), w.status.attempt, len(w.pods)) == ({0}, 0, 3)


def test_what_is_left_of_an_earlier_attempt_keeps_no_job_from_ending() -> None:
    w = together()
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.step()
    w.finish_deletions()
    w.settle()
    w.pods["left"] = msgspec.structs.replace(w.pods["sim-worker-0"], name="left", uid="left", attempt=0, deleting=True)
    w.report("Running", *NAMES)
    w.set_pods("Succeeded", "sim-master-0", exit_code=0)
    w.step()
    assert conditions(w.status)[-1] == "Succeeded=True"


def test_limits_and_permanent_failures_end_the_job() -> None:
    w = together(backoffLimit=1)
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    assert deleted(w.step()) == []
    assert conditions(w.status)[-1] == "Failed=True"
    w = together(restart="ExitCode")
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    assert deleted(w.step()) == []
    assert conditions(w.status)[-1] == "Failed=True"
    w = together(restart="Never")
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    assert deleted(w.step()) == []
    assert conditions(w.status)[-1] == "Failed=True"


@pytest.mark.parametrize("policy", ["OnFailure", "ExitCode", "Always"])
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_kind_restarts_as_a_whole(kind: str, policy: str) -> None:
    """Those too that fail a job for a failed pod with `OnFailure` where replicas restart one by one."""
    w = together(kind, restart=policy)
    w.set_pods("Failed", "sim-worker-0", exit_code=137)
    plan = w.step()
    assert len(plan.delete_pods) == 3
    w.finish_deletions()
    w.settle()
    assert attempts(w) == {1}
    assert len(w.pods) == 3


@pytest.mark.parametrize(
    ("policy", "scope", "restart_policy"),
    [
        ("OnFailure", "job", "Never"),  # the kubelet must not start one container among the others' survivors
        ("OnFailure", "pod", "OnFailure"),
        ("Always", "job", "Always"),
        ("ExitCode", "job", "Never"),
        ("Never", "job", "Never"),
    ],
)
def test_the_restart_policy_for_the_kubelet(policy: str, scope: str, restart_policy: str) -> None:
    w = together(restart=policy, scope=scope)
    template = w.stored["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    template["metadata"] = {"annotations": {ATTEMPT_ANNOTATION: "99", "mine": "yes"}}
    attempt = 3 if scope == "job" else None
    body = build_pod(w.snapshot().job, w.framework, NewPod(Slot("Worker", 0), attempt=attempt))
    assert body["spec"]["restartPolicy"] == restart_policy
    annotations = {"mine": "yes"} | ({ATTEMPT_ANNOTATION: "3"} if scope == "job" else {})
    assert body["metadata"]["annotations"] == annotations


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_replica_that_may_not_restart_ends_the_job_and_takes_nobody_along(kind: str) -> None:
    w = together(kind, restart="Never")
    w.report("Failed", "sim-worker-0", exit_code=1)
    assert conditions(w.status)[-1] == "Failed=True"
    assert (w.status.attempt, attempts(w)) == (0, {0})
    assert [text for text in texts(w.events) if "NextAttempt" in text] == []


def test_a_job_that_has_succeeded_is_not_restarted_for_a_replica_that_fails_at_that_moment() -> None:
    w = together()
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    w.report("Succeeded", "sim-master-0", exit_code=0)
    assert conditions(w.status)[-1] == "Succeeded=True"
    assert (w.status.attempt, attempts(w)) == (0, {0})
