from __future__ import annotations

from typing import Any

import pytest

from training_migration.rendering import RenderedPod
from training_migration.v2.process import command_line, environment, expanded


def pod(*env: Any, **fields: Any) -> Any:
    main = {"name": "main", "env": list(env), **fields}
    beside = {"name": "beside", "resources": {"requests": {"memory": "3Mi"}}}
    metadata = {"name": "p", "namespace": "ns", "labels": {"a/b": "1"}, "annotations": {"c": "2"}}
    return RenderedPod("node", 0, "main", "p", {"metadata": metadata, "spec": {"containers": [beside, main]}})


def value(name: str, text: str) -> Any:
    return {"name": name, "value": text}


def source(name: str, **kind: Any) -> Any:
    return {"name": name, "valueFrom": kind}


def test_variables_know_those_before_them() -> None:
    env = [value("A", "$(B)"), value("B", "1"), value("C", "$(B)-$$(B)-$(D)-$B-$("), {"name": "E"}]
    assert environment(pod(*env)) == {"A": "$(B)", "B": "1", "C": "1-$(B)-$(D)-$B-$(", "E": ""}


def test_the_last_of_one_name_counts() -> None:
    assert environment(pod(value("A", "1"), value("B", "$(A)"), value("A", "2"))) == {"A": "2", "B": "1"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "ns"),
        ("metadata.labels['a/b']", "1"),
        ("metadata.annotations['c']", "2"),
        ("metadata.labels['training.kubeflow.org/replica-index']", ""),
        ("spec.serviceAccountName", "default"),
        ("status.podIP", "10.0.0.1"),
        ("status.hostIP", "<status.hostIP>"),
    ],
)
def test_fields(path: Any, text: str) -> None:
    variable = source("A", fieldRef={"fieldPath": path})
    assert environment(pod(variable), {"status.podIP": "10.0.0.1"}) == {"A": text}


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "limits.memory", "divisor": "0"}, "<limits.memory>"),
        ({"resource": "requests.memory", "containerName": "beside", "divisor": "1Mi"}, "3"),
    ],
)
def test_resources(reference: Any, text: str) -> None:
    variable = source("A", resourceFieldRef=reference)
    assert environment(pod(variable, resources={"limits": {"cpu": "1500m"}})) == {"A": text}


def test_values_from_elsewhere_are_only_named() -> None:
    env = [
        source("A", secretKeyRef={"name": "s", "key": "k"}),
        source("B", configMapKeyRef={"name": "m", "key": "k"}),
    ]
    assert environment(pod(*env)) == {"A": "<secretKeyRef s/k>", "B": "<configMapKeyRef m/k>"}


def test_the_command_line_knows_all_variables() -> None:
    rendered = pod(value("A", "1"), command=["sh", "-c"], args=["run $(A) $(B) $$(A)"])
    assert command_line(rendered) == (["sh", "-c"], ["run 1 $(B) $(A)"])
    assert command_line(pod()) == ([], [])


def test_what_looks_like_a_reference_in_a_value_is_not_read_again() -> None:
    assert expanded("$(A)", {"A": "$(B)", "B": "1"}) == "$(B)"
