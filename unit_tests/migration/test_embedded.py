"""Jobs of v1 inside of other objects: each is a row, and is converted in place or left with a reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from unit_tests.migration.conversions import Json, jax, mpi, pytorch, tensorflow

from training_api.documents import Document
from training_migration.cli import migrate
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.embedded.experiment import FAILED, GROUP_LABEL, INDEX_LABEL, SUCCEEDED
from training_migration.embedded.held import held
from training_migration.targets import Target
from training_migration.v1_job import v1_job
from training_migration.v2.render import render_v2

OPTIONS = Options(Target.V2_3)
TRIAL = "tune-a1b2c3d4"


def invoked(verb: str, *objects: Json, arguments: tuple[str, ...] = ()) -> Result:
    return CliRunner().invoke(migrate, [verb, "--target", "2.3", "-", *arguments], input=yaml.safe_dump_all(objects))


def experiment(job: Json, **template: Any) -> Json:
    trial = {key: value for key, value in job.items() if key != "metadata"}
    parameters = [{"name": "lr", "reference": "rate"}]
    given = {"primaryContainerName": "pytorch", "trialParameters": parameters, "trialSpec": trial, **template}
    metadata = {"name": "tune", "namespace": "team"}
    return {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment", "metadata": metadata,
            "spec": {"objective": {"type": "minimize"}, "trialTemplate": given}}  # fmt: skip


def app_wrapper(*jobs: Json) -> Json:
    components: list[Json] = [{"template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}}]
    components += [{"podSets": [{"path": "gone"}], "annotations": {"a": "b"}, "template": job} for job in jobs]
    return {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper", "metadata": {"name": "w"},
            "spec": {"components": components}}  # fmt: skip


def text_of(job: Json) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "t"}, "data": {"a.yaml": yaml.safe_dump(job)}}


def converted_in_place(obj: Json) -> tuple[Json, ...]:
    holder = held(Document("x", 1, obj), OPTIONS)
    assert holder is not None
    assert holder.converted is not None, holder.left
    return holder.converted.objects


def left(obj: Json) -> str:
    holder = held(Document("x", 1, obj), OPTIONS)
    assert holder is not None
    return holder.left


def as_katib_makes_it(trial_template: Json, rate: str) -> Json:
    """The object of one trial: its parameters filled in, its name and namespace set."""
    values = {"rate": rate, "${trialSpec.Name}": TRIAL}
    text = json.dumps(trial_template["trialSpec"])
    for each in trial_template["trialParameters"]:
        text = text.replace(f"${{trialParameters.{each['name']}}}", values[each["reference"]])
    trial: Json = json.loads(text)
    trial["metadata"] = {**trial.get("metadata", {}), "name": TRIAL, "namespace": "team"}
    return trial


@pytest.mark.parametrize(
    "job",
    [
        pytorch(2, command=["python", "t.py"], args=["--lr=${trialParameters.lr}"]),
        pytorch(2, command=["torchrun", "t.py", "--lr", "${trialParameters.lr}"]),
        pytorch(1, env=[{"name": "LR", "value": "${trialParameters.lr}"}, {"name": "A", "value": "b"}]),
        jax(3, image="example.com/train:${trialParameters.lr}"),
    ],
)
def test_a_trial_of_the_converted_experiment_is_what_its_job_converts_to(job: Json) -> None:
    obj = experiment(job)
    runtime, result = converted_in_place(obj)
    trial = as_katib_makes_it(result["spec"]["trialTemplate"], "0.5")
    alone = convert(v1_job(as_katib_makes_it(obj["spec"]["trialTemplate"], "0.5")), OPTIONS)
    assert alone.runtime is not None
    pods = [[each.pod for each in render_v2(*sides, Target.V2_3).pods]
            for sides in ((trial, runtime), (alone.train_job, alone.runtime))]  # fmt: skip
    for pod in (each for side in pods for each in side):
        for container in pod["spec"]["containers"]:
            container.get("env", []).sort(key=lambda each: each["name"])
    assert pods[0] == pods[1]


def test_katib_looks_for_what_a_train_job_has() -> None:
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "1", "own": "x"}
    job = pytorch(2)
    for replica in job["spec"]["pytorchReplicaSpecs"].values():
        replica["template"]["metadata"] = {"labels": {"own": "x"}}
    _, result = converted_in_place(experiment(job, primaryPodLabels=labels, successCondition="status.x"))
    template = result["spec"]["trialTemplate"]
    assert (template["successCondition"], template["failureCondition"]) == (SUCCEEDED, FAILED)
    assert template["primaryContainerName"] == "node"
    assert template["primaryPodLabels"] == {"own": "x", GROUP_LABEL: "node", INDEX_LABEL: "2"}
    _, result = converted_in_place(experiment(pytorch(2)))
    assert result["spec"]["trialTemplate"]["primaryPodLabels"] == {GROUP_LABEL: "node", INDEX_LABEL: "0"}


def test_katib_looks_into_the_launcher_and_for_no_label_of_an_older_operator() -> None:
    job = mpi(2)
    main = job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]
    main["name"] = "starts-all"
    given = experiment(job, primaryPodLabels={"mpi-job-role": "launcher"}, primaryContainerName="starts-all")
    template = converted_in_place(given)[-1]["spec"]["trialTemplate"]
    assert template["primaryContainerName"] == "node"
    assert template["primaryPodLabels"] == {GROUP_LABEL: "launcher", INDEX_LABEL: "0"}


def test_the_experiment_that_is_given_is_not_changed() -> None:
    obj = experiment(pytorch(2, args=["${trialParameters.lr}"]))
    before = copy.deepcopy(obj)
    converted_in_place(obj)
    assert obj == before


def test_an_app_wrapper_gets_a_runtime_with_its_pods_and_a_train_job() -> None:
    [result] = converted_in_place(app_wrapper(pytorch(2), jax(3)))
    components = result["spec"]["components"]
    kinds = [each["template"]["kind"] for each in components]
    assert kinds == ["ConfigMap", *["TrainingRuntime", "TrainJob"] * 2]
    assert [each.get("annotations") for each in components[1:3]] == [None, {"a": "b"}]
    [pod_set] = components[1]["podSets"]
    assert pod_set["replicas"] == 3
    template: Any = components[1]
    for key in pod_set["path"].replace("[0]", ".0").split("."):
        template = template[int(key) if key.isdigit() else key]
    assert template["spec"]["containers"][0]["name"] == "node"


def test_every_group_of_pods_counts_for_the_quota() -> None:
    [result] = converted_in_place(app_wrapper(mpi(2), tensorflow({"Chief": 1, "Worker": 2, "PS": 1})))
    counted = [
        [each["replicas"] for each in component.get("podSets", ())] for component in result["spec"]["components"]
    ]
    assert [sorted(each) for each in counted if each] == [[1, 2], [1, 1, 2]]


@pytest.mark.parametrize(
    ("obj", "why"),
    [
        (text_of(jax()), "it is embedded as text"),
        ({"kind": "Workflow", "spec": {"job": jax()}}, "how a Workflow holds TrainJobs is not known here"),
        ({"step": {"job": jax()}}, "how an object without a kind holds TrainJobs is not known here"),
        (experiment(tensorflow({"Worker": 2})), "would have to hold the trial's name"),
        (experiment(tensorflow({"Worker": 1}, args=["${trialParameters.lr}"])), "would have to hold the trial's"),
        (experiment({**jax(), "spec": {}}), "v1 would reject the job: "),
        (experiment(jax(), trialSpec={**jax(), "spec": {"jaxReplicaSpecs": 1}}), "v1 would reject the job: "),
        ({**app_wrapper(), "spec": {"other": jax()}}, "jobs of v1 stand elsewhere"),
        (app_wrapper({**jax(), "metadata": {"name": "j" * 50}}), "at most"),
        ({**experiment(jax()), "metadata": 1}, "its fields are not those of an Experiment"),
    ],
)
def test_what_cannot_be_converted_in_place_is_left_with_a_reason(obj: Json, why: str) -> None:
    assert why in left(obj)


def test_a_survey_has_a_row_for_each_and_what_is_left_counts_as_not_done() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    done = invoked("survey", experiment(pytorch(2)), text_of(jax()), other, arguments=("--format", "json"))
    content = json.loads(done.stdout)
    assert [(job["ref"]["kind"], job["ref"]["name"], job["verdict"]) for job in content["jobs"]] == [
        ("Experiment", "tune", "equivalent"),
        ("ConfigMap", "t", "needs-work"),
    ]
    assert content["jobs"][1]["reason"].startswith("contains a v1 job (JAXJob), not converted: ")
    paths = {each["path"] for each in content["jobs"][0]["findings"]}
    assert "spec.trialTemplate.trialSpec.spec.pytorchReplicaSpecs[Worker]" in paths
    assert content["ignored"] == {"v1 ConfigMap": 1}
    assert done.exit_code == 4
    assert invoked("survey", experiment(pytorch(2))).exit_code == 0
    assert invoked("survey", text_of(jax()), arguments=("--fail-on", "never")).exit_code == 0


def test_convert_writes_them_in_place(tmp_path: Path) -> None:
    file = tmp_path / "in" / "team" / "all.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump_all([experiment(pytorch(2)), jax(), app_wrapper(jax()), text_of(jax())]))
    words = ["convert", "--target", "2.3", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--no-share-runtimes"]
    done = CliRunner().invoke(migrate, words)
    assert done.exit_code == 4
    assert "ConfigMap t: contains a v1 job (JAXJob), not converted: " in done.stderr
    assert "Experiment tune: equivalent" in done.stderr
    written = list(yaml.safe_load_all((tmp_path / "out" / "team" / "all.yaml").read_text()))
    assert [each["kind"] for each in written] == [
        *("TrainingRuntime", "Experiment"),
        *("TrainingRuntime", "TrainJob"),
        "AppWrapper",
    ]
    assert "MIG406" in (tmp_path / "out" / "team" / "all.yaml").read_text()
    alone = invoked("convert", text_of(jax()), arguments=("--notes", "none"))
    assert (alone.exit_code, alone.stdout) == (4, "")


def test_an_experiment_of_a_cluster_is_converted_without_what_the_cluster_has_added() -> None:
    live = experiment(jax())
    live["metadata"] |= {"uid": "u", "resourceVersion": "7", "managedFields": [{"manager": "katib"}]}
    live["status"] = {"trials": 3}
    written = yaml.safe_load_all(invoked("convert", live).stdout)
    [made] = [each for each in written if each["kind"] == "Experiment"]
    assert made["metadata"].keys() == {"name", "namespace"}
    assert "status" not in made


@pytest.mark.parametrize(
    "text",
    [
        'apiVersion: "kubeflow.org/v1"\nkind: "PyTorchJob"\n',
        '{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "spec": {}}',
        '{\\"kind\\":\\"PyTorchJob\\", \\"apiVersion\\": \\"kubeflow.org/v1\\"}',
        "kind:  'PyTorchJob'  # quoted\napiVersion: kubeflow.org/v1",
    ],
)
def test_a_job_in_a_text_is_found_however_its_kind_is_quoted(text: str) -> None:
    launcher = {"containers": [{"name": "launch", "image": "i", "args": ["--manifest", text]}]}
    obj = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": {"spec": launcher}}}
    [row] = json.loads(invoked("survey", obj, arguments=("--format", "json")).stdout)["jobs"]
    assert "contains a v1 job (PyTorchJob)" in row["findings"][0]["message"]


def test_a_trial_parameter_in_the_place_of_a_number_is_reported_as_such() -> None:
    job = jax()
    job["spec"]["jaxReplicaSpecs"]["Worker"]["replicas"] = "${trialParameters.workers}"
    [row] = json.loads(invoked("survey", experiment(job), arguments=("--format", "json")).stdout)["jobs"]
    assert "a parameter of the trial is where a job has a number" in row["reason"]
