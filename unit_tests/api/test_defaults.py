"""Defaults of every kind."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from training_api.decode import decode_job
from training_api.defaults import with_defaults
from training_api.kinds import Job, KindInfo
from training_api.models.common import CleanPodPolicy, RestartPolicy
from training_api.registry import JAX, KINDS, MPI, PADDLE, PYTORCH, TENSORFLOW, XGBOOST

NETWORKED = [info for info in KINDS.values() if info.services]


def load(info: KindInfo, replicas: dict[str, Any], **spec: Any) -> Job:
    stored = {"metadata": {"name": "job"}, "spec": {info.replica_field: replicas, **spec}}
    before = deepcopy(stored)
    job = decode_job(info, stored)
    defaulted = with_defaults(job)
    assert stored == before, "the stored object was changed"
    assert with_defaults(defaulted) == defaulted, "defaults are not idempotent"
    return defaulted


def containers(*items: dict[str, Any]) -> dict[str, Any]:
    return {"template": {"spec": {"containers": list(items)}}}


def ports(job: Job, replica_type: str = "Worker", container: int = 0) -> Any:
    return job.replicas[replica_type].template["spec"]["containers"][container].get("ports")


@pytest.mark.shows("E-001", "E-003", "PT-013", "TF-001", "XGB-008", "PD-001", "JAX-001")
@pytest.mark.parametrize(
    ("info", "policy", "port"),
    [
        pytest.param(PYTORCH, "OnFailure", ("pytorchjob-port", 23456), id="PyTorchJob"),
        pytest.param(TENSORFLOW, "Never", ("tfjob-port", 2222), id="TFJob"),
        pytest.param(XGBOOST, "Never", ("xgboostjob-port", 9999), id="XGBoostJob"),
        pytest.param(PADDLE, "OnFailure", ("master", 36543), id="PaddleJob"),
        pytest.param(JAX, "Never", ("jaxjob-port", 6666), id="JAXJob"),
    ],
)
def test_worker_of_which_only_the_image_is_given(info: KindInfo, policy: str, port: tuple[str, int]) -> None:
    job = load(info, {"Worker": containers({"name": info.container, "image": "x"})})
    worker = job.replicas["Worker"]
    assert (worker.replicas, worker.restart_policy) == (1, policy)
    assert ports(job) == [{"name": port[0], "containerPort": port[1]}]
    assert job.spec.run_policy.clean_pod_policy is None  # K-18 tells absent from None
    assert job.spec.run_policy.suspend is False


@pytest.mark.shows("E-002", "MPI-008", "MPI-010")
def test_no_workers_unless_asked_for_and_no_port() -> None:
    job = load(MPI, {"Worker": containers({"name": "mpi"}), "Launcher": containers({"name": "mpi"})})
    assert list(job.replicas) == ["Launcher", "Worker"]
    assert [(r.replicas, r.restart_policy) for r in job.replicas.values()] == [(1, "Never"), (0, "Never")]
    assert ports(job) is None


@pytest.mark.shows("MPI-009")
@pytest.mark.parametrize(
    ("old", "new", "effective"),
    [
        (None, None, None),
        ("All", None, CleanPodPolicy.ALL),
        (None, "Running", CleanPodPolicy.RUNNING),
        ("All", "Running", CleanPodPolicy.RUNNING),
        ("", None, CleanPodPolicy.ALL),
        ("All", "", CleanPodPolicy.ALL),
    ],
)
def test_both_places_of_the_clean_up_policy(old: Any, new: Any, effective: CleanPodPolicy | None) -> None:
    job = load(MPI, {}, cleanPodPolicy=old, runPolicy={"cleanPodPolicy": new})
    assert job.spec.run_policy.clean_pod_policy == effective
    assert job.spec.model_dump()["clean_pod_policy"] == effective


def test_what_is_given_is_kept() -> None:
    job = load(JAX, {"Worker": {"replicas": 0, "restartPolicy": "ExitCode"}}, runPolicy={"cleanPodPolicy": "All"})
    assert job.replicas["Worker"].replicas == 0
    assert job.replicas["Worker"].restart_policy == RestartPolicy.EXIT_CODE
    assert job.spec.run_policy.clean_pod_policy == CleanPodPolicy.ALL


@pytest.mark.shows("PT-014", "PD-016")
@pytest.mark.parametrize("info", NETWORKED, ids=lambda info: info.kind)
def test_a_port_of_the_right_name_is_kept(info: KindInfo) -> None:
    given = [{"name": info.port_name, "containerPort": 8080}]
    job = load(info, {"Worker": containers({"name": info.container, "ports": given})})
    assert ports(job) == given


@pytest.mark.shows("E-005", "TF-003")
@pytest.mark.parametrize("info", NETWORKED, ids=lambda info: info.kind)
def test_a_port_of_another_name_does_not_count(info: KindInfo) -> None:
    given = {"name": "custom", "containerPort": info.port}
    job = load(info, {"Worker": containers({"name": info.container, "ports": [given]})})
    assert ports(job) == [given, {"name": info.port_name, "containerPort": info.port}]


@pytest.mark.shows("E-006")
def test_port_goes_to_the_container_of_the_fixed_name_else_to_the_first() -> None:
    named = load(JAX, {"Worker": containers({"name": "side"}, {"name": "jax"})})
    assert (ports(named, container=0), bool(ports(named, container=1))) == (None, True)
    other = load(JAX, {"Worker": containers({"name": "a"}, {"name": "b"})})
    assert (bool(ports(other, container=0)), ports(other, container=1)) == (True, None)


@pytest.mark.shows("K-40")
@pytest.mark.parametrize("template", [None, {}, {"spec": None}, {"spec": {}}, {"spec": {"containers": []}}], ids=str)
def test_pod_without_containers_is_left_alone(template: Any) -> None:
    assert load(JAX, {"Worker": {"template": template}}).replicas["Worker"].template == (template or {})


def test_the_rest_of_the_template_is_the_same_object() -> None:
    template: dict[str, Any] = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"volumes": [{"name": "v"}], "containers": [{"name": "jax"}]},
    }
    stored = {"metadata": {"name": "job"}, "spec": {"jaxReplicaSpecs": {"Worker": {"template": template}}}}
    job = with_defaults(decode_job(JAX, stored))
    defaulted = job.replicas["Worker"].template
    assert defaulted is not template
    assert json.dumps(template).count("jaxjob-port") == 0
    assert defaulted["metadata"] == template["metadata"]
    assert defaulted["spec"]["volumes"] == template["spec"]["volumes"]


def replicas_by_number(info: KindInfo, **counts: int) -> dict[str, int | None]:
    job = load(info, {name: {"replicas": count} for name, count in counts.items()})
    return {name: replica.replicas for name, replica in job.replicas.items()}


@pytest.mark.shows("E-004", "TF-002")
def test_replica_types_get_their_canonical_spelling_and_order() -> None:
    found = replicas_by_number(TENSORFLOW, evaluator=5, Foo=9, WORKER=2, pS=1, master=4, Chief=3)
    assert found == {"PS": 1, "Worker": 2, "Chief": 3, "Master": 4, "Evaluator": 5, "Foo": 9}
    assert list(found) == ["PS", "Worker", "Chief", "Master", "Evaluator", "Foo"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"Worker": 1, "worker": 2}, 2),
        ({"worker": 2, "Worker": 1}, 2),
        ({"WORKER": 3, "Worker": 1, "worker": 2}, 3),
    ],
    ids=str,
)
def test_of_two_spellings_the_other_than_canonical_one_wins(given: dict[str, int], kept: int) -> None:
    assert replicas_by_number(TENSORFLOW, **given) == {"Worker": kept}


@pytest.mark.shows("PT-016", "PD-027")
@pytest.mark.parametrize(
    ("given", "workers", "bounds"),
    [
        pytest.param({}, None, (1, 1), id="workers left open"),
        pytest.param({}, 4, (4, 4), id="as many as workers"),
        pytest.param({"minReplicas": 2}, 4, (2, 2), id="only the lower bound"),
        pytest.param({"maxReplicas": 5}, 4, (5, 5), id="only the upper bound"),
        pytest.param({"minReplicas": 1, "maxReplicas": 3}, 2, (1, 3), id="both"),
        pytest.param({"minReplicas": 0}, 4, (0, 0), id="nought is a bound"),
    ],
)
@pytest.mark.parametrize("info", [PYTORCH, PADDLE], ids=lambda info: info.kind)
def test_elastic_bounds(info: KindInfo, given: dict[str, int], workers: int | None, bounds: tuple[int, int]) -> None:
    job = load(info, {"worker": {"replicas": workers}}, elasticPolicy=given)
    policy = job.spec.model_dump()["elastic_policy"]
    assert (policy["min_replicas"], policy["max_replicas"]) == bounds


def test_elastic_without_workers_does_not_crash() -> None:
    job = load(PADDLE, {"Master": {}}, elasticPolicy={})
    assert job.spec.model_dump()["elastic_policy"]["min_replicas"] is None
    assert load(PADDLE, {"Worker": {}}).spec.model_dump()["elastic_policy"] is None


@pytest.mark.shows("PT-015")
@pytest.mark.parametrize(
    ("spec", "nproc"),
    [
        pytest.param({}, "auto", id="default"),
        pytest.param({"elasticPolicy": {}}, "auto", id="elastic"),
        pytest.param({"elasticPolicy": {"nProcPerNode": 4}}, None, id="deprecated"),
        pytest.param({"nprocPerNode": "gpu"}, "gpu", id="given"),
    ],
)
def test_processes_per_node(spec: dict[str, Any], nproc: str | None) -> None:
    assert load(PYTORCH, {"Worker": {}}, **spec).spec.model_dump()["nproc_per_node"] == nproc
