"""TFJob: TF_CONFIG, roles, status rules."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.controllers.builders import (
    START,
    World,
    conditions,
    framework_of,
    load,
    make_job,
    message,
    stored_job,
    texts,
    world,
)

from training_api.kinds import Job
from training_controllers.frameworks.registry import FrameworkOptions, frameworks
from training_controllers.frameworks.tensorflow import tf_config
from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_pod

CHIEF_JOB = {"Chief": 1, "PS": 1, "Worker": 2}


def named(namespace: str, name: str, replicas: dict[str, int], **spec: Any) -> Job:
    stored = stored_job("TFJob", replicas, name=name, **spec)
    stored["metadata"]["namespace"] = namespace
    return load("TFJob", stored)


def container(job: Job, replica_type: str, index: int = 0, options: FrameworkOptions | None = None) -> dict[str, Any]:
    body = build_pod(job, frameworks(options)["TFJob"], NewPod(Slot(replica_type, index)))
    found: dict[str, Any] = body["spec"]["containers"][0]
    return found


@pytest.mark.shows("TF-010")
def test_tf_config_of_parameter_servers_and_workers() -> None:
    job = named("kubeflow", "tfjob-simple", {"Worker": 2})
    assert tf_config("", job, Slot("Worker", 0)) == (
        '{"cluster":{"worker":["tfjob-simple-worker-0.kubeflow.svc:2222","tfjob-simple-worker-1.kubeflow.svc:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}'
    )


@pytest.mark.shows("TF-011")
@pytest.mark.parametrize(("replica_type", "index"), [("Worker", 1), ("Chief", 0)])
def test_tf_config_names_types_in_alphabetical_order(replica_type: str, index: int) -> None:
    assert tf_config("", named("ml", "dist", CHIEF_JOB), Slot(replica_type, index)) == (
        '{"cluster":{"chief":["dist-chief-0.ml.svc:2222"],"ps":["dist-ps-0.ml.svc:2222"],'
        '"worker":["dist-worker-0.ml.svc:2222","dist-worker-1.ml.svc:2222"]},'
        f'"task":{{"type":"{replica_type.lower()}","index":{index}}},"environment":"cloud"}}'
    )


@pytest.mark.shows("TF-012", "TF-013")
def test_tf_config_ends_with_the_cluster_domain() -> None:
    job = named("ns3", "ev", {"Worker": 1, "PS": 1, "Evaluator": 1})
    (variable,) = container(job, "Worker", options=FrameworkOptions(cluster_domain="tf.training.io"))["env"]
    assert variable == {
        "name": "TF_CONFIG",
        "value": '{"cluster":{"evaluator":["ev-evaluator-0.ns3.svc.tf.training.io:2222"],'
        '"ps":["ev-ps-0.ns3.svc.tf.training.io:2222"],"worker":["ev-worker-0.ns3.svc.tf.training.io:2222"]},'
        '"task":{"type":"worker","index":0},"environment":"cloud"}',
    }


@pytest.mark.shows("TF-016", "TF-017", "TF-019")
@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        (
            Slot("Worker", 2),
            '{"cluster":{"worker":{"2":"dyn-worker-2.ml.svc:2222"},"ps":["dyn-ps-0.ml.svc:2222",'
            '"dyn-ps-1.ml.svc:2222"]},"task":{"type":"worker","index":2}}',
        ),
        (
            Slot("PS", 1),
            '{"cluster":{"worker":{},"ps":["dyn-ps-1.ml.svc:2222"]},"task":{"type":"ps","index":1}}',
        ),
        (Slot("Chief", 0), '{"cluster":{"worker":{},"ps":[]},"task":{"type":"chief","index":0}}'),
    ],
)
def test_tf_config_of_dynamic_workers(slot: Slot, expected: str) -> None:
    job = named("ml", "dyn", {"Chief": 1, "PS": 2, "Worker": 3}, enableDynamicWorker=True)
    assert tf_config("", job, slot) == expected


@pytest.mark.shows("TF-018")
def test_tf_config_of_dynamic_workers_without_parameter_servers() -> None:
    job = named("ml", "dyn2", {"Worker": 2}, enableDynamicWorker=True)
    expected = '{"cluster":{"worker":{"0":"dyn2-worker-0.ml.svc:2222"},"ps":null},"task":{"type":"worker","index":0}}'
    assert tf_config("", job, Slot("Worker", 0)) == expected


@pytest.mark.shows("TF-008")
@pytest.mark.parametrize("replicas", [{"Worker": 1}, {"PS": 1}, {"Worker": 1, "Foo": 3}])
def test_a_single_replica_meets_nobody(replicas: dict[str, int]) -> None:
    assert "env" not in container(make_job("TFJob", replicas), next(iter(replicas)))


@pytest.mark.shows("TF-009")
def test_chief_and_worker_are_two() -> None:
    assert container(make_job("TFJob", {"Chief": 1, "Worker": 1}), "Chief")["env"][0]["name"] == "TF_CONFIG"


@pytest.mark.shows("TF-006")
def test_an_unknown_type_runs_and_is_named() -> None:
    job = make_job("TFJob", {"Worker": 2, "Foo": 1})
    assert '"foo":["sim-foo-0.ns.svc:2222"]' in container(job, "Foo")["env"][0]["value"]


def test_a_type_without_replicas_is_empty() -> None:
    assert '"ps":[],' in tf_config("", make_job("TFJob", {"PS": 0, "Worker": 2}), Slot("Worker", 0))


@pytest.mark.shows("TF-014", "TF-015")
def test_port_and_place_of_the_variable() -> None:
    stored = stored_job("TFJob", {"PS": 1, "Worker": 1})
    worker: dict[str, Any] = {
        "spec": {
            "containers": [
                {"name": "sidecar", "image": "i"},
                {
                    "name": "tensorflow",
                    "image": "i",
                    "env": [{"name": "A", "value": "1"}],
                    "ports": [{"name": "tfjob-port", "containerPort": 7777}],
                },
            ]
        }
    }
    stored["spec"]["tfReplicaSpecs"]["Worker"]["template"] = worker
    job = load("TFJob", stored)
    body = build_pod(job, framework_of("TFJob"), NewPod(Slot("Worker", 0)))
    sidecar, main = body["spec"]["containers"]
    assert "env" not in sidecar
    assert [variable["name"] for variable in main["env"]] == ["A", "TF_CONFIG"]
    assert '"ps":["sim-ps-0.ns.svc:2222"],"worker":["sim-worker-0.ns.svc:7777"]' in main["env"][1]["value"]
    assert worker["spec"]["containers"][1]["env"] == [{"name": "A", "value": "1"}]


@pytest.mark.shows("TF-039")
@pytest.mark.parametrize(
    ("replicas", "masters"),
    [
        ({"Chief": 1, "Worker": 1}, ["sim-chief-0"]),
        ({"Master": 1, "Worker": 1}, ["sim-master-0"]),
        ({"PS": 1, "Worker": 2}, ["sim-worker-0"]),
    ],
)
def test_the_role_is_the_chiefs_the_masters_or_worker_0s(replicas: dict[str, int], masters: list[str]) -> None:
    job = make_job("TFJob", replicas)
    slots = [Slot(name, index) for name, count in replicas.items() for index in range(count)]
    bodies = [build_pod(job, framework_of("TFJob"), NewPod(slot))["metadata"] for slot in slots]
    role = "training.kubeflow.org/job-role"
    assert [body["name"] for body in bodies if body["labels"].get(role) == "master"] == masters


def run(replicas: dict[str, int], phases: dict[str, str], *, code: int = 1, **options: Any) -> World:
    """A job whose pods have the phases named, all others Running."""
    w = world("TFJob", replicas, **options).settle()
    w.set_pods("Running")
    for name, phase in phases.items():
        w.set_pods(phase, f"sim-{name}", exit_code={"Succeeded": 0, "Failed": code}.get(phase))
    w.step()
    return w


MESSAGES = {
    "Created": "TFJob sim is created.",
    "Running": "TFJob ns/sim is running.",
    "Succeeded": "TFJob ns/sim successfully completed.",
}
ALL_WORKERS = {"successPolicy": "AllWorkers"}
DYNAMIC = {"enableDynamicWorker": True, "restart": "Never"}
CASES: dict[str, tuple[dict[str, int], dict[str, Any], dict[str, str], str]] = {
    "chief runs": (CHIEF_JOB, {}, {"worker-0": "Succeeded", "worker-1": "Succeeded"}, "Running"),
    "chief succeeded": (CHIEF_JOB, {}, {"chief-0": "Succeeded"}, "Succeeded"),
    "chief succeeded, AllWorkers": (CHIEF_JOB, ALL_WORKERS, {"chief-0": "Succeeded"}, "Succeeded"),
    "worker 0 succeeded": ({"Worker": 4}, {}, {"worker-0": "Succeeded"}, "Succeeded"),
    "others succeeded": ({"Worker": 4}, {}, {"worker-1": "Succeeded", "worker-2": "Succeeded"}, "Running"),
    "one of all workers": ({"Worker": 2}, ALL_WORKERS, {"worker-0": "Succeeded"}, "Running"),
    "all workers": ({"Worker": 2}, ALL_WORKERS, {"worker-0": "Succeeded", "worker-1": "Succeeded"}, "Succeeded"),
    "evaluator succeeded": ({"Worker": 1, "Evaluator": 1}, {}, {"evaluator-0": "Succeeded"}, "Running"),
    "parameter servers run": ({"PS": 2}, {}, {}, "Created"),
    "parameter servers succeeded": ({"PS": 1}, {}, {"ps-0": "Succeeded"}, "Created"),
    "dynamic worker failed": ({"Worker": 3, "PS": 1}, DYNAMIC, {"worker-1": "Failed"}, "Running"),
    "replica of another type failed": ({"Worker": 1, "Foo": 1}, {}, {"foo-0": "Failed"}, "Running"),
}


@pytest.mark.shows("K-55", "TF-021", "TF-022", "TF-023", "TF-024", "TF-025", "TF-027", "TF-028", "TF-032")
@pytest.mark.parametrize("case", CASES)
def test_status_rules(case: str) -> None:
    replicas, options, phases, expected = CASES[case]
    w = run(replicas, phases, **options)
    assert conditions(w.status)[-1] == f"{expected}=True"
    assert w.status.conditions[-1].message == MESSAGES[expected]
    assert (w.status.completion_time == START) is (expected == "Succeeded")


@pytest.mark.shows("TF-026", "TF-027", "TF-028")
@pytest.mark.parametrize(
    ("replicas", "dynamic", "replica_type"),
    [
        (CHIEF_JOB, False, "PS"),
        ({"Worker": 1, "Evaluator": 1}, False, "Evaluator"),
        ({"Worker": 1, "PS": 1}, True, "PS"),
    ],
)
def test_a_failed_replica_fails_the_job(replicas: dict[str, int], replica_type: str, dynamic: bool) -> None:
    failed = {f"{replica_type.lower()}-0": "Failed"}
    w = run(replicas, failed, restart="Never", enableDynamicWorker=dynamic)
    sentence = f"TFJob ns/sim has failed because 1 {replica_type} replica(s) failed."
    assert message(w.status, "Failed").startswith(sentence)
    assert w.status.completion_time == START
    assert texts(w.events)[-1] == f"Warning TFJobFailed {sentence}"


@pytest.mark.shows("TF-029")
def test_a_retryable_exit_code_restarts_with_one_event() -> None:
    w = run({"Worker": 2}, {"worker-1": "Failed"}, code=130, restart="ExitCode")
    sentence = "job sim is restarting because Worker replica(s) failed."
    assert message(w.status, "Restarting") == sentence
    assert [text for text in texts(w.events) if "Restarting" in text] == [f"Warning TFJobRestarting {sentence}"]
    assert "sim-worker-1" not in w.pods


@pytest.mark.shows("TF-030")
def test_a_permanent_exit_code_fails_the_job() -> None:
    w = run({"Worker": 2}, {"worker-1": "Failed"}, restart="ExitCode")
    assert message(w.status, "Failed").startswith('job "sim" is failing because "Worker" replica(s) failed.')
    assert w.status.completion_time == START


@pytest.mark.shows("TF-031")
def test_a_job_whose_chief_succeeded_has_not_failed_as_well() -> None:
    w = run(CHIEF_JOB, {"chief-0": "Succeeded", "worker-0": "Failed"}, restart="Never")
    assert conditions(w.status) == ["Created=True", "Succeeded=True"]


def test_a_failure_is_not_masked_by_an_earlier_restart() -> None:
    w = world("TFJob", {"PS": 1, "Worker": 2}, restart="Never")
    w.stored["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"] = "ExitCode"
    w.settle()
    w.set_pods("Running")
    w.set_pods("Failed", "sim-worker-1", exit_code=137)
    w.set_pods("Failed", "sim-ps-0", exit_code=1)
    w.step()
    assert conditions(w.status)[-1] == "Failed=True"


@pytest.mark.shows("TF-042")
def test_a_deleted_worker_is_replaced() -> None:
    w = world("TFJob", {"Worker": 2}, restart="OnFailure")
    w.lingering = True
    w.settle()
    w.set_pods("Running")
    w.delete("sim-worker-1")
    w.step()
    assert conditions(w.status)[-1] == "Running=True"
    w.finish_deletions()
    w.settle()
    assert list(w.pods) == ["sim-worker-0", "sim-worker-1"]
