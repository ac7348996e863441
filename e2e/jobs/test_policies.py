"""Policies of a cluster: jobs that satisfy them run, others say why they do not, and go on once a policy is lifted."""

from __future__ import annotations

import json

import pytest
from e2e.harness.client import Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import PLURALS, REPLICAS, Namespace, job, typical
from e2e.harness.operator import Operator, rests
from e2e.support import marks
from e2e.support.profiles import KINDS_NOW, often

pytestmark = [pytest.mark.usefixtures("operator"), marks.real]  # the embedded API server has none of these policies

LIMIT = 60.0
"""Seconds for a controller to notice, and for the operator to try again."""
RESTRICTED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
EXTENSION = "extension.training.kubeflow.org/"


async def put(jobs: Namespace, resource: str, body: Object, group: str = "/api/v1") -> str:
    """Create an object in the namespace, and return its path."""
    path = f"{group}/namespaces/{jobs.name}/{resource}"
    await jobs.api.create(path, body)
    return f"{path}/{body['metadata']['name']}"


async def quota(jobs: Namespace, **hard: str) -> str:
    """A quota that is in force."""
    path = await put(jobs, "resourcequotas", {"metadata": {"name": "quota"}, "spec": {"hard": hard}})

    async def in_force() -> bool:
        found = await jobs.api.get(path)
        return found is not None and "used" in found.get("status", {})

    await eventually(in_force, "the quota is in force", LIMIT)
    return path


async def waiting(jobs: Namespace, body: Object, reason: str) -> str:
    """Wait until the job gives this reason for not going on; the sentence that comes with it."""
    return str((await jobs.waits(body, reason, limit=LIMIT))["message"])


async def finish(jobs: Namespace, body: Object) -> None:
    """Play the node of a job whose pods are all there by now; nothing is waited for any more."""
    name = body["metadata"]["name"]
    await jobs.placed(body, LIMIT)
    await jobs.set_phase(name, "Running")
    await jobs.condition(body, "Running")
    await jobs.waits(body, None)
    await jobs.set_phase(name, "Succeeded")
    await jobs.condition(body, "Succeeded")


def containers(body: Object) -> list[Object]:
    """The containers of all templates of a job."""
    replicas = body["spec"][REPLICAS[body["kind"]]].values()
    return [container for spec in replicas for container in spec["template"]["spec"]["containers"]]


async def test_a_job_beyond_its_quota_goes_on_when_that_is_raised(jobs: Namespace) -> None:
    path = await quota(jobs, pods="1")
    body = job("big", Master=1, Worker=2)
    await jobs.create(body)
    assert "exceeded quota: quota, requested: pods=1, used: pods=1" in await waiting(jobs, body, "Quota")
    assert len(await jobs.pods("big")) == 1
    await jobs.api.patch(path, {"spec": {"hard": {"pods": "3"}}})
    await finish(jobs, body)


async def test_a_job_goes_on_when_another_one_leaves_room_in_the_quota(jobs: Namespace) -> None:
    await quota(jobs, pods="2")
    first, second = job("first", "JAXJob", Worker=2), job("second", "JAXJob", Worker=2)
    await jobs.create(first)
    await jobs.pods_reach("first", 2)
    await jobs.create(second)
    await waiting(jobs, second, "Quota")
    await finish(jobs, first)
    await finish(jobs, second)


async def test_a_quota_for_cpu_wants_requests_which_a_limit_range_can_give(jobs: Namespace) -> None:
    await quota(jobs, **{"requests.cpu": "1"})
    body = job("silent", "TFJob", Worker=2)
    await jobs.create(body)
    assert "failed quota: quota: must specify requests.cpu" in await waiting(jobs, body, "Quota")
    limits = [{"type": "Container", "defaultRequest": {"cpu": "100m"}}]
    await put(jobs, "limitranges", {"metadata": {"name": "range"}, "spec": {"limits": limits}})
    await finish(jobs, body)


async def test_a_job_beyond_a_limit_range_goes_on_when_that_is_lifted(jobs: Namespace) -> None:
    limits = [{"type": "Container", "max": {"cpu": "1"}}]
    path = await put(jobs, "limitranges", {"metadata": {"name": "range"}, "spec": {"limits": limits}})
    body = job("greedy", "PaddleJob", Worker=2)
    for container in containers(body):
        container["resources"] = {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}
    await jobs.create(body)
    assert "maximum cpu usage per Container is 1, but limit is 2" in await waiting(jobs, body, "InvalidTemplate")
    await jobs.api.delete(path)
    await finish(jobs, body)


@pytest.mark.parametrize("kind", often(PLURALS, *KINDS_NOW))
async def test_what_the_server_puts_into_pods_is_left_alone(jobs: Namespace, operator: Operator, kind: str) -> None:
    """A limit range sets resources, and another controller (such as a VPA) changes them later: neither is drift."""
    limits = [{"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1"}}]
    await put(jobs, "limitranges", {"metadata": {"name": "range"}, "spec": {"limits": limits}})
    body = typical("filled", kind)
    await jobs.create(body)
    await jobs.placed(body)
    await jobs.set_phase("filled", "Running")
    await jobs.condition(body, "Running")
    pods = await jobs.pods("filled")
    assert all(pod["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"} for pod in pods)
    resized = {"name": pods[0]["spec"]["containers"][0]["name"], "resources": {"requests": {"cpu": "1500m"}}}
    path = f"/api/v1/namespaces/{jobs.name}/pods/{pods[0]['metadata']['name']}"
    await jobs.api.call(
        "PATCH", f"{path}/resize", {"spec": {"containers": [resized]}}, "application/strategic-merge-patch+json"
    )
    pods = await jobs.pods("filled")
    await rests(operator, jobs.api, f"{jobs.jobs(kind)}/filled")
    assert await jobs.pods("filled") == pods
    await finish(jobs, body)


def restricted(kind: str) -> Object:
    """A job that Pod Security `restricted` admits."""
    body = typical("careful", kind)
    for container in containers(body):
        container["securityContext"] = RESTRICTED
    if kind == "PyTorchJob":
        # v1's image for the init container runs as root.
        body["metadata"]["annotations"] = {f"{EXTENSION}init-container": "worker-image"}
    if kind == "MPIJob":
        body["metadata"]["annotations"] = {f"{EXTENSION}mpi-launch": "ssh"}
    return body


@pytest.mark.parametrize("kind", often(PLURALS, *KINDS_NOW))
async def test_jobs_run_under_pod_security_restricted(jobs: Namespace, kind: str) -> None:
    namespace = f"/api/v1/namespaces/{jobs.name}"
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    await jobs.api.patch(namespace, {"metadata": {"labels": enforced}})
    body, careless = restricted(kind), typical("careless", kind)
    await jobs.create(careless)
    assert 'violates PodSecurity "restricted:latest"' in await waiting(jobs, careless, "InvalidTemplate")
    await jobs.create(body)
    await finish(jobs, body)
    await jobs.api.patch(namespace, {"metadata": {"labels": dict.fromkeys(enforced)}})
    await finish(jobs, careless)


@pytest.mark.parametrize(("kind", "container"), [("PyTorchJob", "init-pytorch"), ("MPIJob", "kubectl-delivery")])
async def test_init_containers_of_v1_are_not_restricted(jobs: Namespace, kind: str, container: str) -> None:
    """They have no security context of their own; other ways to wait, and to start ranks, do without them."""
    enforced = {"pod-security.kubernetes.io/enforce": "restricted"}
    await jobs.api.patch(f"/api/v1/namespaces/{jobs.name}", {"metadata": {"labels": enforced}})
    body = restricted(kind)
    del body["metadata"]["annotations"]
    await jobs.create(body)
    assert f'container "{container}" must set' in await waiting(jobs, body, "InvalidTemplate")


def evict(cluster: Cluster, jobs: Namespace, pod: str) -> None:
    """Ask for the eviction of a pod, as `kubectl drain` and the updater of a VPA do."""
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": jobs.name}}
    path = f"/api/v1/namespaces/{jobs.name}/pods/{pod}/eviction"
    cluster.run_kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))


@pytest.mark.parametrize(("kind", "budget"), [("TFJob", {"minAvailable": 2}), ("PyTorchJob", {"maxUnavailable": 0})])
async def test_a_disruption_budget_holds_back_evictions(
    cluster: Cluster, jobs: Namespace, kind: str, budget: Object
) -> None:
    """A number of pods works for every kind; shares, and how many may be away, for those with a scale subresource."""
    body = job("kept", kind, Worker=2)
    body["spec"][REPLICAS[kind]]["Worker"]["restartPolicy"] = "OnFailure"
    await jobs.create(body)
    await jobs.pods_reach("kept", 2)
    await jobs.set_status("kept", READY)
    selector = {"matchLabels": {"training.kubeflow.org/job-name": "kept"}}
    spec = {"metadata": {"name": "kept"}, "spec": {**budget, "selector": selector}}
    path = await put(jobs, "poddisruptionbudgets", spec, "/apis/policy/v1")

    async def known() -> bool:
        status = (await jobs.api.call("GET", path)).get("status", {})
        return (status.get("expectedPods"), status.get("currentHealthy")) == (2, 2)

    await eventually(known, "the budget knows the pods", LIMIT)
    with pytest.raises(HarnessError, match=r"violate the pod's disruption budget"):
        evict(cluster, jobs, "kept-worker-0")
    uid = (await jobs.pods("kept"))[0]["metadata"]["uid"]
    await jobs.api.delete(path)
    evict(cluster, jobs, "kept-worker-0")

    async def replaced() -> bool:
        found = await jobs.pods("kept")
        return len(found) == 2 and found[0]["metadata"]["uid"] != uid

    await eventually(replaced, "another kept-worker-0")
    await finish(jobs, body)
