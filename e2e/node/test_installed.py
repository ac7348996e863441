"""What `kubectl apply -k` leaves on a real node: ready and restricted pods of the operator, one of which works."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from e2e.deployment.installation import DEPLOY
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.node.installed import IN_NAMESPACE, NAMESPACE, SELECTOR, story
from e2e.node.jobs import KINDS, programs

DEPLOYMENT = "deployment/training-operator"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/1ca428e5.training-operator.kubeflow.org"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={SELECTOR.replace('=', '%3D')}"
METRICS = f"/api/v1/namespaces/{NAMESPACE}/services/training-operator:monitoring-port/proxy/metrics"
ROOT_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "root", "namespace": NAMESPACE},
    "spec": {"containers": [{"name": "root", "image": "localhost/host:1"}]},
}
JAX = next(kind for kind in KINDS if kind.name == "JAXJob")


async def test_two_pods_are_ready_and_one_of_them_leads(cluster: Cluster, node_operator: None, api: Api) -> None:
    try:
        cluster.run_kubectl(IN_NAMESPACE, "rollout", "status", DEPLOYMENT, "--timeout=90s")
    except HarnessError as error:
        raise AssertionError(f"{error}\n{story(cluster)}") from None
    pods = (await api.call("GET", PODS))["items"]
    assert len(pods) == 2
    holder = (await api.call("GET", LEASE))["spec"]["holderIdentity"]
    assert [pod for pod in pods if holder.startswith(pod["metadata"]["name"])], holder
    assert {pod["spec"]["serviceAccountName"] for pod in pods} == {"training-operator"}


async def test_the_service_shows_metrics(node_operator: None, api: Api) -> None:
    async def shown() -> bool:  # once a pod is ready and kube-proxy knows
        return "leader_election_master_status" in await api.text(METRICS)

    await eventually(shown, "metrics")


def test_the_namespace_takes_restricted_pods_alone(cluster: Cluster, node_operator: None) -> None:
    with pytest.raises(HarnessError, match='violates PodSecurity "restricted'):
        cluster.send("create", ROOT_POD, options=["--dry-run=server"])


async def test_jobs_outlive_a_removal_and_the_next_installation_finishes_them(
    cluster: Cluster, overlay: Path, node_operator: None, api: Api, namespace: str
) -> None:
    pod = f"/api/v1/namespaces/{namespace}/pods/stays-worker-0"
    await api.create(f"/api/v1/namespaces/{namespace}/configmaps", programs())
    worker = JAX.replica(1, ("sh", "-c", "until [ -e /shared/stays ]; do sleep 0.2; done"), "Never")
    await api.create(f"/apis/kubeflow.org/v1/namespaces/{namespace}/jaxjobs", JAX.job("stays", {"Worker": worker}))

    async def running() -> Object | None:
        found = await api.get(pod)
        return found if found and found["status"]["phase"] == "Running" else None

    before = await eventually(running, "the pod runs", 60)
    cluster.run_kubectl("delete", "-k", str(DEPLOY / "removal"), "--timeout=60s")
    everything = json.loads(cluster.run_kubectl("get", "-k", str(overlay), "--ignore-not-found", "--output=json"))
    assert {each["kind"] for each in everything["items"]} == {"CustomResourceDefinition", "Namespace"}
    assert (await api.call("GET", pod))["metadata"]["uid"] == before["metadata"]["uid"]

    cluster.run_kubectl("exec", f"--namespace={namespace}", "stays-worker-0", "--", "touch", "/shared/stays")
    cluster.run_kubectl("apply", "-k", str(overlay))
    job = ("wait", f"--namespace={namespace}", "jaxjob/stays", "--for=condition=Succeeded", "--timeout=90s")
    try:
        cluster.run_kubectl(*job)
    except HarnessError as error:
        raise AssertionError(f"{error}\n{story(cluster)}") from None
    assert (await api.call("GET", pod))["metadata"]["uid"] == before["metadata"]["uid"]
