"""This operator applied over the Go one: objects are replaced in place, and no pod of its jobs is touched."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from e2e.deployment.installation import ACCOUNT, DEPLOY, Object, account_kubeconfig, of_kind, render
from e2e.deployment.recorded import RUNNING, restore
from e2e.harness.bare import bare
from e2e.harness.client import Api, ApiError, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import PLURALS, Namespace, typical
from e2e.harness.operator import running_operator
from e2e.support import marks
from e2e.support.profiles import often

pytestmark = marks.bare  # the whole installation is replaced

STANDALONE = DEPLOY / "overlays" / "standalone"
V1 = Path(__file__).parent / "v1_installation.yaml"
WEBHOOKS = "validator.training-operator.kubeflow.org"
CERTIFICATES = "training-operator-webhook-cert"
KINDS = "deployment,service,serviceaccount,clusterrole,clusterrolebinding"
"""Of the objects that v1 and this operator have by the same name."""
IN_NAMESPACE = "--namespace=kubeflow"
CHECKED = [kind for kind in PLURALS if kind != "MPIJob"]
"""The kinds that v1's webhooks look at."""
PODS_AND_SERVICES = 20 + 17
"""Of the recorded jobs."""
SERVER_SIDE = ("--server-side", "--force-conflicts")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with bare() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def rendered(cluster: Cluster) -> list[Object]:
    return render(cluster, STANDALONE)


@dataclass(frozen=True, slots=True)
class Way:
    """How v1 was installed, and how it is replaced."""

    v1: str
    """Flag of `kubectl apply`."""
    stop: tuple[str, ...]
    """The command that ends v1."""
    ours: tuple[str, ...]
    """Flags of `kubectl apply`."""


SCALED = ("scale", f"deployment/{ACCOUNT}", "--replicas=0")
DELETED = ("delete", f"deployment/{ACCOUNT}", f"service/{ACCOUNT}")
WAYS = {
    "server-side": Way("--server-side", SCALED, SERVER_SIDE),
    "server-side-over-client-side": Way("--server-side=false", SCALED, SERVER_SIDE),
    # In place it would leave what it does not know to be there: v1's volume, with a Secret that is to go.
    "client-side": Way("--server-side", DELETED, ()),
}


@dataclass(frozen=True, slots=True)
class Upgraded:
    """A cluster on which v1 was replaced while its jobs were running."""

    cluster: Cluster
    namespace: str
    """Of the jobs."""
    kept: dict[str, str]
    """The uids under v1 of the objects that are replaced in place."""


@pytest.fixture(scope="module", params=often(WAYS, "server-side"))
def upgraded(request: pytest.FixtureRequest, cluster: Cluster) -> Upgraded:
    """v1 with a running job of each kind, replaced as the page says."""
    way = WAYS[request.param]
    install_v1(cluster, way.v1)
    namespace = f"taken-over-{secrets.token_hex(4)}"
    asyncio.run(start_jobs(cluster, namespace))
    cluster.send("apply", webhooks())
    refused_while_nobody_answers(cluster)
    cluster.run_kubectl(IN_NAMESPACE, *way.stop)
    kept = uids(cluster)
    cluster.run_kubectl("delete", "validatingwebhookconfiguration", WEBHOOKS)
    cluster.run_kubectl("apply", *way.ours, "-k", str(STANDALONE))
    cluster.run_kubectl(IN_NAMESPACE, "delete", "secret", CERTIFICATES)
    return Upgraded(cluster, namespace, kept)


def refused_while_nobody_answers(cluster: Cluster) -> None:
    """What makes the removal of the webhooks necessary; it takes the API server a moment to know of them."""
    deadline = time.monotonic() + 30
    while True:
        try:
            cluster.send("create", typical("new", "JAXJob"), options=["--dry-run=server"])
        except HarnessError as error:
            assert "failed calling webhook" in str(error), error
            return
        assert time.monotonic() < deadline, "the webhooks are not called"


def install_v1(cluster: Cluster, mode: str) -> None:
    """Apply v1's objects to a cluster without any of that name."""
    cluster.run_kubectl(IN_NAMESPACE, "delete", KINDS, ACCOUNT, "--ignore-not-found")
    cluster.send("apply", *yaml.safe_load(V1.read_text()), options=[mode])


def webhooks() -> Object:
    """v1's webhooks: of each kind but MPIJob, and nothing is admitted while they do not answer."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOKS},
        "webhooks": [
            {
                "name": f"validator.{kind.lower()}.training-operator.kubeflow.org",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {
                        "name": ACCOUNT,
                        "namespace": "kubeflow",
                        "path": f"/validate-kubeflow-org-v1-{kind.lower()}",
                    }
                },
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "rules": [
                    {
                        "apiGroups": ["kubeflow.org"],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE", "UPDATE"],
                        "resources": [PLURALS[kind]],
                    }
                ],
            }
            for kind in CHECKED
        ],
    }


async def start_jobs(cluster: Cluster, namespace: str) -> None:
    async with connect(cluster.kubeconfig) as api:
        await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        await asyncio.gather(*(restore(api, namespace, case) for case in RUNNING))


def show(cluster: Cluster, *what: str) -> Object:
    """What the API server has."""
    shown: Object = json.loads(cluster.run_kubectl("get", IN_NAMESPACE, *what, "--output=json"))
    return shown


def uids(cluster: Cluster) -> dict[str, str]:
    """Of the objects with the operator's name, by kind."""
    found = show(cluster, KINDS, f"--field-selector=metadata.name={ACCOUNT}")["items"]
    return {each["kind"]: each["metadata"]["uid"] for each in found}


@pytest.mark.weekly  # what the page warns of
def test_a_client_side_apply_in_place_leaves_the_volume_of_v1(cluster: Cluster) -> None:
    install_v1(cluster, "--server-side")
    cluster.run_kubectl("apply", "-k", str(STANDALONE))
    pod = show(cluster, "deployment", ACCOUNT)["spec"]["template"]["spec"]
    assert [volume["secret"]["secretName"] for volume in pod["volumes"]] == [CERTIFICATES]


def test_objects_are_replaced_in_place(upgraded: Upgraded) -> None:
    assert len(upgraded.kept) >= 3
    assert upgraded.kept.items() <= uids(upgraded.cluster).items()


def test_nothing_of_v1_is_left_in_them(upgraded: Upgraded, rendered: list[Object]) -> None:
    cluster = upgraded.cluster
    spec = show(cluster, "deployment", ACCOUNT)["spec"]
    assert spec["replicas"] == 2
    pod = spec["template"]["spec"]
    assert not pod.get("volumes")
    [container] = pod["containers"]
    [wanted] = of_kind(rendered, "Deployment")[ACCOUNT]["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["args"]) == (wanted["image"], wanted["args"])
    assert [port["containerPort"] for port in container["ports"]] == [8080, 8081]
    assert not container.get("volumeMounts")
    assert [port["name"] for port in show(cluster, "service", ACCOUNT)["spec"]["ports"]] == ["monitoring-port"]
    assert show(cluster, "clusterrole", ACCOUNT)["rules"] == of_kind(rendered, "ClusterRole")[ACCOUNT]["rules"]
    secrets_left = show(cluster, "secrets")["items"]
    assert CERTIFICATES not in {secret["metadata"]["name"] for secret in secrets_left}


async def test_running_jobs_are_taken_over_without_a_pod_touched(upgraded: Upgraded, tmp_path: Path) -> None:
    kubeconfig = account_kubeconfig(upgraded.cluster, "kubeflow", tmp_path)
    flags = ("--leader-elect", "--operator-namespace=kubeflow")
    async with connect(upgraded.cluster.kubeconfig) as api:
        before = await versions(api, upgraded.namespace)
        assert len(before) == PODS_AND_SERVICES
        with running_operator(kubeconfig, tmp_path / "operator.log", *flags):
            await eventually(lambda: all_looked_at(api, upgraded.namespace), "all jobs have been looked at")
            assert await versions(api, upgraded.namespace) == before
            await finish(api, upgraded.namespace)
            jobs = Namespace(api, upgraded.namespace)
            await jobs.run_to_success(typical("new", "JAXJob"))
        uids_after = {name: uid for name, (uid, _) in (await versions(api, upgraded.namespace)).items()}
        assert {name: uid for name, (uid, _) in before.items() if name in uids_after}.items() <= uids_after.items()


async def versions(api: Api, namespace: str) -> dict[str, tuple[str, str]]:
    """Uid and resource version of every pod and service."""
    return {
        f"{plural}/{each['metadata']['name']}": (each["metadata"]["uid"], each["metadata"]["resourceVersion"])
        for plural in ("pods", "services")
        for each in (await api.call("GET", f"/api/v1/namespaces/{namespace}/{plural}"))["items"]
    }


async def jobs_of(api: Api, namespace: str) -> list[Object]:
    lists = [await api.call("GET", Namespace(api, namespace).jobs(kind)) for kind in PLURALS]
    return [job for found in lists for job in found["items"]]


async def all_looked_at(api: Api, namespace: str) -> bool:
    """Whether each job has what v1 does not write."""
    jobs = await jobs_of(api, namespace)
    return len(jobs) == len(RUNNING) and all("observedGeneration" in job["status"] for job in jobs)


async def finish(api: Api, namespace: str) -> None:
    """Let all pods succeed, and wait until all jobs have."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    for pod in (await api.call("GET", pods))["items"]:
        try:
            await api.patch(f"{pods}/{pod['metadata']['name']}/status", {"status": {"phase": "Succeeded"}})
        except ApiError as error:
            if error.status != 404:  # its job is done already and has cleaned up
                raise

    async def succeeded() -> bool:
        conditions = [each for job in await jobs_of(api, namespace) for each in job["status"]["conditions"]]
        return sum((each["type"], each["status"]) == ("Succeeded", "True") for each in conditions) == len(RUNNING)

    await eventually(succeeded, "all jobs have succeeded")
