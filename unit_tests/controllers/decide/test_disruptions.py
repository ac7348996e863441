"""Pods that the cluster ends: replaced, counted or failed, as annotation `disruptions` says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND, led
from unit_tests.controllers.builders import START, World, conditions, message, pod, texts, world

from training_controllers.model.plan import Counter, Plan
from training_controllers.model.records import ContainerState
from training_controllers.observe.pod_failures import is_disrupted

ANNOTATION = "extension.training.kubeflow.org/disruptions"
SCOPE = "extension.training.kubeflow.org/restart-scope"
LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
EVICTED = {"phase": "Failed", "reason": "Evicted", "message": LOW}
DRAINED = {"deleting": True, "disrupted": True, "disruption": "EvictionByEvictionAPI"}
"""What a pod looks like that is evicted through the API: condition and deletion come together."""


def running(kind: str = "JAXJob", *, restart: str = "OnFailure", mode: str = "", scope: str = "", **run: Any) -> World:
    w = world(kind, led(kind), restart=restart, run_policy=run)
    annotations = {ANNOTATION: mode, SCOPE: scope}
    w.stored["metadata"]["annotations"] = {key: value for key, value in annotations.items() if value}
    w.settle()
    w.report("Running")
    w.events.clear()
    w.counters.clear()
    return w


def disrupt(w: World, name: str = "sim-worker-1", *, exit_code: int | None = 143, **how: Any) -> None:
    """The cluster ends a pod; its program has died of it, or the cause is unknown."""
    ended = ContainerState(w.framework.info.container, exit_code=exit_code, started_at=START, finished_at=w.now)
    containers = (ended,) if exit_code is not None else ()
    w.pods[name] = msgspec.structs.replace(w.pods[name], ready=False, containers=containers, **(how or EVICTED))


def deleted(plan: Plan) -> list[str]:
    return [deletion.pod.name for deletion in plan.delete_pods]


def restarts(w: World) -> int:
    return sum(status.restarts for status in w.status.replica_statuses.values())


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize(("restart", "code"), [("OnFailure", 1), ("Always", 1), ("ExitCode", 1), ("ExitCode", 137)])
def test_by_default_a_disrupted_pod_is_replaced_at_once_and_nobody_counts_it(
    kind: str, restart: str, code: int
) -> None:
    """Also where v1's rules fail the job for any failed pod, and where the exit code says that trying is in vain."""
    w = running(kind, restart=restart, backoffLimit=1)
    for _ in range(3):
        before = w.pods["sim-worker-1"].uid
        disrupt(w, exit_code=code)
        plan = w.step()
        assert deleted(plan) == ["sim-worker-1"]
        assert "Restarting=True" not in conditions(w.status)
        w.advance(1)
        w.settle()
        assert w.pods["sim-worker-1"].uid != before
        w.report("Running", "sim-worker-1")
    assert restarts(w) == 0
    assert conditions(w.status) == ["Created=True", "Running=True"]
    assert w.counters == []
    assert w.status.replica_statuses["Worker"].failed == 0
    message = f"pod sim-worker-1 was disrupted (Evicted: {LOW}): it is replaced; this does not count as a restart"
    assert [text for text in texts(w.events) if "Disrupted" in text] == [f"Warning PodDisrupted {message}"] * 3


def test_each_disruption_emits_one_event() -> None:
    w = running()
    w.lingering = True
    disrupt(w)
    for _ in range(3):
        w.step()
    assert len([text for text in texts(w.events) if "PodDisrupted" in text]) == 1


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("restart", ["OnFailure", "Never", "ExitCode"])
@pytest.mark.parametrize("how", [EVICTED, DRAINED])
def test_count_restarts_and_counts_whatever_the_policy(kind: str, restart: str, how: dict[str, Any]) -> None:
    w = running(kind, restart=restart, mode="count")
    disrupt(w, exit_code=1, **how)
    w.lingering = True
    for _ in range(3):
        w.step()
    assert restarts(w) == 1
    assert w.status.replica_statuses["Worker"].restarting_indexes == "1"
    text = f"{kind} sim is restarting because 1 Worker replica(s) were disrupted."
    assert message(w.status, "Restarting") == text
    assert [each for each in texts(w.events) if "Restarting" in each] == [f"Warning {kind}Restarting {text}"]
    assert w.counters == [Counter.RESTARTED]
    w.finish_deletions()
    w.lingering = False
    w.settle()
    w.report("Running")
    assert restarts(w) == 1
    assert w.pods["sim-worker-1"].restarts_before == 1
    assert w.status.replica_statuses["Worker"].restarting_indexes == ""


def test_counted_disruptions_reach_the_backoff_limit_and_wait_like_failures() -> None:
    w = running(mode="count", backoffLimit=3)
    disrupt(w)
    w.settle()
    assert w.pods["sim-worker-1"].backoff_level == 1
    w.report("Running")
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    disrupt(w)
    assert w.step().requeue_after == 10
    w.advance(10)
    w.settle()
    assert w.pods["sim-worker-1"].backoff_level == 2
    disrupt(w, "sim-worker-0")
    w.step()
    assert conditions(w.status)[-1] == "Failed=True"


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("restart", ["Never", "OnFailure", "ExitCode"])
@pytest.mark.parametrize("how", [EVICTED, DRAINED])
def test_fail_ends_the_job_with_the_reason(kind: str, restart: str, how: dict[str, Any]) -> None:
    w = running(kind, restart=restart, mode="fail" if restart != "Never" else "")
    disrupt(w, exit_code=137, **how)
    plan = w.step()
    assert conditions(w.status)[-1] == "Failed=True"
    assert deleted(plan) == []
    reason = "Evicted: " + LOW.strip() if how is EVICTED else "EvictionByEvictionAPI"
    assert message(w.status, "Failed").endswith(f"Pod sim-worker-1: {reason}")
    assert w.counters == [Counter.FAILED]


def test_never_can_be_made_to_restart_after_disruptions_only() -> None:
    w = running(restart="Never", mode="restart")
    disrupt(w)
    w.settle()
    w.report("Running")
    assert conditions(w.status)[-1] == "Running=True"
    w.set_pods("Failed", "sim-worker-1", exit_code=143)
    w.step()
    assert conditions(w.status)[-1] == "Failed=True"


def test_a_limit_of_0_does_not_fail_a_job_for_a_disruption_that_nobody_counts() -> None:
    w = running(backoffLimit=0)
    disrupt(w)
    w.settle()
    assert conditions(w.status)[-1] == "Running=True"
    counted = running(backoffLimit=0, mode="count")
    disrupt(counted)
    counted.settle()
    assert conditions(counted.status)[-1] == "Failed=True"


def test_a_disruption_leaves_the_place_in_a_series_of_failures_as_it_was() -> None:
    w = running()
    w.pods["sim-worker-1"] = msgspec.structs.replace(w.pods["sim-worker-1"], backoff_level=4)
    disrupt(w)
    w.settle()
    assert w.pods["sim-worker-1"].backoff_level == 4


def test_a_pod_that_its_node_rejects_again_and_again_is_replaced_ever_more_slowly() -> None:
    w, waited = running(), []
    for _ in range(4):
        disrupt(w, exit_code=None, phase="Failed", reason="OutOfcpu", message="Node didn't have enough resource: cpu")
        plan = w.step()
        waited.append(0 if plan.delete_pods else plan.requeue_after)
        w.advance(waited[-1] or 0)
        w.settle()
        assert w.pods["sim-worker-1"].phase == "Pending"
    assert waited == [0, 10, 20, 40]
    assert restarts(w) == 0


@pytest.mark.shows("K-13")
def test_a_completed_replica_is_not_run_again_when_its_pod_is_evicted() -> None:
    w = running()
    w.report("Succeeded", "sim-worker-1", exit_code=0)
    w.pods["sim-worker-1"] = msgspec.structs.replace(w.pods["sim-worker-1"], **DRAINED)
    w.settle()
    w.finish_deletions()
    w.settle()
    assert sorted(w.pods) == ["sim-worker-0", "sim-worker-2"]
    assert w.status.replica_statuses["Worker"].completed_indexes == "1"


def test_failures_beside_a_disruption_are_counted_as_ever() -> None:
    w = running()
    disrupt(w, "sim-worker-0")
    w.report("Failed", "sim-worker-1", exit_code=1)
    assert restarts(w) == 1
    assert w.pods["sim-worker-1"].restarts_before == 1
    assert w.pods["sim-worker-0"].restarts_before == 0


@pytest.mark.parametrize(("mode", "counted"), [("restart", 0), ("count", 1)])
def test_of_a_job_that_restarts_as_a_whole_all_replicas_begin_again(mode: str, counted: int) -> None:
    """What the others die of is the disruption, so that is not counted either."""
    w = running("PyTorchJob", scope="job", mode=mode)
    w.lingering = True
    disrupt(w, "sim-worker-0", exit_code=None, phase="Failed", disrupted=True, disruption="PreemptionByScheduler")
    w.set_pods("Failed", "sim-worker-1", exit_code=1)
    plan = w.step()
    assert sorted(deleted(plan)) == ["sim-master-0", "sim-worker-0", "sim-worker-1"]
    assert w.status.attempt == 1
    assert "pod sim-worker-0 was disrupted (PreemptionByScheduler): all replicas restart" in texts(w.events)[-1]
    w.finish_deletions()
    w.settle()
    assert {each.attempt for each in w.pods.values()} == {1}
    assert restarts(w) == counted
    assert {each.backoff_level for each in w.pods.values()} == {1}


def test_of_a_job_that_restarts_as_a_whole_a_pod_that_never_began_is_replaced_alone() -> None:
    w = running("PyTorchJob", scope="job")
    disrupt(w, exit_code=None, phase="Failed", reason="UnexpectedAdmissionError", message="no such device")
    assert deleted(w.step()) == ["sim-worker-1"]
    w.settle()
    assert w.status.attempt == 0
    assert len(w.pods) == 3


def test_a_disrupted_pod_is_replaced_at_once_in_a_series_of_failures_too() -> None:
    w = running()
    w.pods["sim-worker-1"] = msgspec.structs.replace(w.pods["sim-worker-1"], backoff_level=3)
    disrupt(w)
    plan = w.step()
    assert [(each.pod.name, each.history and each.history.backoff_level) for each in plan.delete_pods] == [
        ("sim-worker-1", 3)
    ]


def test_a_bad_value_says_both_defaults() -> None:
    w = running(mode="ignore")
    w.stored["metadata"]["annotations"] = {ANNOTATION: "ignored"}
    (text,) = [each for each in texts(w.decide().events) if "BadAnnotation" in each]
    assert text.endswith(
        '\'ignored\' must be "restart" or "count" or "fail"; '
        '"restart" applies; "fail" to replicas with restart policy Never'
    )


@pytest.mark.parametrize(
    ("fields", "disrupted"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": LOW}, True),
        (
            {
                "phase": "Failed",
                "reason": "Evicted",
                "message": "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ",
            },
            False,
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": 'Usage of EmptyDir volume "d" exceeds the limit "1Gi". '},
         False),
        ({"phase": "Failed", "reason": "Evicted",
          "message": "Container main exceeded its local ephemeral storage limit 1Gi. "}, False),
        ({"phase": "Failed", "reason": "Evicted",
          "message": LOW + "Container main was using 2Gi, which exceeds its request of 0. "}, True),
        ({"phase": "Failed", "reason": "Terminated"}, True),
        ({"phase": "Failed", "reason": "DeadlineExceeded"}, False),
        ({"phase": "Failed", "disrupted": True}, True),
        ({"phase": "Running", "disrupted": True}, False),
        ({"phase": "Running", "disrupted": True, "deleting": True}, True),
        ({"phase": "Running", "deleting": True}, False),
        ({"phase": "Succeeded", "disrupted": True, "deleting": True}, False),
        ({"phase": "Running", "reason": "NodeLost"}, False),
    ],
)  # fmt: skip
def test_what_a_disruption_is(fields: dict[str, Any], disrupted: bool) -> None:
    assert is_disrupted(pod("Worker", 0, **fields)) is disrupted


def test_replicas_of_a_type_that_failed_and_others_that_were_disrupted_are_told_in_one_sentence() -> None:
    w = running(mode="count")
    w.set_pods("Failed", "sim-worker-0", exit_code=1)
    disrupt(w)
    w.step()
    assert message(w.status, "Restarting") == "JAXJob sim is restarting because 1 Worker replica(s) failed."
    assert w.counters == [Counter.RESTARTED]
    assert not [text for text in texts(w.events) if "were disrupted" in text]
