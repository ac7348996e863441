from __future__ import annotations

from typing import Any

import pytest
from unit_tests.controllers.builders import make_job

from training_controllers.model.pod_spec import (
    LONGEST_VARIABLE,
    CannotBuild,
    container_named,
    env,
    number_of,
    port_of,
    too_long_for_env,
    with_env,
    with_init_containers,
)

BATCH = env("BATCH", 32)
"""A variable of ours."""


def named(*names: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"name": name, **fields} for name in names]


def test_values_of_variables_are_text() -> None:
    assert BATCH == {"name": "BATCH", "value": "32"}


def test_a_variable_may_be_as_long_as_linux_takes_it() -> None:
    size = LONGEST_VARIABLE - len("BATCH=") - 1
    assert list(too_long_for_env("spec", "BATCH", size)) == []
    assert [problem.path for problem in too_long_for_env("spec", "BATCH", size + 1)] == ["spec"]


def test_variables_are_appended_to_those_of_every_container() -> None:
    own = {"name": "BATCH", "value": "1"}
    spec = {"hostNetwork": True, "containers": [*named("a", env=[own]), *named("b", image="x")]}
    assert with_env(spec, [BATCH]) == {
        "hostNetwork": True,
        "containers": [{"name": "a", "env": [own, BATCH]}, {"name": "b", "image": "x", "env": [BATCH]}],
    }
    assert spec["containers"] == [{"name": "a", "env": [own]}, {"name": "b", "image": "x"}]


def test_variables_may_be_for_the_first_container_of_a_name_only() -> None:
    spec = {"containers": named("a", "b", "b")}
    assert [len(each.get("env", ())) for each in with_env(spec, [BATCH], only="b")["containers"]] == [0, 1, 0]
    assert with_env(spec, [BATCH], only="c") == spec
    assert with_env({}, [BATCH]) == {"containers": []}


def test_init_containers_are_appended() -> None:
    assert with_init_containers({"initContainers": named("a"), "b": 1}, named("c")) == {
        "initContainers": named("a", "c"),
        "b": 1,
    }
    assert with_init_containers({}, named("c")) == {"initContainers": named("c")}


def test_a_container_is_found_by_its_name() -> None:
    template = {"spec": {"containers": [*named("a"), *named("b", image="x"), *named("b", image="y")]}}
    assert container_named(template, "b") == {"name": "b", "image": "x"}
    assert container_named(template, "c") is None
    assert container_named({}, "a") is None
    assert container_named({"spec": {}}, "a") is None


def test_the_port_of_a_type_is_found_by_the_kinds_names() -> None:
    job = make_job("PyTorchJob", {"Master": 1})
    [container] = job.replicas["Master"].template["spec"]["containers"]
    container["ports"] = [*named("http", containerPort=80), *named("pytorchjob-port", containerPort=5)]
    assert port_of(job, "Master") == 5
    assert port_of(job, "Worker") is None
    container["ports"] = named("http", containerPort=80)
    assert port_of(job, "Master") is None
    del container["ports"]
    assert port_of(job, "Master") is None
    container["name"] = "other"
    assert port_of(job, "Master") is None


@pytest.mark.parametrize(
    ("port", "text"),
    [
        ({"name": "http"}, "container port 'http' has no number"),
        ({"containerPort": "80"}, "container port '' has no number"),
    ],
)
def test_a_port_without_number_is_said(port: dict[str, Any], text: str) -> None:
    with pytest.raises(CannotBuild) as raised:
        number_of(port)
    assert str(raised.value) == text
    assert number_of({**port, "containerPort": 80}) == 80
