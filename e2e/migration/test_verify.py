"""What is predicted of converted jobs is what the real controllers build; of many more: `python -m e2e.migration`."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.migration.building import JOBSET, TRAINER
from e2e.migration.jobs import TARGET, examples, golden, made, sharing, verified, verified_subjects
from e2e.support import marks
from e2e.support.paths import ROOT

from training_migration.cli import migrate
from training_migration.targets import FEATURES
from training_migration.v1_job import V1Job
from training_migration.verify.outcome import Verification, VerificationOutcome

pytestmark = marks.bare  # Trainer v2 is installed into a cluster of its own

KINDS = "trainjobs,trainingruntimes,jobsets"
PAGE = ROOT / "docs" / "migration" / "verify.md"
LIMIT = 120.0
TRAIN_JOB: Object = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "given"},
    "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}},
}


def said(found: Sequence[Verification]) -> dict[str, str]:
    """Outcomes that are not equal, with the reasons."""
    return {
        f"{each.subject.kind} {each.subject.source}": "; ".join([each.message, *map(str, each.differences)])
        for each in found
        if each.outcome is not VerificationOutcome.EQUAL
    }


async def test_every_example_of_v1_is_built_as_predicted_with_its_pods(trainer: Cluster) -> None:
    jobs: list[V1Job] = examples()
    found = await verified(trainer.kubeconfig, "examples", jobs, pods=True)
    assert said(found) == {}
    assert len(found) == 28
    # JobSet, Service, a Job, a pod at least, and of newer releases a snapshot of the runtime.
    assert all(each.objects >= 4 + FEATURES[TARGET].snapshot for each in found)


async def test_train_jobs_on_shared_runtimes_are_built_as_predicted(trainer: Cluster) -> None:
    subjects = sharing(examples()[:15])
    found = await verified_subjects(trainer.kubeconfig, "shared", subjects, pods=False)
    assert said(found) == {}
    assert len(found) > 8
    assert sum("runtimePatches" in each.train_job["spec"] for each in subjects) > 1


async def test_the_corpus_and_some_jobs_by_chance_are_built_as_predicted_while_suspended(trainer: Cluster) -> None:
    found = await verified(trainer.kubeconfig, "suspended", [*golden(), *made(seed=8, number=12)], pods=False)
    assert [
        each for each in found if each.outcome not in (VerificationOutcome.EQUAL, VerificationOutcome.NOT_CONVERTED)
    ] == []
    assert sum(each.outcome is VerificationOutcome.EQUAL for each in found) > 20


async def test_nothing_is_left_of_what_was_verified(trainer: Cluster, api: Api) -> None:
    async def gone() -> bool:
        found = json.loads(trainer.run_kubectl("get", KINDS, "-A", "--output=json"))
        return [each for each in found["items"] if each["metadata"]["namespace"] in ("examples", "suspended")] == []

    await eventually(gone, "an end of everything")


class Verify:
    """Calls the command in a namespace of its own."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.file = cluster, folder / "objects.yaml"
        self.namespace = folder.name.replace("_", "-")
        cluster.run_kubectl("create", "namespace", self.namespace)

    @property
    def options(self) -> list[str]:
        return [str(self.file), "--kubeconfig", str(self.cluster.kubeconfig), "--namespace", self.namespace]

    def __call__(self, *objects: Object, target: str = "2.3", more: Sequence[str] = ()) -> Result:
        self.file.write_text(yaml.safe_dump_all(objects))
        return CliRunner().invoke(migrate, ["verify", *self.options, "--target", target, *more])


@pytest.fixture
def verify(trainer: Cluster, tmp_path: Path) -> Verify:
    return Verify(trainer, tmp_path)


def test_a_train_job_on_a_runtime_of_the_cluster_is_as_predicted(verify: Verify) -> None:
    done = verify(TRAIN_JOB, more=["--format", "json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["summary"] == {each.value: int(each is VerificationOutcome.EQUAL) for each in VerificationOutcome}
    assert report["jobs"][0]["objects"] == 4
    assert done.stderr == "1/1 TrainJob given: equal\n"


def test_the_examples_of_the_page(verify: Verify) -> None:
    verify.file = ROOT / "examples" / "pytorch"
    done = CliRunner().invoke(migrate, ["verify", *verify.options, "--target", "2.3"])
    assert done.exit_code == 0, done.output
    assert done.stdout in PAGE.read_text()


def test_another_release_is_found_out_value_by_value(verify: Verify) -> None:
    done = verify(TRAIN_JOB, target="2.2")
    assert done.exit_code == 1, done.output
    assert "ConfigMap/given-runtime-snapshot: not predicted" in done.stdout
    assert done.stderr.startswith("The cluster says that it has Trainer v2.3.0; predicted is 2.2.\n")


def test_what_admission_rejects_is_rejected(verify: Verify) -> None:
    env = [{"name": "PET_NNODES", "value": "1"}, {"name": "HF_TOKEN", "value": "not to be seen"}]
    reserved = {**TRAIN_JOB, "spec": {**TRAIN_JOB["spec"], "trainer": {"env": env}}}
    nowhere = {**TRAIN_JOB, "metadata": {"name": "lost"}, "spec": {"runtimeRef": {"name": "nowhere"}}}
    done = verify(reserved, nowhere)
    assert done.exit_code == 4, done.output
    assert "As predicted: TrainJob given was rejected" in done.stdout
    assert "not to be seen" not in done.output
    assert "Its runtime is neither in the files nor in the cluster." in done.stdout


def test_a_name_that_is_taken_is_left_alone(verify: Verify) -> None:
    taken = {**TRAIN_JOB, "spec": {**TRAIN_JOB["spec"], "suspend": True}}
    where = f"--namespace={verify.namespace}"
    verify.cluster.send("create", taken, options=[where])
    done = verify(TRAIN_JOB)
    assert done.exit_code == 5, done.output
    assert "already exists" in done.stdout
    assert verify.cluster.run_kubectl("get", where, "trainjob", "given", "--output=name")


def test_clusters_without_trainer_or_namespace_are_reported_apart(verify: Verify) -> None:
    verify.namespace = "nowhere"
    done = verify(TRAIN_JOB)
    assert done.exit_code == 5
    assert done.stderr == "Error: The cluster has no namespace nowhere: create an empty one.\n"


def test_a_dry_run_stores_nothing(verify: Verify) -> None:
    jax = yaml.safe_load_all((ROOT / "examples" / "jax" / "jaxjob.yaml").read_text())
    done = verify(TRAIN_JOB, *jax, more=["--dry-run"])
    assert done.exit_code == 0, done.output
    assert verify.cluster.run_kubectl("get", f"--namespace={verify.namespace}", KINDS, "--output=name") == ""


async def test_ctrl_c_leaves_nothing_behind(verify: Verify, api: Api) -> None:
    """The launcher is never made, as no node is ever ready: the command would wait for long."""
    waits = {**TRAIN_JOB, "spec": {"runtimeRef": {"name": "deepspeed-distributed"}, "trainer": {"command": ["true"]}}}
    verify.file.write_text(yaml.safe_dump(waits))
    command = [sys.executable, "-c", "from training_migration.cli import migrate; migrate()", "verify"]
    options = [*verify.options, "--target=2.3", "--unsuspended", "--timeout=600"]
    here = f"namespaces/{verify.namespace}"
    child = await asyncio.create_subprocess_exec(*command, *options, stderr=asyncio.subprocess.PIPE)

    async def begun() -> bool:
        assert child.returncode is None
        return await api.get(f"{JOBSET}/{here}/jobsets/given") is not None

    try:
        await eventually(begun, "a JobSet", LIMIT)
        child.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(child.communicate(), LIMIT)
    finally:
        if child.returncode is None:
            child.kill()
    assert (child.returncode, errors) == (130, b"Interrupted.\n")
    assert await api.get(f"{TRAINER}/{here}/trainjobs/given") is None
