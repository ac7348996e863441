"""`migrate render`: what the controllers of both sides make of the jobs in files."""

from __future__ import annotations

import io
import json
from itertools import count
from typing import Any

import pytest
from click.testing import CliRunner, Result
from e2e.support.v1_examples.expected import examples

from training_api.documents import read
from training_api.yaml_text import dump
from training_controllers.frameworks.mpi.ssh_pods import LAUNCH
from training_migration.cli import migrate
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.masking import MASK
from training_migration.targets import Target
from training_migration.v1_job import v1_job

Json = dict[str, Any]
EXAMPLES = [each.job for each in examples(f"n{number}" for number in count())]


def job(**fields: Any) -> Json:
    container = {"name": "pytorch", "image": "example.com/train:1", "command": ["torchrun", "train.py"], **fields}
    replica = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    spec = {"pytorchReplicaSpecs": {"Master": replica, "Worker": replica}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": spec}


def render(*arguments: str, stdin: str) -> Result:
    return CliRunner().invoke(migrate, ["render", "--target", "2.3", "-", *arguments], input=stdin)


def rendered(*arguments: str, stdin: str) -> list[Json]:
    result = render("--format", "json", *arguments, stdin=stdin)
    assert result.exit_code == 0, result.stderr
    jobs: list[Json] = json.loads(result.stdout)["jobs"]
    return jobs


@pytest.mark.parametrize(("side", "sides"), [("own", ["v1"]), ("v1", ["v1"]), ("v2", ["v2"]), ("both", ["v1", "v2"])])
def test_a_job_of_v1_is_shown_on_the_wanted_sides(side: str, sides: list[str]) -> None:
    shown = rendered("--side", side, stdin=dump([{"kind": "Other"}, job()]))
    assert [each["side"] for each in shown] == sides
    names = {"v1": ["a-master-0", "a-worker-0"], "v2": ["a-node-0-0.a", "a-node-0-1.a"]}
    for each in shown:
        assert [pod["hostname"] for pod in each["pods"]] == names[each["side"]]
        assert each["job"] == {"kind": "PyTorchJob", "namespace": "", "name": "a", "source": "-", "line": 3}


def test_a_train_job_is_shown_with_the_runtime_beside_it() -> None:
    objects = convert(v1_job(job()), Options(Target.V2_3)).objects
    [alone] = rendered(stdin=dump(objects))
    [converted] = rendered("--side", "v2", stdin=dump([job()]))
    assert (alone["objects"], alone["pods"]) == (converted["objects"], converted["pods"])
    assert render("--side", "v1", stdin=dump(objects)).exit_code == 2


def test_what_is_written_as_yaml_are_the_objects_and_pods() -> None:
    text = render(stdin=dump([job()])).stdout
    [content] = rendered(stdin=dump([job()]))
    assert text.startswith("# PyTorchJob a of standard input:1 on v1\n")
    found = [each.object for each in read(["-"], io.StringIO(text))]
    assert found == [*content["objects"], *(each["pod"] for each in content["pods"])]


def test_processes_have_their_references_resolved() -> None:
    env = [{"name": "WHERE", "value": "$(MASTER_ADDR):1"}, {"name": "API_TOKEN", "value": "verysecret"}]
    [shown] = rendered("--as-process", stdin=dump([job(args=["--rank=$(RANK)"], env=env)]))
    second = shown["processes"][1]
    assert (second["command"], second["args"]) == (["torchrun", "train.py"], ["--rank=1"])
    assert second["env"]["RANK"] == "1"
    assert second["env"]["API_TOKEN"] == MASK
    assert [each.object for each in read(["-"], io.StringIO(render("--as-process", stdin=dump([job()])).stdout))]


def test_the_settings_of_v1s_operator_count() -> None:
    [shown] = rendered("--gang-scheduler-name", "volcano", stdin=dump([job()]))
    assert shown["objects"][0]["kind"] == "PodGroup"
    tf = next(each for each in EXAMPLES if each["kind"] == "TFJob")
    assert "svc.example.org" in json.dumps(rendered("--cluster-domain", "example.org", stdin=dump([tf])))


@pytest.mark.parametrize("side", ["v1", "v2"])
def test_the_examples_of_v1_can_be_shown(side: str) -> None:
    shown = rendered("--side", side, stdin=dump(EXAMPLES))
    assert len(shown) == len(EXAMPLES)
    assert all(each["pods"] for each in shown)


@pytest.mark.parametrize("style", ["yaml", "json"])
@pytest.mark.parametrize("side", ["v1", "v2"])
def test_no_secret_is_shown(style: str, side: str) -> None:
    over_ssh = next(each for each in EXAMPLES if each["kind"] == "MPIJob")
    over_ssh = {
        **over_ssh,
        "metadata": {**over_ssh["metadata"], "annotations": {LAUNCH.annotation: "ssh"}},
    }
    given = dump([job(env=[{"name": "DB_PASSWORD", "value": "verysecret"}], args=["--token", "verysecret"]), over_ssh])
    shown = render("--format", style, "--side", side, stdin=given).stdout
    assert MASK in shown
    assert "verysecret" not in shown
    assert "PRIVATE KEY" not in shown


def test_what_is_broken_does_not_keep_it_from_the_rest() -> None:
    result = render("--format", "json", stdin=dump([{**job(), "spec": {}}, job(), {"spec": 1}]) + "---\na: [\n")
    assert result.exit_code == 2
    assert [each["job"]["line"] for each in json.loads(result.stdout)["jobs"]] == [7]
    assert result.stderr.count("Error: standard input:") == 2


@pytest.mark.parametrize(
    ("objects", "code", "sentence"),
    [
        ([{"kind": "Other"}], 2, "Error: -: there is no job of this side in it.\n"),
        ([{**job(), "spec": {}}], 2, "Error: standard input:1: PyTorchJob a would be rejected by v1: spec"),
        (
            [{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t"},
              "spec": {"runtimeRef": {"name": "mine"}}}],
            2,
            "Error: -: TrainJob t wants ClusterTrainingRuntime mine, which is not in the files.",
        ),
        (
            [{"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "t" * 64},
              "spec": {"runtimeRef": {"name": "torch-distributed"}}}],
            4,
            "Error: standard input:1: v2 would reject it: metadata.name",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_rendered_ends_with_one_sentence(objects: list[Json], code: int, sentence: str) -> None:
    result = render(stdin=dump(objects))
    assert result.exit_code == code, result.stderr
    assert result.stderr.startswith(sentence), result.stderr
    assert result.stderr.count("\n") == 1
