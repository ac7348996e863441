"""Few runtimes for many jobs: the pods are those that each job's own runtime would make."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from unit_tests.migration.conversions import jax, pytorch
from unit_tests.migration.test_convert_any import KNOWN

from training_api.yaml_text import dump
from training_migration.cli import migrate
from training_migration.convert import convert
from training_migration.convert.conversion import Conversion, Options
from training_migration.convert.sharing import shared
from training_migration.targets import Target
from training_migration.v1_job import Invalid, v1_job
from training_migration.v2.render import render_v2

Json = dict[str, Any]


def named(job: Json, name: str, namespace: str = "team") -> Json:
    return {**copy.deepcopy(job), "metadata": {"name": name, "namespace": namespace}}


def conversions(*jobs: Json, target: Target = Target.V2_3) -> list[Conversion]:
    return [convert(v1_job(job), Options(target)) for job in jobs]


def pods(conversion: Conversion) -> list[Json]:
    """The pods that v2 would make, with lists in an order of their own where theirs means nothing."""
    assert conversion.runtime is not None
    rendered = render_v2(conversion.train_job, conversion.runtime, conversion.options.target).pods
    return [_sorted({key: each.pod[key] for key in ("metadata", "spec")}) for each in rendered]


def _sorted(value: Any, field: str = "") -> Any:
    match value:
        case dict():
            return {key: _sorted(each, key) for key, each in value.items() if key != "uid"}
        case list() if field in ("env", "volumes", "volumeMounts", "imagePullSecrets"):
            return sorted((_sorted(each) for each in value), key=str)
        case list():
            return [_sorted(each) for each in value]
    return value


@pytest.mark.parametrize("target", [Target.V2_1, Target.V2_3])
def test_shared_runtimes_make_the_pods_that_those_of_their_own_make(target: Target) -> None:
    jobs = []
    for number, each in enumerate(KNOWN):
        obj = copy.deepcopy(each.values[0])
        obj["metadata"] = {**obj["metadata"], "name": f"j{number}", "namespace": ["a", "b"][number % 2]}
        try:
            v1_job(obj)
        except Invalid:
            continue
        jobs.append(obj)
    before = [each for each in conversions(*jobs, target=target) if not each.rejected]
    after, runtimes = shared(before)
    assert len(runtimes) < sum(1 for each in after if each.runtime_is_shared) / 2
    for one, other in zip(before, after, strict=True):
        own, common = pods(one), pods(other)
        for pod in (*own, *common):  # a policy of images that says what Kubernetes takes by itself
            for container in pod["spec"]["containers"]:
                container.pop("imagePullPolicy", None)
        assert common == own, other.job.job.metadata.name


def test_a_train_job_carries_what_differs_and_the_runtime_what_all_have() -> None:
    volumes = {"volumes": [{"name": "data", "emptyDir": {}}]}
    one, other = (named(pytorch(count, env=[{"name": "A", "value": "b"}, {"name": "LR", "value": lr}]), name)
                  for count, lr, name in ((1, "1", "x"), (3, "2", "y")))  # fmt: skip
    for job in (one, other):
        for replica in job["spec"]["pytorchReplicaSpecs"].values():
            replica["template"]["spec"].update(volumes)
    results, [runtime] = shared(conversions(one, other))
    assert (runtime["kind"], runtime["metadata"]) == (
        "TrainingRuntime",
        {"name": "torch", "namespace": "team", "labels": {"trainer.kubeflow.org/framework": "torch"}},
    )
    pod = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert pod["volumes"] == volumes["volumes"]
    names = [each["name"] for each in pod["containers"][0]["env"]]
    assert names == ["A", "PYTHONUNBUFFERED", "MASTER_PORT", "RANK"], "what hangs on the job stays with the job"
    spec = results[1].train_job["spec"]
    assert spec["runtimeRef"] == {"kind": "TrainingRuntime", "name": "torch"}
    assert spec["trainer"]["numNodes"] == 4
    assert spec["trainer"]["command"] == ["python", "train.py"]
    assert [each["name"] for each in spec["trainer"]["env"]] == ["LR", "MASTER_ADDR", "WORLD_SIZE"]
    assert "runtimePatches" not in spec


def test_what_no_train_job_can_say_makes_another_runtime_whose_name_says_it() -> None:
    plain = pytorch(2)
    never, network = copy.deepcopy(plain), copy.deepcopy(plain)
    for replica in never["spec"]["pytorchReplicaSpecs"].values():
        replica["restartPolicy"] = "Never"
    for replica in network["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["spec"]["hostNetwork"] = True
    jobs = [named(job, f"j{at}") for at, job in enumerate((plain, never, network, plain))]
    _, runtimes = shared(conversions(*jobs))
    assert [each["metadata"]["name"] for each in runtimes] == ["torch", "torch-no-restart", "torch-host-network"]


def test_images_are_pulled_as_before() -> None:
    always = pytorch(1, imagePullPolicy="Always")
    latest, unset = pytorch(1, image="example.com/a:latest"), pytorch(1)
    results, runtimes = shared(conversions(*(named(job, f"j{at}") for at, job in enumerate((always, latest, unset)))))
    assert [each["metadata"]["name"] for each in runtimes] == ["torch-pull-always", "torch"]
    names = [each.train_job["spec"]["runtimeRef"]["name"] for each in results]
    assert names == ["torch-pull-always", "torch-pull-always", "torch"], "that is what Kubernetes takes for `latest`"


def test_a_runtime_for_several_namespaces_is_one_of_the_cluster() -> None:
    results, [runtime] = shared(conversions(named(jax(), "x", "a"), named(jax(), "y", "b")))
    assert (runtime["kind"], "namespace" in runtime["metadata"]) == ("ClusterTrainingRuntime", False)
    assert {each.train_job["spec"]["runtimeRef"]["kind"] for each in results} == {"ClusterTrainingRuntime"}


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(migrate, ["convert", "--target", "2.3", *arguments], input=stdin)


def kinds(text: str) -> list[str]:
    return [each["kind"] for each in yaml.safe_load_all(text)]


def test_folders_and_lists_share_and_a_file_does_not(tmp_path: Path) -> None:
    jobs = dump([named(jax(), "x"), named(jax(), "y")])
    (tmp_path / "jobs.yaml").write_text(jobs)
    own = ["TrainingRuntime", "TrainJob"] * 2
    assert kinds(run(str(tmp_path / "jobs.yaml")).stdout) == own
    assert kinds(run(str(tmp_path), "--no-share-runtimes").stdout) == own
    for result in (run(str(tmp_path)), run("-", stdin=jobs), run(str(tmp_path / "jobs.yaml"), "--share-runtimes")):
        assert kinds(result.stdout) == ["TrainingRuntime", "TrainJob", "TrainJob"]
    assert run(str(tmp_path), "-o", str(tmp_path / "v2")).exit_code == 0
    assert kinds((tmp_path / "v2/runtimes/jax-no-restart.yaml").read_text()) == ["TrainingRuntime"]
    assert kinds((tmp_path / "v2/jobs.yaml").read_text()) == ["TrainJob", "TrainJob"]


def test_the_runtime_of_the_platform_is_taken_where_nothing_is_lost(tmp_path: Path) -> None:
    container = {"name": "node", "image": "example.com/base:1", "env": [{"name": "SITE", "value": "a"}]}
    job = {"template": {"spec": {"containers": [container]}}}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    groups = [{"name": "node", "template": {"metadata": {"labels": labels}, "spec": job}}]
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "house"},
        "spec": {"mlPolicy": {"numNodes": 1, "jax": {}}, "template": {"spec": {"replicatedJobs": groups}}},
    }
    (tmp_path / "house.yaml").write_text(dump([runtime]))
    fits, fails = named(jax(), "x"), named(jax(), "y")
    fits["spec"]["jaxReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFailure"
    result = run("-", "--runtime", str(tmp_path / "house.yaml"), "--notes", "none", stdin=dump([fits, fails]))
    written = {each["metadata"]["name"]: each for each in yaml.safe_load_all(result.stdout)}
    assert written["x"]["spec"]["runtimeRef"] == {"kind": "ClusterTrainingRuntime", "name": "house"}
    assert written["x"]["spec"]["trainer"]["image"] == "example.com/train:1"
    assert written["y"]["spec"]["runtimeRef"]["name"] == "jax-no-restart"
    assert "JAXJob team/x: equivalent (MIG301)" in result.stderr, "the house gives up after 6 restarts"
    assert run("-", "--runtime", str(Path(__file__)), stdin=dump([fits])).exit_code == 2


def test_an_unset_limit_of_restarts_is_no_reason_against_a_shipped_runtime() -> None:
    job = named(jax(), "x")
    job["spec"]["jaxReplicaSpecs"]["Worker"]["restartPolicy"] = "OnFailure"
    conversion = convert(v1_job(job), Options(Target.V2_3, stock=True))
    assert conversion.runtime is None
    [found] = [each for each in conversion.findings if each.rule.id == "MIG301"]
    assert (found.fixed, "gives up after 6 restarts" in found.message) == (False, True)
