"""What holds whatever happens to a job: random histories in which plans come true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from e2e.support.profiles import tries
from hypothesis import given, settings
from hypothesis import strategies as st
from unit_tests.controllers.builders import World, world

from training_api.conditions import is_finished
from training_controllers.model.index_ranges import parse_ranges
from training_controllers.model.plan import Plan

Action = Callable[[World], None]


def _pod_action(change: Callable[[World, str], None]) -> Callable[[int], Action]:
    def choose(number: int) -> Action:
        def act(w: World) -> None:
            stays = [name for name in sorted(w.pods) if not w.pods[name].deleting]
            if stays:
                change(w, stays[number % len(stays)])

        return act

    return choose


def _phase(phase: str, code: int | None = None, restarts: int = 0) -> Callable[[World, str], None]:
    def change(w: World, name: str) -> None:
        if w.pods[name].phase not in ("Succeeded", "Failed"):
            w.set_pods(phase, name, exit_code=code, restarts=restarts)

    return change


def _scale(replicas: int) -> Action:
    def act(w: World) -> None:
        field = w.framework.info.replica_field
        w.stored["spec"][field]["Worker"]["replicas"] = replicas
        w.stored["metadata"]["generation"] += 1

    return act


def _suspend(on: bool) -> Action:
    return lambda w: w.patch(runPolicy={**w.stored["spec"]["runPolicy"], "suspend": on})


def _restart_operator(w: World) -> None:
    w.history.clear()
    w.emitted.clear()


NUMBER = st.integers(0, 9)
POD_CHANGES = [
    _phase("Running"),
    _phase("Running", restarts=1),
    _phase("Succeeded", 0),
    _phase("Failed", 1),
    _phase("Failed", 137),
    _phase("Failed"),
    World.delete,
]
ACTIONS: st.SearchStrategy[Action] = st.one_of(
    *(NUMBER.map(_pod_action(change)) for change in POD_CHANGES),
    st.integers(0, 4).map(_scale),
    st.booleans().map(_suspend),
    st.sampled_from([5, 30, 700]).map(lambda seconds: lambda w: w.advance(seconds)),
    st.just(World.finish_deletions),
    st.just(_restart_operator),
)

RUN_POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "backoffLimit": st.integers(0, 4),
        "activeDeadlineSeconds": st.sampled_from([60, 3000]),
        "ttlSecondsAfterFinished": st.just(20),
        "cleanPodPolicy": st.sampled_from(["None", "Running", "All"]),
    },
)


JOBS: list[tuple[str, dict[str, int]]] = [
    ("JAXJob", {"Worker": 3}),
    ("PyTorchJob", {"Master": 1, "Worker": 2}),
    ("PyTorchJob", {"Worker": 2}),
    ("TFJob", {"Chief": 1, "PS": 1, "Worker": 1}),
    ("XGBoostJob", {"Master": 1, "Worker": 2}),
    ("MPIJob", {"Launcher": 1, "Worker": 2}),
    ("PaddleJob", {"Master": 1, "Worker": 2}),
]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    kind, replicas = draw(st.sampled_from(JOBS))
    policy = draw(st.sampled_from([None, "Always", "OnFailure", "Never", "ExitCode"]))
    options: dict[str, Any] = {"run_policy": draw(RUN_POLICIES), "restart": policy}
    if kind == "PyTorchJob" and draw(st.booleans()):
        options["elasticPolicy"] = {"metrics": []}
    w = world(kind, replicas, **options)
    if draw(st.booleans()):
        w.stored["metadata"]["annotations"] = {"extension.training.kubeflow.org/restart-scope": "job"}
    w.lingering = draw(st.booleans())
    w.status_extensions = draw(st.booleans())
    return w


def check_plan(w: World, plan: Plan) -> None:
    """What holds for every plan; `w` is the world for which it was made."""
    job = w.snapshot().job
    held = {(pod.replica_type, pod.index) for pod in w.pods.values()}
    for new in plan.create_pods:
        slot = new.slot
        assert 0 <= slot.index < (job.replicas[slot.replica_type].replicas or 0)
        assert (slot.replica_type.lower(), slot.index) not in held
        if job.replicas[slot.replica_type].restart_policy != "Always":
            known = w.status.replica_statuses.get(slot.replica_type)
            assert known is None or slot.index not in parse_ranges(known.completed_indexes)
        if new.attempt is not None:
            assert {pod.attempt for pod in w.pods.values()} <= {new.attempt}
    assert not any(deletion.pod.deleting for deletion in plan.delete_pods)
    assert plan.requeue_after is None or plan.requeue_after >= 0
    if plan.status is not None:
        check_status(w, plan)
    if is_finished(w.status):
        assert not (plan.create_pods or plan.create_services)


def check_status(w: World, plan: Plan) -> None:
    new = plan.status
    assert new is not None
    holding = [condition.status == "True" for condition in new.conditions]
    assert holding == sorted(holding)  # K-59
    assert new.observed_generation == w.stored["metadata"]["generation"]
    if new.waiting is not None:
        assert new.waiting.message and new.waiting.since is not None
        before = w.status.waiting
        assert before is None or before.reason != new.waiting.reason or before.since == new.waiting.since
    held = {condition.type for condition in new.conditions if condition.status == "True"}
    assert not {"Running", "Restarting"} <= held
    assert not {"Succeeded", "Failed"} <= held
    if is_finished(new):
        assert new.completion_time is not None
        assert new.waiting is None
    if is_finished(w.status):
        assert new.conditions == w.status.conditions
    elif is_finished(new):
        assert not (plan.delete_pods or plan.delete_services or plan.create_pods)  # K-17
        assert [counter.value in ("successful", "failed") for counter in plan.counters].count(True) == 1
    for name, counters in new.replica_statuses.items():
        old = w.status.replica_statuses.get(name)
        assert old is None or counters.restarts >= old.restarts
        assert min(counters.active, counters.succeeded, counters.failed, counters.ready) >= 0
        assert counters.ready <= counters.active
        assert counters.completed_indexes == "" or name in w.snapshot().job.replicas


@settings(max_examples=tries(60))
@given(worlds(), st.lists(ACTIONS, max_size=14))
def test_invariants_hold_in_every_history(w: World, actions: list[Action]) -> None:
    for action in [lambda _: None, *actions]:
        action(w)
        for _ in range(2):
            if w.deleted:
                return
            check_plan(w, w.decide())
            w.step()


@settings(max_examples=tries(40))
@given(worlds(), st.lists(ACTIONS, max_size=10))
def test_every_history_settles_and_then_nothing_is_done(w: World, actions: list[Action]) -> None:
    w.status_extensions = True
    for action in actions:
        action(w)
        w.step()
    w.lingering = False
    w.finish_deletions()
    w.settle()
    if not w.deleted:
        plan = w.decide()
        assert plan.status is None
        assert not (plan.delete_pods or plan.create_pods or plan.delete_services or plan.create_services)
        assert plan.owned_changes == ()
        assert plan.counters == ()
        assert all(event.once in w.emitted for event in plan.events)


@settings(max_examples=tries(20))
@given(worlds(), st.lists(ACTIONS, max_size=10))
def test_the_same_snapshot_gives_the_same_plan(w: World, actions: list[Action]) -> None:
    for action in actions:
        action(w)
        assert w.decide() == w.decide()
        w.step()
