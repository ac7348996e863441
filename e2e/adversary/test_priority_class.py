"""The operator's PriorityClass: with its component for the operator alone, without it there is none."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from e2e.deployment.installation import ACCOUNT, DEPLOY, Object, combined, of_kind, render
from e2e.harness.client import eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import Namespace, job
from e2e.harness.operator import Operator
from e2e.support import marks

pytestmark = marks.bare

NAMESPACE = "kubeflow"
POLICY = "PriorityClass training-operator is for the training operator alone"
EARLIER = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": ACCOUNT},
    "description": "For the operator that runs training jobs.",
    "value": 1000000000,
}
"""As installations had it that every tenant could use."""


def pod(namespace: str, account: str) -> Object:
    spec = {
        "priorityClassName": ACCOUNT,
        "serviceAccountName": account,
        "containers": [{"name": "a", "image": "example.com/a:1"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent", "namespace": namespace}, "spec": spec}


def admitted(cluster: Cluster, namespace: str, account: str) -> str:
    """What the API server says of a pod of this class; empty if it takes it."""
    try:
        cluster.send("create", pod(namespace, account), options=["--dry-run=server"])
    except HarnessError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def confined(cluster: Cluster) -> Iterator[Cluster]:
    """The component, over the class of an earlier installation."""
    cluster.send("apply", EARLIER)
    objects = combined(cluster, "kubeflow", ["priority-class"])
    deployment = of_kind(objects, "Deployment")[ACCOUNT]
    assert deployment["spec"]["template"]["spec"]["priorityClassName"] == ACCOUNT
    plain = {(each["kind"], each["metadata"]["name"]) for each in render(cluster, DEPLOY / "overlays" / "kubeflow")}
    added = [each for each in objects if (each["kind"], each["metadata"]["name"]) not in plain]
    cluster.send("apply", *added)
    yield cluster
    cluster.send("delete", *added, options=["--ignore-not-found"])


async def enforced(confined: Cluster, jobs: Namespace) -> None:
    async def rejected() -> bool:
        return POLICY in admitted(confined, jobs.name, "default")

    await eventually(rejected, "the policy is in force")


async def test_only_the_operator_s_account_may_have_it(confined: Cluster, jobs: Namespace) -> None:
    await enforced(confined, jobs)
    assert admitted(confined, NAMESPACE, ACCOUNT) == ""
    # Neither another account of the operator's namespace nor one of the same name elsewhere.
    assert POLICY in admitted(confined, NAMESPACE, "default")
    assert POLICY in admitted(confined, jobs.name, ACCOUNT)
    plain = pod(jobs.name, "default")
    del plain["spec"]["priorityClassName"]
    confined.send("create", plain, options=["--dry-run=server"])


async def test_a_job_that_asks_for_it_says_that_it_may_not(
    confined: Cluster, jobs: Namespace, operator: Operator
) -> None:
    await enforced(confined, jobs)
    body = job("urgent", "JAXJob", Worker=1)
    body["spec"]["jaxReplicaSpecs"]["Worker"]["template"]["spec"]["priorityClassName"] = ACCOUNT
    await jobs.create(body)
    await jobs.waits(body, "InvalidTemplate", POLICY)
    assert await jobs.pods("urgent") == []


def test_an_earlier_installation_goes_on_without_the_class(cluster: Cluster) -> None:
    """The Deployment of before names the class; that of now does not, whichever way it is applied, so it can go."""
    before = of_kind(render(cluster, DEPLOY / "overlays" / "kubeflow"), "Deployment")[ACCOUNT]
    template = before["spec"]["template"]
    spec = {**template["spec"], "priorityClassName": ACCOUNT}
    with_class = {**before, "spec": {**before["spec"], "template": {**template, "spec": spec}}}
    where = ("deployment", ACCOUNT, f"--namespace={NAMESPACE}")
    for way in ("--server-side=false", "--server-side"):
        flags = [way, "--force-conflicts"] if way == "--server-side" else [way]
        cluster.run_kubectl("delete", *where, "--ignore-not-found")
        cluster.send("apply", EARLIER)
        cluster.send("apply", with_class, options=flags)
        cluster.send("apply", before, options=flags)
        stored = json.loads(cluster.run_kubectl("get", *where, "--output=json"))
        assert "priorityClassName" not in stored["spec"]["template"]["spec"]
        cluster.run_kubectl("delete", "priorityclass", ACCOUNT, "--ignore-not-found")
