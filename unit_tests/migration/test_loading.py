"""Verbs that read jobs say in one sentence what is wrong with those that they get."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from training_api.yaml_text import dump
from training_migration.exits import Exit
from training_migration.verbs.loading import given

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
    file.write_text(dump([OTHER, GOOD, GOOD]))
    found = given([str(file)])
    assert [(each.job.metadata.name, each.source, each.line) for each in found.jobs] == [
        ("a", str(file), 6),
        ("a", str(file), 20),
    ]
    assert found.jobs[0].object["metadata"] == {"name": "a"}
    assert ([each.object for each in found.others], found.failures) == ([OTHER], [])


WORKER = GOOD["spec"]["jaxReplicaSpecs"]["Worker"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "standard input:2: It is not valid YAML: did not find expected node content"),
        (dump([{**GOOD, "spec": {}}]), "standard input:1: JAXJob a would be rejected by v1: spec.jaxReplicaSpecs"),
        (dump([{**GOOD, "metadata": []}]), "standard input:1: JAXJob without a name would be rejected by v1: metadata"),
        (
            dump([{**GOOD, "spec": {"jaxReplicaSpecs": {"Worker": {**WORKER, "replicas": "${WORKERS}"}}}}]),
            r"replicas.* \(placeholders have to be filled in first, by envsubst",
        ),
    ],
)
def test_what_is_no_good_job_is_one_sentence(text: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    found = given(["-"])
    [failure] = found.failures
    assert re.search(sentence, str(failure))
    assert "\n" not in str(failure)
    assert (failure.code, found.jobs) == (Exit.USAGE, [])
