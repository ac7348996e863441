"""Verbs that want good jobs say in one sentence what is wrong with those that they get."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from training_api.yaml_text import dump
from training_migration.exits import Exit, Failure
from training_migration.verbs.loading import job, jobs

GOOD: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "JAXJob",
    "metadata": {"name": "a", "uid": "u"},
    "spec": {
        "jaxReplicaSpecs": {
            "Worker": {"template": {"spec": {"containers": [{"name": "jax", "image": "example.com/x"}]}}}
        }
    },
}
OTHER = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}


def test_jobs_are_read_among_others_without_what_a_cluster_adds(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(dump([OTHER, GOOD]))
    found = job([str(file)])
    assert (found.job.metadata.name, found.source, found.line) == ("a", str(file), 6)
    assert found.object["metadata"] == {"name": "a"}


def test_a_placeholder_is_reported_from_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = GOOD["spec"]["jaxReplicaSpecs"]["Worker"]
    text = dump([{**GOOD, "spec": {"jaxReplicaSpecs": {"Worker": {**worker, "replicas": "${WORKERS}"}}}}])
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(Failure, match=r"replicas.* \(placeholders have to be filled in first, by envsubst"):
        job(["-"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "standard input:2: It is not valid YAML: did not find expected node content"),
        (dump([OTHER]), "-: there is no v1 job in it."),
        ("", "-: there is no v1 job in it."),
        (dump([{**GOOD, "spec": {}}]), "standard input:1: JAXJob a would be rejected by v1: spec.jaxReplicaSpecs"),
        (dump([{**GOOD, "metadata": []}]), "standard input:1: JAXJob without a name would be rejected by v1: metadata"),
        (
            dump([GOOD, {**GOOD, "metadata": {"name": "b"}}]),
            "One job is expected, but there are 2: JAXJob a, JAXJob b.",
        ),
    ],
)
def test_what_is_no_good_job_ends_with_one_sentence(text: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    with pytest.raises(Failure) as raised:
        job(["-"])
    assert str(raised.value).startswith(sentence)
    assert "\n" not in str(raised.value)
    assert raised.value.code is Exit.USAGE


def test_several_jobs_may_be_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(dump([GOOD, OTHER, GOOD])))
    assert [each.line for each in jobs(["-"])] == [1, 20]
