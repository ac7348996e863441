"""The operator's rights are those that it uses: all of its work done as its own account, and audited."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from e2e.deployment.installation import DEPLOY, Right, account_kubeconfig, asked, granted, render
from e2e.deployment.needed import ASKING, RULES, Rule, ask_for_everything, begin, rejections, without
from e2e.harness.bare import bare
from e2e.harness.client import Api, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import PLURALS, Namespace, elastic, job, typical
from e2e.harness.operator import Operator, running_operator
from e2e.support import marks

pytestmark = marks.bare  # the API server's audit log is needed

NAMESPACE = "kubeflow"
NEVER_ASKED_FOR = {("kubeflow.org", f"{plural}/finalizers", "update") for plural in PLURALS.values()}
"""Rights that an admission plugin looks up: `needed.py` shows what they are for."""
LISTS = "list"
"""Asked for where an API server cannot stream a list as a watch, or has forgotten where a watch was."""
NEVER_USED = {("", "pods/exec", "create")}
"""Permissions that are only passed on: a subject may grant a launcher only what it has; `needed.py` shows this, too."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A control plane that looks up rights to finalizers, with the operator's objects in it."""
    with bare(server_flags=["--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]) as cluster:
        cluster.run_kubectl("apply", "-k", str(DEPLOY / "overlays" / "standalone"))
        yield cluster


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """The operator as its pod would run: with the Deployment's flags, as its account."""
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = account_kubeconfig(cluster, NAMESPACE, folder)
    flags = ("--leader-elect", f"--operator-namespace={NAMESPACE}")
    with running_operator(kubeconfig, folder / "operator.log", *flags) as operator:
        yield operator


@pytest.fixture
def jobs(api: Api) -> Namespace:
    return Namespace(api, "default")


async def test_every_right_is_used_and_no_other_one_is_missing(
    cluster: Cluster, operator: Operator, jobs: Namespace
) -> None:
    for kind in PLURALS:
        # Services of three replicas are deleted by one request, and those of a JAXJob's two one by one.
        body = cleaned_up(typical(f"run-{kind.lower()}", kind, workers=2))
        await jobs.run_to_success(body)
        # Patched in afterwards, so that it is still there to be seen as succeeded.
        path = f"{jobs.jobs(kind)}/{body['metadata']['name']}"
        await jobs.api.patch(path, {"spec": {"runPolicy": {"ttlSecondsAfterFinished": 0}}})
    await scale_what_can_be(jobs)
    await take_names(jobs)
    await fail_twice(jobs)
    objects = render(cluster, DEPLOY / "overlays" / "standalone")
    rights = granted(objects, "ClusterRole", "Role") - NEVER_ASKED_FOR - NEVER_USED
    wanted = {right for right in rights if right[2] != LISTS}
    assert {right[:2] for right in rights if right[2] == LISTS} == {
        right[:2] for right in rights if right[2] == "watch"
    }

    async def unused() -> set[Right] | None:
        left = wanted - {right for right, _ in asked(cluster)}
        return None if left else {("", "", "")}

    try:
        await eventually(unused, "all rights used", 30)
    finally:
        left = wanted - {right for right, _ in asked(cluster)}
        assert not left, f"rights that nothing needed: {sorted(left)}"
    rejected = sorted({right for right, allowed in asked(cluster) if not allowed})
    assert not rejected, f"missing rights: {rejected}"


def cleaned_up(body: dict[str, Any]) -> dict[str, Any]:
    """The job, whose pods go when it has ended."""
    body["spec"]["runPolicy"] = {"cleanPodPolicy": "All"}
    return body


async def scale_what_can_be(jobs: Namespace) -> None:
    """Change autoscaler, host list and role of running jobs; end the first, so that its autoscaler goes."""
    scaled = elastic("elastic")
    for body in (scaled, typical("hosts", "MPIJob")):
        await jobs.create(body)
        await jobs.pods_reach(body["metadata"]["name"], 2)
    await jobs.api.patch(f"{jobs.jobs('PyTorchJob')}/elastic", {"spec": {"elasticPolicy": {"maxReplicas": 4}}})
    workers = {"spec": {"mpiReplicaSpecs": {"Worker": {"replicas": 2}}}}
    await jobs.api.patch(f"{jobs.jobs('MPIJob')}/hosts", workers)
    await jobs.pods_reach("hosts", 3)
    await jobs.set_phase("hosts", "Running")
    hpa = f"/apis/autoscaling/v2/namespaces/{jobs.name}/horizontalpodautoscalers/elastic"

    async def grown() -> bool:
        return bool((await jobs.api.call("GET", hpa))["spec"]["maxReplicas"] == 4)

    await eventually(grown, "the autoscaler follows the job")
    await jobs.set_phase("elastic", "Succeeded")
    await jobs.condition(scaled, "Succeeded")


async def take_names(jobs: Namespace) -> None:
    """Let others have the names of everything that a job needs, so that the operator has to look who has them."""
    core, rbac = f"/api/v1/namespaces/{jobs.name}", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{jobs.name}"
    launcher = {"metadata": {"name": "taken-launcher"}}
    pod = {"containers": [{"name": "main", "image": "example.com/other:1"}]}
    account = {"kind": "ServiceAccount", "name": "taken-launcher"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "taken-launcher"}
    await jobs.api.create(f"{core}/configmaps", {"metadata": {"name": "taken-config"}})
    await jobs.api.create(f"{core}/serviceaccounts", launcher)
    await jobs.api.create(f"{rbac}/roles", launcher)
    await jobs.create(typical("taken", "MPIJob"))
    # Only for a Role of its own would a job be bound.
    bound = {"metadata": {"name": "bound-launcher"}, "roleRef": role, "subjects": [account]}
    await jobs.api.create(f"{rbac}/rolebindings", bound)
    await jobs.create(typical("bound", "MPIJob"))
    await jobs.api.create(f"{core}/pods", {"metadata": {"name": "other-master-0"}, "spec": pod})
    service = {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 1}]}
    await jobs.api.create(f"{core}/services", {"metadata": {"name": "other-master-0"}, "spec": service})
    await jobs.create(job("other", Master=1))
    spec = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}, "maxReplicas": 2}
    hpa = {"metadata": {"name": "scaled"}, "spec": spec}
    await jobs.api.create(f"/apis/autoscaling/v2/namespaces/{jobs.name}/horizontalpodautoscalers", hpa)
    await jobs.create(elastic("scaled", workers=1))


async def fail_twice(jobs: Namespace) -> None:
    """Let the same happen again, so that an event that is there counts up."""
    body = job("again", Master=1)
    body["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "ExitCode"
    await jobs.create(body)
    killed = {"name": "pytorch", "state": {"terminated": {"exitCode": 137}}, "image": "", "imageID": "", "ready": False}
    failed = {"status": {"phase": "Failed", "containerStatuses": [{**killed, "restartCount": 0}]}}
    before = ""
    for _ in range(2):
        pod = await eventually(partial(another_pod, jobs, before), "another pod")
        before = pod["metadata"]["uid"]
        await jobs.api.patch(f"/api/v1/namespaces/{jobs.name}/pods/again-master-0/status", failed)


async def another_pod(jobs: Namespace, uid: str) -> dict[str, Any] | None:
    """The job's pod once it is another one than that with this uid."""
    pods = await jobs.pods("again")
    return pods[0] if pods and pods[0]["metadata"]["uid"] != uid else None


@pytest.mark.parametrize("rule", RULES, ids=str)
async def test_without_a_rule_something_is_rejected(
    cluster: Cluster, operator: Operator, jobs: Namespace, rule: Rule
) -> None:
    name = f"without-{RULES.index(rule)}"
    await begin(jobs, name)
    async with without(jobs.api, rule):
        before = len(rejections(cluster))
        await ask_for_everything(jobs, name)

        async def rejected() -> bool:
            return any(rule.is_named_by(rejection) for rejection in rejections(cluster)[before:])

        await eventually(rejected, f"a rejection for want of {rule}", 30)
    operator.child.check_alive()


async def test_what_was_held_up_goes_on_when_the_rules_are_there_again(operator: Operator, jobs: Namespace) -> None:
    for number in range(len(RULES)):
        for suffix, (kind, pods) in ASKING.items():
            name = f"without-{number}-{suffix}"
            if await jobs.api.get(f"{jobs.jobs(kind)}/{name}"):  # else the test that makes it was not asked for
                await jobs.pods_reach(name, pods, 60)
