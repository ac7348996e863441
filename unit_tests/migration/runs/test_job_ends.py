"""When Jobs and JobSets end, by what their pods have done."""

from __future__ import annotations

from typing import Any

from training_migration.runs.job_ends import JobEnd, PodSeen, State, job_end, set_end

Json = dict[str, Any]


def job(completions: int = 2, policy: str = "Never", **fields: Any) -> Json:
    return {"completions": completions, "template": {"spec": {"restartPolicy": policy}}, **fields}


def ran(index: int) -> PodSeen:
    return PodSeen(index, "Running", ready=True)


def ended(index: int, code: int = 0, container: str = "node") -> PodSeen:
    return PodSeen(index, "Failed" if code else "Succeeded", exit_codes={container: code})


def test_a_job_begins_with_all_its_indexes_missing() -> None:
    assert job_end(job(), []) == JobEnd(State.ACTIVE, missing=(0, 1))


def test_every_index_must_succeed() -> None:
    assert job_end(job(), [ended(0), ran(1)]).state is State.ACTIVE
    assert job_end(job(), [ended(0), ended(1)]).reason == "CompletionsReached"


def test_a_failed_pod_ends_a_job_whose_limit_is_nought() -> None:
    end = job_end(job(backoffLimit=0), [ended(0, 1), ran(1)])
    assert (end.state, end.reason) == (State.FAILED, "BackoffLimitExceeded")


def test_a_failed_pod_is_replaced_up_to_the_limit_of_six_that_a_job_has_without_one() -> None:
    assert job_end(job(), [ended(0, 1)] * 6 + [ran(1)]) == JobEnd(State.ACTIVE, missing=(0,))
    assert job_end(job(), [ended(0, 1)] * 7 + [ran(1)]).state is State.FAILED


def test_restarts_in_place_count_only_where_containers_are_restarted() -> None:
    restarted = PodSeen(0, "Running", restarts=3)
    assert job_end(job(1, "OnFailure", backoffLimit=3), [restarted]).state is State.FAILED
    assert job_end(job(1, "OnFailure", backoffLimit=4), [restarted]).state is State.ACTIVE
    assert job_end(job(1, "Never", backoffLimit=3), [restarted]).state is State.ACTIVE
    assert job_end(job(1, "OnFailure", backoffLimit=0), [PodSeen(0, "Running")]).state is State.ACTIVE
    assert job_end(job(1, "OnFailure", backoffLimit=0), [PodSeen(0, "Running", restarts=1)]).state is State.FAILED


def codes(action: str, operator: str, *values: int, **container: str) -> Json:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(values), **container}}


def test_a_rule_of_the_failure_policy_fails_the_job_at_once() -> None:
    failing = job(podFailurePolicy={"rules": [codes("FailJob", "In", 1, 2, containerName="node")]})
    assert job_end(failing, [ended(0, 1)]).reason == "PodFailurePolicy"
    assert job_end(failing, [ended(0, 1, "sidecar")]).state is State.ACTIVE
    assert job_end(failing, [ended(0, 137)]) == JobEnd(State.ACTIVE, missing=(0, 1))


def test_ignored_failures_do_not_count() -> None:
    ignoring = job(backoffLimit=0, podFailurePolicy={"rules": [codes("Ignore", "NotIn", 1)]})
    assert job_end(ignoring, [ended(0, 137)] * 3).state is State.ACTIVE
    assert job_end(ignoring, [ended(0, 1)]).state is State.FAILED
    by_condition = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    evicted = PodSeen(0, "Failed", conditions=frozenset({("DisruptionTarget", "True")}))
    assert job_end(job(backoffLimit=0, podFailurePolicy={"rules": [by_condition]}), [evicted]).state is State.ACTIVE


def test_a_success_policy_ends_a_job_before_all_indexes_have() -> None:
    first = job(successPolicy={"rules": [{"succeededIndexes": "0"}]})
    assert job_end(first, [ran(0), ended(1)]).state is State.ACTIVE
    assert job_end(first, [ended(0), ran(1)]).reason == "SuccessPolicy"
    some = job(5, successPolicy={"rules": [{"succeededIndexes": "0,2-4", "succeededCount": 2}]})
    assert job_end(some, [ended(1), ended(2)]).state is State.ACTIVE
    assert job_end(some, [ended(3), ended(2)]).state is State.COMPLETE


def replicated(*names: str, **fields: Any) -> Json:
    return {"replicatedJobs": [{"name": name} for name in names], **fields}


DONE, BROKEN, BUSY = JobEnd(State.COMPLETE), JobEnd(State.FAILED, "BackoffLimitExceeded"), JobEnd(State.ACTIVE)


def test_any_failed_job_fails_the_set_unless_it_may_start_again() -> None:
    failed = set_end(replicated("node", "ps"), {"node": DONE, "ps": BROKEN}, {}, 0)
    assert (failed.state, failed.reason) == (State.FAILED, "FailedJobs")
    patient = replicated("node", failurePolicy={"maxRestarts": 1})
    assert set_end(patient, {"node": BROKEN}, {}, 0).again
    assert set_end(patient, {"node": BROKEN}, {}, 1).reason == "ReachedMaxRestarts"


def test_success_needs_all_jobs_or_those_that_the_policy_names() -> None:
    both = {"node": BUSY, "launcher": DONE}
    assert set_end(replicated("node", "launcher"), both, {}, 0).state is State.ACTIVE
    named = replicated("node", "launcher", successPolicy={"operator": "All", "targetReplicatedJobs": ["launcher"]})
    assert set_end(named, both, {}, 0).state is State.COMPLETE
    anyone = replicated("node", "launcher", successPolicy={"operator": "Any"})
    assert set_end(anyone, both, {}, 0).state is State.COMPLETE


def test_jobs_start_when_those_that_they_depend_on_are_so_far() -> None:
    spec = replicated("node", "launcher")
    spec["replicatedJobs"][1]["dependsOn"] = [{"name": "node", "status": "Ready"}]
    assert set_end(spec, {}, {}, 0).start == ("node",)
    assert set_end(spec, {"node": BUSY}, {"node": False}, 0).start == ()
    assert set_end(spec, {"node": BUSY}, {"node": True}, 0).start == ("launcher",)
    spec["replicatedJobs"][1]["dependsOn"] = [{"name": "node", "status": "Complete"}]
    assert set_end(spec, {"node": BUSY}, {"node": True}, 0).start == ()
    assert set_end(spec, {"node": DONE}, {}, 0).start == ("launcher",)
