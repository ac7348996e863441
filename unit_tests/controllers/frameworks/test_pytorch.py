"""PyTorchJob: environment, roles, status rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
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
from training_controllers.frameworks.pytorch.framework import environment
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.reconcile.builders import build_pod

ALWAYS = {"PYTHONUNBUFFERED": "1"}


def env(job: Job, replica_type: str, index: int) -> dict[str, str]:
    """The variables in their order; a dictionary keeps it, and comparing lists of items checks it."""
    return {v["name"]: v.get("value", "") for v in environment(job, Slot(replica_type, index))}


def check(job: Job, replica_type: str, index: int, expected: dict[str, str]) -> None:
    assert list(env(job, replica_type, index).items()) == list(expected.items())


@pytest.mark.shows("PT-017", "PT-018")
@pytest.mark.parametrize(("replica_type", "rank"), [("Master", "0"), ("Worker", "1")])
def test_master_and_worker_get_address_and_rank(replica_type: str, rank: str) -> None:
    job = make_job("PyTorchJob", {"Master": 1, "Worker": 1}, name="pytorch-simple")
    expected = {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "pytorch-simple-master-0",
        "PET_MASTER_ADDR": "pytorch-simple-master-0",
        "WORLD_SIZE": "2",
        "RANK": rank,
        "PET_NODE_RANK": rank,
        "PET_NPROC_PER_NODE": "auto",
        "PET_NNODES": "2",
    }
    check(job, replica_type, 0, expected)


@pytest.mark.shows("PT-019", "PT-020")
def test_processes_per_node_multiply_the_world_size() -> None:
    stored = stored_job("PyTorchJob", {"Master": 1, "Worker": 3}, nprocPerNode="2")
    container = {"name": "pytorch", "image": "i", "ports": [{"name": "pytorchjob-port", "containerPort": 8080}]}
    stored["spec"]["pytorchReplicaSpecs"]["Master"]["template"] = {"spec": {"containers": [container]}}
    job = load("PyTorchJob", stored)
    variables = [env(job, "Master", 0), *(env(job, "Worker", i) for i in range(3))]
    assert [v["RANK"] for v in variables] == ["0", "1", "2", "3"] == [v["PET_NODE_RANK"] for v in variables]
    for v in variables:
        assert (v["MASTER_PORT"], v["PET_MASTER_PORT"], v["WORLD_SIZE"]) == ("8080", "8080", "8")
        assert (v["PET_NPROC_PER_NODE"], v["PET_NNODES"]) == ("2", "4")


@pytest.mark.shows("PT-021")
@pytest.mark.parametrize(
    ("nproc", "world_size"),
    [("auto", 3), ("cpu", 3), ("gpu", 3), ("4", 12), ("+4", 12), ("-1", -3), (" 4", 3), ("1_0", 3), ("٤", 3),
     ("9" * 5000, 3)],
)  # fmt: skip
def test_only_a_number_multiplies_the_world_size(nproc: str, world_size: int) -> None:
    variables = env(make_job("PyTorchJob", {"Master": 1, "Worker": 2}, nprocPerNode=nproc), "Worker", 0)
    assert variables["WORLD_SIZE"] == str(world_size)
    assert variables["PET_NPROC_PER_NODE"] == nproc


@pytest.mark.shows("PT-022")
def test_a_job_without_master_gets_the_number_of_nodes_only() -> None:
    job = make_job("PyTorchJob", {"Worker": 2})
    for index in range(2):
        check(job, "Worker", index, ALWAYS | {"PET_NPROC_PER_NODE": "auto", "PET_NNODES": "2"})


@pytest.mark.shows("PT-024")
def test_an_elastic_job_gets_its_rendezvous() -> None:
    policy = {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": 2, "maxRestarts": 100}
    job = make_job("PyTorchJob", {"Worker": 2}, name="elastic-example-echo", elasticPolicy=policy)
    expected = ALWAYS | {
        "PET_NPROC_PER_NODE": "auto",
        "PET_RDZV_ENDPOINT": "elastic-example-echo-worker-0:23456",
        "PET_RDZV_BACKEND": "c10d",
        "PET_NNODES": "1:2",
        "PET_MAX_RESTARTS": "100",
    }
    check(job, "Worker", 1, expected)


@pytest.mark.shows("PT-026", "PT-027")
def test_every_elastic_setting_becomes_a_variable() -> None:
    policy = {
        "minReplicas": 1,
        "maxReplicas": 3,
        "rdzvBackend": "etcd-v2",
        "rdzvHost": "etcd-client",
        "rdzvPort": 2379,
        "rdzvId": "id1",
        "rdzvConf": [{"key": "timeout", "value": "60"}, {"key": "protocol", "value": "http"}],
        "maxRestarts": 3,
        "nProcPerNode": 4,
        "standalone": True,
    }
    expected = ALWAYS | {
        "PET_RDZV_ENDPOINT": "etcd-client:2379",
        "PET_RDZV_BACKEND": "etcd-v2",
        "PET_NNODES": "1:3",
        "PET_MAX_RESTARTS": "3",
        "PET_NPROC_PER_NODE": "4",
        "PET_RDZV_ID": "id1",
        "PET_RDZV_CONF": "timeout=60,protocol=http",
        "PET_STANDALONE": "",
    }
    check(make_job("PyTorchJob", {"Worker": 1}, elasticPolicy=policy), "Worker", 0, expected)


def test_a_master_and_an_elastic_policy_go_together() -> None:
    variables = env(make_job("PyTorchJob", {"Master": 1, "Worker": 2}, elasticPolicy={}), "Worker", 0)
    assert list(variables.items())[5:] == [
        ("WORLD_SIZE", "3"),
        ("RANK", "1"),
        ("PET_NODE_RANK", "1"),
        ("PET_NPROC_PER_NODE", "auto"),
        ("PET_RDZV_ENDPOINT", "sim-worker-0:23456"),
        ("PET_RDZV_BACKEND", "c10d"),
        ("PET_NNODES", "2:2"),
    ]


@pytest.mark.shows("PT-025")
def test_host_and_port_of_the_rendezvous() -> None:
    policy = {"rdzvHost": "localhost", "rdzvPort": 1234}
    variables = env(make_job("PyTorchJob", {"Worker": 1}, elasticPolicy=policy), "Worker", 0)
    assert variables["PET_RDZV_ENDPOINT"] == "localhost:1234"


@pytest.mark.shows("PT-016")
@pytest.mark.parametrize(("bounds", "nodes"), [({"maxReplicas": 5}, "5:5"), ({"minReplicas": 2}, "2:2"), ({}, "4:4")])
def test_bounds_copy_each_other(bounds: dict[str, int], nodes: str) -> None:
    assert env(make_job("PyTorchJob", {"Worker": 4}, elasticPolicy=bounds), "Worker", 0)["PET_NNODES"] == nodes


@pytest.mark.shows("PT-027")
@pytest.mark.parametrize("setting", [{"standalone": False}, {"rdzvConf": []}])
def test_what_is_not_asked_for_is_not_set(setting: dict[str, Any]) -> None:
    plain = env(make_job("PyTorchJob", {"Worker": 1}, elasticPolicy={}), "Worker", 0)
    assert env(make_job("PyTorchJob", {"Worker": 1}, elasticPolicy=setting), "Worker", 0) == plain


@pytest.mark.shows("PT-023")
def test_the_variables_follow_the_users_in_every_regular_container() -> None:
    stored = stored_job("PyTorchJob", {"Master": 1, "Worker": 1})
    spec = stored["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["containers"] = [
        {"name": "side", "image": "s"},
        {"name": "pytorch", "image": "i", "env": [{"name": "MASTER_PORT", "value": "1"}]},
    ]
    spec["initContainers"] = [{"name": "prep", "image": "p"}]
    job = load("PyTorchJob", stored)
    body = build_pod(job, framework_of("PyTorchJob"), NewPod(Slot("Worker", 0)))["spec"]
    names = [[v["name"] for v in container["env"]] for container in body["containers"]]
    assert names[1] == ["MASTER_PORT", *names[0]]
    assert names[0] == list(env(job, "Worker", 0))
    assert "env" not in body["initContainers"][0]


@pytest.mark.parametrize(
    ("replicas", "options", "slot"),
    [({"Master": 1}, {}, Slot("Master", 0)), ({"Worker": 1}, {"elasticPolicy": {}}, Slot("Worker", 0))],
)
def test_without_the_default_port_there_is_no_environment(
    replicas: dict[str, int], options: dict[str, Any], slot: Slot
) -> None:
    stored = stored_job("PyTorchJob", replicas, **options)
    for replica in stored["spec"]["pytorchReplicaSpecs"].values():
        replica["template"] = {"spec": {"containers": [{"name": "other", "image": "i"}]}}
    with pytest.raises(CannotBuild, match="port not found"):
        environment(load("PyTorchJob", stored), slot)


def test_an_elastic_master_without_workers_has_no_rendezvous() -> None:
    job = make_job("PyTorchJob", {"Master": 1}, elasticPolicy={"minReplicas": 1})
    with pytest.raises(CannotBuild, match="port not found"):
        environment(job, Slot("Master", 0))


@pytest.mark.shows("E-025", "PT-045")
@pytest.mark.parametrize(
    ("replicas", "masters"),
    [({"Master": 1, "Worker": 2}, [("Master", 0)]), ({"Worker": 2}, [("Worker", 0)])],
)
def test_the_role_of_the_master(replicas: dict[str, int], masters: list[tuple[str, int]]) -> None:
    job = make_job("PyTorchJob", replicas)
    framework = framework_of("PyTorchJob")
    slots = [Slot(name, index) for name, number in replicas.items() for index in range(number)]
    labels = {slot: build_pod(job, framework, NewPod(slot))["metadata"]["labels"] for slot in slots}
    marked = [slot for slot in slots if labels[slot].get("training.kubeflow.org/job-role") == "master"]
    assert [(slot.replica_type, slot.index) for slot in marked] == masters


def run(replicas: dict[str, int], phases: dict[str, str], restart: str = "OnFailure", **options: Any) -> World:
    """A job whose pods have been given these phases, after the pass that sees them."""
    w = world("PyTorchJob", replicas, restart=restart, **options).settle()
    for name, phase in phases.items():
        w.set_pods(phase, f"sim-{name}", exit_code={"Succeeded": 0, "Failed": 1}.get(phase))
    w.step()
    return w


BOTH = {"Master": 1, "Worker": 1}


@pytest.mark.shows("PT-036", "PT-037", "PT-038", "PT-039")
@pytest.mark.parametrize(
    ("replicas", "phases", "elastic", "expected", "text"),
    [
        (BOTH, {"master-0": "Running"}, False, "Running", "PyTorchJob sim is running."),
        (BOTH, {"worker-0": "Running"}, False, "Created", "PyTorchJob sim is created."),
        (BOTH, {"worker-0": "Succeeded"}, False, "Created", "PyTorchJob sim is created."),
        (BOTH, {"master-0": "Succeeded", "worker-0": "Running"}, False, "Succeeded",
         "PyTorchJob sim is successfully completed."),
        ({"Worker": 2}, {"worker-0": "Running"}, False, "Running", "PyTorchJob ns/sim is running."),
        ({"Worker": 2}, {"worker-0": "Succeeded", "worker-1": "Running"}, False, "Running",
         "PyTorchJob ns/sim is running."),
        ({"Worker": 2}, {"worker-0": "Succeeded", "worker-1": "Succeeded"}, False, "Succeeded",
         "PyTorchJob ns/sim successfully completed."),
        ({"Worker": 2}, {"worker-0": "Succeeded", "worker-1": "Running"}, True, "Succeeded",
         "PyTorchJob ns/sim successfully completed."),
        # Succeeded ends the job: v1 adds Restarting.
        ({"Worker": 2}, {"worker-0": "Succeeded", "worker-1": "Failed"}, True, "Succeeded",
         "PyTorchJob ns/sim successfully completed."),
        ({"Worker": 0}, {}, False, "Succeeded", "PyTorchJob ns/sim successfully completed."),
    ],
)  # fmt: skip
def test_status_rules(
    replicas: dict[str, int], phases: dict[str, str], elastic: bool, expected: str, text: str
) -> None:
    w = run(replicas, phases, elasticPolicy={} if elastic else None)
    assert conditions(w.status)[-1] == f"{expected}=True"
    assert w.status.conditions[-1].message == text
    assert (w.status.completion_time == START) is (expected == "Succeeded")


@pytest.mark.shows("PT-040")
def test_a_failed_worker_that_may_not_restart_fails_the_job() -> None:
    w = run(BOTH, {"master-0": "Running", "worker-0": "Failed"}, restart="Never")
    sentence = "PyTorchJob sim is failed because 1 Worker replica(s) failed."
    assert conditions(w.status) == ["Running=False", "Created=True", "Failed=True"]
    assert message(w.status, "Failed") == f"{sentence} Pod sim-worker-0: container pytorch exited with code 1 (Error)"
    assert texts(w.events)[-1] == f"Warning PyTorchJobFailed {sentence}"
    assert w.status.completion_time == START


@pytest.mark.shows("K-10")
def test_master_success_and_worker_failure_in_one_pass_is_success() -> None:
    w = run(BOTH, {"master-0": "Succeeded", "worker-0": "Failed"}, restart="Never")
    assert conditions(w.status) == ["Created=True", "Succeeded=True"]
    assert len(w.counters) == 2


@pytest.mark.shows("K-10")
def test_a_failed_master_restarts_before_a_failed_worker() -> None:
    w = run(BOTH, {"master-0": "Failed", "worker-0": "Failed"})
    assert message(w.status, "Restarting") == "job sim is restarting because Master replica(s) failed."
    assert w.pods == {}


@pytest.mark.shows("K-10")
def test_of_two_types_that_failed_for_good_the_first_is_named() -> None:
    w = run(BOTH, {}, restart="ExitCode")
    w.pods = dict(reversed(w.pods.items()))
    w.pods["sim-master-0"] = msgspec.structs.replace(w.pods["sim-master-0"], created=START + timedelta(days=1))
    w.set_pods("Failed", exit_code=2)
    w.step()
    assert message(w.status, "Failed").startswith('job "sim" is failing because "Master" replica(s) failed.')


def test_v1s_misleading_restart_event_of_a_permanent_failure_is_gone() -> None:
    w = run(BOTH, {"master-0": "Running", "worker-0": "Failed"}, restart="ExitCode")
    assert [event.reason for event in w.events] == ["ExitedWithCode", "PyTorchJobFailed"]
