"""What `migrate verify` compares and says; against real controllers it is in e2e/migration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from unit_tests.migration.conversions import pytorch
from unit_tests.migration.v2.written import replicated_job, runtime, train_job

from training_migration.cli import migrate
from training_migration.exits import BY_VERB, Exit, worst
from training_migration.masking import MASK
from training_migration.report.verify import as_json, as_text
from training_migration.runs.api import Api
from training_migration.targets import Target
from training_migration.v2.render import render_v2
from training_migration.verify.differences import Difference, differences, discreet, expected
from training_migration.verify.outcome import EXITS, Subject, Verification, VerificationOutcome
from training_migration.verify.subjects import subjects
from training_migration.verify.verify import How, verify
from training_operator.kube.transport import Request, Response

Json = dict[str, Any]


def predicted(*, suspend: bool = False) -> list[Json]:
    second = replicated_job("after", ancestor="", dependsOn=[{"name": "node", "status": "Ready"}])
    return expected(
        render_v2(train_job({}, suspend=suspend), runtime({"torch": {}}, replicated_job(), second), Target.V2_3)
    )


def test_nothing_differs_from_itself() -> None:
    assert differences(predicted(), json.loads(json.dumps(predicted()))) == []


def test_each_value_that_differs_is_named() -> None:
    built = json.loads(json.dumps(predicted()))
    (job,) = (each for each in built if each["kind"] == "Job" and each["metadata"]["name"] == "job-node-0")
    job["spec"]["template"]["spec"]["containers"][0]["image"] = "other:1"
    job["spec"]["backoffLimit"] = 3
    found = differences(predicted(), built)
    assert {(each.object, each.path, each.predicted, each.built) for each in found} == {
        ("Job/job-node-0", "spec.template.spec.containers[0].image", "registry.example/train:1", "other:1"),
        ("Job/job-node-0", "spec.backoffLimit", None, 3),
    }
    assert "Job/job-node-0 spec.backoffLimit: predicted nothing, built 3" in map(str, found)


def test_objects_that_are_missing_or_more_are_named() -> None:
    extra = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "more"}}
    without = [each for each in predicted() if each["kind"] != "Service"]
    found = [str(each) for each in differences(predicted(), [*without, extra])]
    assert found == ["Service/job: not built", "Secret/more: not predicted"]


def test_credentials_are_compared_and_not_shown() -> None:
    def pod(token: str) -> Json:
        env = [{"name": "HF_TOKEN", "value": token}]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "a", "image": "a:1", "env": env}]},
        }

    (found,) = differences([pod("one")], [pod("two")])
    assert (found.predicted, found.built) == (MASK, MASK)


def test_what_admission_quotes_is_masked() -> None:
    job = train_job({"env": [{"name": "HF_TOKEN", "value": 'one "two"'}, {"name": "LR", "value": "0.1"}]})
    said = f'spec.trainer.env: Invalid value: {json.dumps(job["spec"]["trainer"]["env"])}: reserved; got one "two"'
    assert discreet(said, [job, {}]) == (
        'spec.trainer.env: Invalid value: [{"name": "HF_TOKEN", "value": "********"}, '
        '{"name": "LR", "value": "0.1"}]: reserved; got ********'
    )


def test_while_suspended_there_are_no_pods_and_no_jobs_that_wait() -> None:
    kinds = [(each["kind"], each["metadata"]["name"]) for each in predicted(suspend=True)]
    assert kinds == [
        ("ConfigMap", "job-runtime-snapshot"),
        ("JobSet", "job"),
        ("Service", "job"),
        ("Job", "job-node-0"),
    ]
    assert sorted(each["kind"] for each in predicted()).count("Pod") == 2


def test_every_outcome_ends_with_a_status_that_the_help_lists() -> None:
    assert set(EXITS) == set(VerificationOutcome)
    assert set(EXITS.values()) <= set(BY_VERB["verify"])
    assert EXITS[VerificationOutcome.NOT_CONVERTED] is Exit.REJECTED  # the status of a job that is not converted


def test_jobs_of_v1_are_converted_and_train_jobs_get_their_runtime(tmp_path: Path) -> None:
    other = {**runtime({"jax": {}}), "metadata": {"name": "rt", "namespace": "elsewhere"}}
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([pytorch(2), other, runtime({"torch": {}}), train_job({})]))
    converted, given = subjects([str(tmp_path)], Target.V2_3)
    assert (converted.kind, converted.train_job["kind"], converted.rejected) == ("PyTorchJob", "TrainJob", "")
    assert converted.runtime is not None
    assert (given.kind, given.name, given.line > 1) == ("TrainJob", "job", True)
    assert given.runtime == runtime({"torch": {}})


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("kind: ConfigMap\napiVersion: v1\n", (), "there is neither a v1 job nor a TrainJob in it"),
        ("a: [\n", (), "jobs.yaml:"),
        (
            yaml.safe_dump({**train_job({}), "spec": None}),
            (),
            "TrainJob cannot be read: spec: Required value",
        ),
        (yaml.safe_dump(train_job({})), ("--dry-run", "--unsuspended"), "mutually exclusive"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, text: str, options: Any, sentence: str) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(text)
    done = CliRunner().invoke(migrate, ["verify", str(file), "--target", "2.3", "-n", "a", *options])
    assert (done.exit_code, done.stdout) == (Exit.USAGE, "")
    assert sentence in done.stderr


def test_a_cluster_out_of_reach_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(yaml.safe_dump(train_job({})))
    options = ["--target", "2.3", "-n", "a", "--kubeconfig", str(tmp_path / "none")]
    done = CliRunner().invoke(migrate, ["verify", str(file), *options])
    assert (done.exit_code, done.stdout) == (Exit.ENVIRONMENT, "")
    assert done.stderr.startswith("Error: ")


class LostCluster:
    """A connection that breaks once jobs are asked for."""

    async def request(self, request: Request) -> Response:
        if request.path.endswith("/v1alpha1"):
            return kinds(("trainjobs", "TrainJob", True))
        if request.path.endswith("/v1alpha2"):
            return kinds(("jobsets", "JobSet", True))
        if request.path == "/api/v1":
            return kinds(("namespaces", "Namespace", False))
        if request.path == "/api/v1/namespaces/a":
            return Response(200, b"{}")
        raise ConnectionResetError("gone")

    def stream(self, request: Request) -> Any:
        raise NotImplementedError

    async def close(self) -> None:
        return


def kinds(*known: tuple[str, str, bool]) -> Response:
    resources = [{"name": name, "kind": kind, "namespaced": namespaced} for name, kind, namespaced in known]
    return Response(200, json.dumps({"resources": resources}).encode())


async def test_a_cluster_that_gets_lost_is_one_error_not_a_group() -> None:
    asked = [Subject("a.yaml", 1, "TrainJob", train_job({}, name=name), runtime({"torch": {}})) for name in ("a", "b")]
    with pytest.raises(ConnectionResetError):
        await verify(Api(LostCluster()), asked, How(Target.V2_3, "a"))


def verifications() -> list[Verification]:
    subject = Subject("a.yaml", 1, "JAXJob", train_job({}), None)
    return [
        Verification(subject, VerificationOutcome.EQUAL, objects=4),
        Verification(
            subject,
            VerificationOutcome.DIFFERENT,
            differences=(Difference("Job/job-node-0", "spec.a", 1, 2),),
            objects=4,
        ),
        Verification(subject, VerificationOutcome.REJECTED, "It is too long."),
    ]


def test_the_report_has_a_row_for_each_and_every_difference() -> None:
    text = as_text(verifications(), terminal=False)
    assert text.splitlines() == [
        "kind    name  outcome",
        "JAXJob  job   equal      4 objects",
        "JAXJob  job   different  1 difference",
        "JAXJob  job   rejected   It is too long.",
        "",
        "JAXJob job:",
        "  Job/job-node-0 spec.a: predicted 1, built 2",
        "",
        "3 verified: 1 equal, 1 rejected, 1 different.",
    ]
    result = as_json(verifications(), How(Target.V2_3, "a"))
    assert (result["schema"], result["summary"]["equal"], result["jobs"][2]["message"]) == (
        "migrate.verify/1",
        1,
        "It is too long.",
    )
    assert worst(each.code for each in verifications()) is Exit.REJECTED
