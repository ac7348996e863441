"""`survey` and `convert --from-cluster` against an API server: the same as of the files, and nothing changes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from e2e.harness.client import Api, connect
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.support import marks
from e2e.support.v1_examples.expected import examples

from training_api.registry import KINDS
from training_api.yaml_text import dump

Json = dict[str, Any]


@pytest.fixture
async def api(cluster: Cluster) -> AsyncIterator[Api]:
    """A client of the API server under test; the others of this folder are about Trainer's."""
    async with connect(cluster.kubeconfig) as api:
        yield api


def survey(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """The command with its result as JSON."""
    return migrate("survey", "--format", "json", *arguments, stdin=stdin)


def migrate(verb: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """A verb, as a user starts it."""
    program = "from training_operator.cli import main; main()"
    command = [sys.executable, "-c", program, "migrate", verb, "--target", "2.3", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, input=stdin)


def written(folder: Path) -> dict[str, str]:
    """What each file holds, without the one default of the CRDs that an API server fills in."""
    return {path.name: path.read_text().replace(f"{' ' * 20}protocol: TCP\n", "") for path in folder.rglob("*.yaml")}


def findings(content: str) -> dict[tuple[str, str], tuple[str, list[tuple[str, bool]]]]:
    """By kind and name: the verdict, and the rules with whether they are mended."""
    return {
        (job["ref"]["kind"], job["ref"]["name"]): (
            job["verdict"],
            [(each["id"], each["fixed"]) for each in job["findings"]],
        )
        for job in json.loads(content)["jobs"]
    }


async def versions(api: Api, namespace: str) -> dict[str, str]:
    """The resource version of every job."""
    found: dict[str, str] = {}
    for info in KINDS.values():
        listed = await api.call("GET", f"/apis/kubeflow.org/v1/namespaces/{namespace}/{info.plural}")
        found |= {each["metadata"]["uid"]: each["metadata"]["resourceVersion"] for each in listed["items"]}
    return found


async def test_jobs_of_a_cluster_are_judged_as_those_of_files(
    cluster: Cluster, api: Api, namespace: str, tmp_path: Path
) -> None:
    jobs = [example.job for example in examples(f"job-{number}" for number in count())]
    for number, job in enumerate(jobs):
        job["metadata"] = {**job["metadata"], "name": f"job-{number}", "namespace": namespace}
        await api.create(f"/apis/kubeflow.org/v1/namespaces/{namespace}/{KINDS[job['kind']].plural}", job)
    (tmp_path / "jobs.yaml").write_text(dump(jobs))
    before = await versions(api, namespace)

    in_files = survey(str(tmp_path / "jobs.yaml"))
    in_cluster = survey("--from-cluster", "-n", namespace, "--kubeconfig", str(cluster.kubeconfig))
    assert in_cluster.returncode == in_files.returncode == 1, in_cluster.stderr
    assert len(findings(in_files.stdout)) == len(jobs)
    assert findings(in_cluster.stdout) == findings(in_files.stdout)
    assert await versions(api, namespace) == before

    to_files = [str(tmp_path / "jobs.yaml"), "-n", namespace, "-o", str(tmp_path / "files")]
    from_cluster = ["--from-cluster", "--from-namespace", namespace, "--kubeconfig", str(cluster.kubeconfig)]
    converted = migrate("convert", *to_files, "--fail-on", "never")
    again = migrate(
        "convert", *from_cluster, "-o", str(tmp_path / "cluster"), "--no-share-runtimes", "--fail-on", "never"
    )
    assert (converted.returncode, again.returncode) == (0, 0), again.stderr
    assert written(tmp_path / "cluster") == written(tmp_path / "files")
    assert await versions(api, namespace) == before

    printed = cluster.run_kubectl("get", "pytorchjobs,mpijobs", "-n", namespace, "-o", "yaml")
    piped = findings(survey("-", stdin=printed).stdout)
    assert {kind for kind, _ in piped} == {"PyTorchJob", "MPIJob"}
    assert piped.items() <= findings(in_files.stdout).items()


def test_a_namespace_without_jobs_has_none_and_a_context_that_is_not_there_is_said(cluster: Cluster) -> None:
    nowhere = survey("--from-cluster", "-n", "nobody", "--kubeconfig", str(cluster.kubeconfig))
    assert nowhere.returncode == 0, nowhere.stderr
    assert json.loads(nowhere.stdout)["jobs"] == []
    unknown = survey("--from-cluster", "--kubeconfig", str(cluster.kubeconfig), "--context", "elsewhere")
    assert unknown.returncode == 5
    assert "elsewhere" in unknown.stderr
    assert unknown.stderr.count("\n") == 1


def definition(group: str, version: str, kind: str) -> Json:
    """A CRD that keeps everything."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    served = {"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [served]}
    head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**head, "metadata": {"name": f"{plural}.{group}"}, "spec": spec}


@pytest.fixture(scope="module")
def holders(cluster: Cluster) -> Iterator[None]:
    """Experiments and AppWrappers are known to the cluster."""
    definitions = [definition("kubeflow.org", "v1beta1", "Experiment")]
    definitions.append(definition("workload.codeflare.dev", "v1beta2", "AppWrapper"))
    cluster.install(definitions)
    yield
    cluster.run_kubectl("delete", "crd", *(each["metadata"]["name"] for each in definitions))


def holding(namespace: str) -> list[Json]:
    """A job, one that a trial has made, an Experiment, an AppWrapper, and a ConfigMap with a job in it."""
    job = next(example.job for example in examples(f"job-{number}" for number in count()))
    metadata = {"name": "own", "namespace": namespace}
    trial = {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "name": "t", "uid": "1", "controller": True}
    inner = {"apiVersion": "kubeflow.org/v1", "kind": job["kind"], "spec": job["spec"]}
    template = {"primaryContainerName": "main", "trialSpec": inner}
    return [
        {**job, "metadata": metadata},
        {**job, "metadata": {**metadata, "name": "of-a-trial", "ownerReferences": [trial]}},
        {
            "apiVersion": "kubeflow.org/v1beta1",
            "kind": "Experiment",
            "metadata": {**metadata, "name": "tune"},
            "spec": {"trialTemplate": template},
        },
        {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "metadata": {**metadata, "name": "wrapped"},
            "spec": {"components": [{"template": {**inner, "metadata": {"name": "inner"}}}]},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**metadata, "name": "text"},
            "data": {"job.yaml": dump([{**inner, "metadata": {"name": "inner"}}])},
        },
    ]


@marks.real
@pytest.mark.usefixtures("holders")
async def test_objects_that_contain_jobs_are_found_in_a_cluster(cluster: Cluster, namespace: str) -> None:
    cluster.send("create", *holding(namespace))
    where = ("--from-cluster", "-n", namespace, "--kubeconfig", str(cluster.kubeconfig))
    found = json.loads(survey(*where).stdout)
    jobs = [(each["ref"]["kind"], each["ref"]["name"]) for each in found["jobs"]]
    assert jobs[1:] == [("Experiment", "tune"), ("AppWrapper", "wrapped")]
    assert jobs[0][1] == "own"
    assert found["ignored"] == {f"{jobs[0][0]} of a Trial": 1}
    asked = {each["ref"]["kind"] for each in json.loads(survey(*where, "--config-maps").stdout)["jobs"]}
    assert asked == {jobs[0][0], "Experiment", "AppWrapper", "ConfigMap"}


@marks.real
@pytest.mark.usefixtures("holders")
async def test_what_may_not_be_listed_is_a_row(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "reader", "namespace": namespace}}
    resources = [*(info.plural for info in KINDS.values()), "experiments"]
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    cluster.send(
        "create",
        *holding(namespace),
        {**head, "kind": "Role", "rules": [{"apiGroups": ["kubeflow.org"], "resources": resources, "verbs": ["list"]}]},
        {**head, "kind": "RoleBinding", "roleRef": role, "subjects": [subject]},
    )
    token = cluster.run_kubectl("create", "token", "default", f"--namespace={namespace}").strip()
    there = json.loads(cluster.kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = Path(there["certificate-authority"])
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", there["server"], authority, {"token": token})
    done = survey("--from-cluster", "-n", namespace, "--kubeconfig", str(kubeconfig))
    *found, unlisted = json.loads(done.stdout)["jobs"]
    assert [each["ref"]["name"] for each in found] == ["own", "tune"]
    assert unlisted["error"].startswith("appwrappers.workload.codeflare.dev cannot be listed: ")
    assert unlisted["error"].endswith(" v1 jobs inside of them are not counted.")
    assert done.returncode == 5, done.stderr
