"""When a gang may start, and what goes on while its PodGroup says otherwise (K-45, K-62, K-63)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from e2e.support.every_kind import EVERY_KIND, every_framework, led
from unit_tests.controllers.builders import START, World, conditions, message, stored_job, texts

from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_controllers.model.plan import OwnedVerb

KEY = ("PodGroup", "sim")
COSCHEDULER = "scheduler-plugins-scheduler"


def gang(kind: str = "JAXJob", *, scheduler: str = "volcano", **options: Any) -> World:
    """A job of three pods."""
    world = World(stored_job(kind, {"Worker": 3} if kind == "TFJob" else led(kind), **options), kind)
    world.own_framework = every_framework(FrameworkOptions(gang=gang_scheduler(scheduler)))[kind]
    return world


def set_phase(w: World, phase: str) -> None:
    """What the scheduler does."""
    w.owned_objects[KEY] = msgspec.structs.replace(w.owned_objects[KEY], phase=phase)


def admit(w: World, phase: str) -> None:
    """Have the scheduler set the phase, and reconcile the job."""
    set_phase(w, phase)
    w.settle()


def set_spec(w: World, **fields: Any) -> None:
    """What another client does."""
    w.owned_objects[KEY] = msgspec.structs.replace(
        w.owned_objects[KEY], content=msgspec.json.encode(spec_of(w) | fields, order="deterministic")
    )


def spec_of(w: World) -> dict[str, Any]:
    return msgspec.json.decode(w.owned_objects[KEY].content, type=dict[str, Any])


def waits(w: World) -> tuple[str, str] | None:
    return None if w.status.waiting is None else (w.status.waiting.reason, w.status.waiting.message)


@pytest.mark.shows("E-125", "SDK-5.3.6", "INT-069")
@pytest.mark.parametrize("phase", ["", "Pending"])
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_nothing_starts_while_volcano_has_not_let_the_gang_in(kind: str, phase: str) -> None:
    w = gang(kind).settle()
    admit(w, phase)
    assert (w.pods, w.services, set(w.owned_objects)) == ({}, {}, {KEY})
    assert conditions(w.status) == ["Created=True"]
    assert (w.status.start_time, w.status.replica_statuses) == (None, {})
    assert w.status.last_reconcile_time == START
    state = "is Pending" if phase else "has no phase yet"
    assert waits(w) == ("GangPending", f"PodGroup sim {state}: volcano has not admitted the gang of 3 pod(s)")


@pytest.mark.shows("E-126", "INT-070")
@pytest.mark.parametrize("phase", ["Inqueue", "Running", "Unknown", "Completed"])
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_all_start_once_it_has(kind: str, phase: str) -> None:
    w = gang(kind).settle()
    w.advance(100)
    admit(w, phase)
    assert len(w.pods) == 3
    assert (w.status.start_time, w.status.last_reconcile_time, waits(w)) == (w.now, None, None)


@pytest.mark.shows("E-127", "INT-082")
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_scheduler_plugins_gets_all_pods_once_the_pod_group_is_there(kind: str) -> None:
    w = gang(kind, scheduler=COSCHEDULER)
    w.step()
    assert (w.pods, set(w.owned_objects)) == ({}, {KEY})
    assert waits(w) == ("GangPending", "PodGroup sim does not exist yet")
    w.settle()
    assert (len(w.pods), waits(w)) == (3, None)


@pytest.mark.shows("INT-071")
def test_waiting_writes_the_status_once() -> None:
    w = gang().settle()
    writes, since = w.writes, w.status.waiting
    for _ in range(60):
        w.advance(1)
        w.settle()
    assert (w.writes, w.status.waiting) == (writes, since)


def test_the_time_of_the_cause_stays_while_its_words_change() -> None:
    w = gang()
    w.step()
    w.advance(30)
    w.settle()
    admit(w, "Pending")
    assert w.status.waiting is not None
    assert w.status.waiting.since == START


@pytest.mark.shows("K-45", "INT-078")
@pytest.mark.parametrize("phase", ["", "Pending"])
def test_a_started_gang_is_counted_and_lost_pods_are_replaced_whatever_the_phase(phase: str) -> None:
    w = gang(restart="OnFailure").settle()
    admit(w, "Running")
    w.set_pods("Running")
    admit(w, phase)
    assert conditions(w.status) == ["Created=True", "Running=True"]
    assert waits(w) is None, "all pods run, so the job makes progress"
    w.delete("sim-worker-1")
    w.settle()
    assert w.pods["sim-worker-1"].phase == "Pending"
    assert w.status.waiting is not None
    assert w.status.waiting.reason == "GangPending"
    w.set_pods("Running")
    w.report("Failed", "sim-worker-2", exit_code=1)
    assert w.status.replica_statuses["Worker"].restarts == 1
    w.report("Succeeded", exit_code=0)
    assert conditions(w.status)[-1] == "Succeeded=True"
    assert (KEY in w.owned_objects, waits(w)) == (False, None)


@pytest.mark.shows("K-45")
def test_even_all_pods_lost_at_once_come_back() -> None:
    w = gang().settle()
    admit(w, "Running")
    for name in list(w.pods):
        w.delete(name)
    admit(w, "Pending")
    assert len(w.pods) == 3


@pytest.mark.shows("K-63", "INT-077")
def test_a_pod_group_that_somebody_deleted_is_made_again_and_the_pods_stay() -> None:
    w = gang().settle()
    admit(w, "Running")
    del w.owned_objects[KEY]
    w.settle()
    assert (len(w.pods), spec_of(w)["minMember"]) == (3, 3)
    del w.owned_objects[KEY]
    w.delete("sim-worker-0")
    plan = w.step()
    assert [change.verb for change in plan.owned_changes] == [OwnedVerb.CREATE], "before the pod, in the same plan"
    assert len(w.pods) == 3


@pytest.mark.shows("K-28", "INT-067")
@pytest.mark.parametrize("scheduler", ["volcano", COSCHEDULER])
def test_nothing_is_sent_without_a_change_and_what_others_say_stays(scheduler: str) -> None:
    w = gang(scheduler=scheduler).settle()
    set_spec(w, networkTopology={"mode": "hard"}, minTaskMember={"worker": 3})
    for phase in ("Pending", "Inqueue", "Running"):
        admit(w, phase)
    assert w.patches == 0
    w.patch(runPolicy={"schedulingPolicy": {"minAvailable": 2}})
    plan = w.step()
    [change] = plan.owned_changes
    assert (change.verb, change.patch) == (OwnedVerb.PATCH, {"spec": {"minMember": 2}})
    assert spec_of(w)["networkTopology"] == {"mode": "hard"}


@pytest.mark.shows("E-131", "INT-066")
def test_the_pod_group_follows_the_policy_and_a_removed_field_goes() -> None:
    policy = {"minAvailable": 10, "priorityClass": "high", "minResources": {"cpu": "9", "memory": "1Gi"}}
    w = gang(run_policy={"schedulingPolicy": policy}).settle()
    assert spec_of(w) == {
        "minMember": 10,
        "queue": "default",
        "priorityClassName": "high",
        "minResources": {"cpu": "9", "memory": "1Gi"},
    }
    w.patch(runPolicy={"schedulingPolicy": {"minAvailable": 2, "minResources": {"cpu": "1"}}})
    w.settle()
    assert spec_of(w) == {"minMember": 2, "queue": "default", "minResources": {"cpu": "1"}}
    assert w.patches == 1


@pytest.mark.shows("INT-063")
def test_a_queue_given_by_others_is_kept_and_not_fought_over() -> None:
    w = gang(run_policy={"schedulingPolicy": {"queue": "mine"}}).settle()
    set_spec(w, queue="theirs", priorityClassName="")
    w.settle()
    assert (spec_of(w)["queue"], w.patches) == ("theirs", 0)


@pytest.mark.shows("K-36", "E-132", "INT-075")
@pytest.mark.parametrize("policy", ["All", "Running", "None"])
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_pod_group_of_a_finished_job_goes_with_one_event(kind: str, policy: str) -> None:
    w = gang(kind, run_policy={"cleanPodPolicy": policy}).settle()
    admit(w, "Inqueue")
    w.report("Running")
    w.set_pods("Succeeded", exit_code=0)
    for _ in range(5):
        w.settle()
    assert conditions(w.status)[-1] == "Succeeded=True"
    assert KEY not in w.owned_objects
    events = [text for text in texts(w.events) if "PodGroup" in text]
    assert events == [
        "Normal JobTerminated Job has been terminated. Deleting PodGroup",
        "Normal SuccessfulDeletePodGroup Deleted PodGroup: sim",
    ]


@pytest.mark.shows("E-132", "INT-084", "INT-118")
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_suspension_deletes_the_pod_group_and_resume_waits_again(kind: str) -> None:
    w = gang(kind).settle()
    admit(w, "Running")
    w.report("Running")
    w.patch(runPolicy={"suspend": True})
    w.settle()
    assert (w.pods, KEY in w.owned_objects) == ({}, False)
    w.advance(60)
    resumed = w.now
    w.patch(runPolicy={"suspend": False})
    w.settle()
    assert (w.pods, set(conditions(w.status))) == ({}, {"Created=True", "Running=False", "Suspended=False"})
    assert (w.status.start_time, w.status.last_reconcile_time) == (resumed, resumed)
    assert waits(w) is not None
    w.advance(60)
    admit(w, "Inqueue")
    assert (len(w.pods), w.status.start_time, w.status.last_reconcile_time) == (3, w.now, None)


def test_a_gang_that_was_suspended_while_it_waited_waits_when_it_is_resumed() -> None:
    w = gang().settle()
    w.advance(60)
    w.patch(runPolicy={"suspend": True})
    w.settle()
    w.advance(60)
    w.patch(runPolicy={"suspend": False})
    w.settle()
    w.settle()
    assert (w.pods, w.status.last_reconcile_time) == ({}, w.now)
    admit(w, "Inqueue")
    assert len(w.pods) == 3


@pytest.mark.parametrize(("kind", "spec"), [("JAXJob", {}), ("TFJob", {"successPolicy": "AllWorkers"})])
def test_a_gang_has_no_more_pods_than_are_left_to_complete(kind: str, spec: dict[str, str]) -> None:
    """A scheduler that waits for more pods than there will ever be waits indefinitely (K-13)."""
    w = gang(kind, restart="OnFailure", **spec).settle()
    admit(w, "Running")
    w.report("Running")
    w.report("Succeeded", "sim-worker-2", exit_code=0)
    assert spec_of(w)["minMember"] == 3
    w.delete("sim-worker-2")
    w.settle()
    assert (spec_of(w)["minMember"], len(w.pods)) == (2, 2)


@pytest.mark.shows("K-02", "K-62")
@pytest.mark.parametrize("resumes", [False, True])
def test_the_deadline_does_not_run_while_the_gang_waits(resumes: bool) -> None:
    w = gang(run_policy={"activeDeadlineSeconds": 100, "suspend": resumes}).settle()
    w.patch(runPolicy={"activeDeadlineSeconds": 100, "suspend": False})
    w.settle()
    w.advance(1000)
    w.settle()
    assert "Failed=True" not in conditions(w.status)
    admit(w, "Inqueue")
    assert w.requeue_after == 100
    w.advance(100)
    w.settle()
    assert "longer than specified deadline" in message(w.status, "Failed")
    assert KEY not in w.owned_objects


def test_a_job_whose_status_v1_wrote_has_started() -> None:
    """v1 leaves `lastReconcileTime` behind when the gang starts."""
    w = gang().settle()
    set_phase(w, "Running")
    w.advance(5)
    w.settle()
    w.status = w.status.model_copy(update={"last_reconcile_time": START})
    set_phase(w, "Pending")
    w.delete("sim-worker-0")
    w.settle()
    assert len(w.pods) == 3


def test_a_pod_that_outlived_suspension_has_company_at_once() -> None:
    """A scheduler that counts pods would never let in a gang of which only some are there."""
    w = gang().settle()
    admit(w, "Running")
    survivor = w.pods["sim-worker-1"]
    w.patch(runPolicy={"suspend": True})
    w.settle()
    w.pods["sim-worker-1"] = survivor
    w.patch(runPolicy={"suspend": False})
    w.settle()
    admit(w, "Pending")
    assert len(w.pods) == 3


def test_a_restart_of_the_operator_does_not_hold_back_what_has_started() -> None:
    w = gang()
    w.status_extensions = False
    w.settle()
    admit(w, "Inqueue")
    w.history.clear()
    set_phase(w, "Pending")
    del w.pods["sim-worker-2"]
    w.settle()
    assert len(w.pods) == 3


@pytest.mark.shows("K-49", "E-133")
def test_an_api_that_the_server_lacks_is_a_cause() -> None:
    w = gang()
    w.absent_kinds = frozenset({"PodGroup"})
    w.settle()
    assert (w.pods, w.owned_objects) == ({}, {})
    text = "PodGroup sim cannot be created: the API server does not have scheduling.volcano.sh/v1beta1"
    assert waits(w) == ("ApiMissing", text)
    w.absent_kinds = frozenset()
    w.settle()
    assert set(w.owned_objects) == {KEY}
    admit(w, "Inqueue")
    assert len(w.pods) == 3


def annotated(w: World, value: str) -> None:
    w.stored["metadata"]["annotations"] = {"extension.training.kubeflow.org/gang-scheduling": value}


@pytest.mark.shows("K-50")
def test_a_job_opts_out_from_the_start_or_later() -> None:
    w = gang()
    annotated(w, "false")
    w.settle()
    assert (len(w.pods), w.owned_objects) == (3, {})
    w = gang().settle()
    annotated(w, "false")
    w.settle()
    assert (len(w.pods), w.owned_objects, waits(w)) == (3, {}, None)
    assert "JobTerminated" not in {event.reason for event in w.events}
    annotated(w, "true")
    w.settle()
    assert (len(w.pods), set(w.owned_objects)) == (3, {KEY}), "it has started, so it does not wait"


def test_a_choice_that_is_none_is_warned_of_once_and_has_no_effect() -> None:
    w = gang()
    annotated(w, "no")
    w.settle()
    w.settle()
    assert (w.pods, set(w.owned_objects)) == ({}, {KEY})
    [text] = [text for text in texts(w.events) if "annotation" in text]
    assert text == (
        "Warning BadAnnotation annotation extension.training.kubeflow.org/gang-scheduling: 'no' must be "
        '"true" or "false"; "true" applies'
    )


@pytest.mark.shows("INT-116", "INT-117")
def test_no_pod_group_while_suspended_or_managed_elsewhere() -> None:
    w = gang(run_policy={"suspend": True}).settle()
    assert (w.owned_objects, w.status.start_time) == ({}, None)
    w = gang(run_policy={"managedBy": "kueue.x-k8s.io/multikueue"}).settle()
    assert (w.owned_objects, w.status.conditions) == ({}, ())


def test_a_job_without_replicas_waits_for_nobody() -> None:
    w = World(stored_job("JAXJob", {"Worker": 0}), "JAXJob")
    w.own_framework = gang().own_framework
    w.settle()
    assert (w.owned_objects, waits(w)) == ({}, None)


def test_schedulers_without_pod_groups_start_at_once() -> None:
    w = gang(scheduler="kai-scheduler").settle()
    assert (len(w.pods), w.owned_objects) == (3, {})
