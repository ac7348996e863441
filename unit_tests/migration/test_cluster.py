"""The jobs of a cluster, over HTTPS from an API server, as they were before it touched them."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from training_api.documents import Document
from training_api.registry import KINDS
from training_local.apiserver.certificates import server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_migration.cli import migrate
from training_migration.cluster import QUEUE_LABEL, clean, read_cluster
from training_migration.exits import BY_VERB, Exit, Failure
from training_operator.kube.config import ClusterConfig, trusting
from training_operator.kube.credentials import Fixed
from training_operator.kube.transport import Request

Json = dict[str, Any]
POOL = {"nodeSelector": {"disk": "fast"}, "tolerations": [{"key": "mine"}]}


def _type(kind: str, plural: str, group: str, version: str = "v1") -> ResourceType:
    versions = [{"name": version, "served": True, "storage": True}]
    spec = {"group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural}, "versions": versions}
    [resource] = crd_types({"spec": spec})
    return resource


TYPES = (
    *BUILTIN,
    *(_type(info.kind, info.plural, "kubeflow.org") for info in KINDS.values() if info.kind != "PaddleJob"),
    _type("Workload", "workloads", "kueue.x-k8s.io", "v1beta2"),
)


def _job(name: str, namespace: str, kind: str = "PyTorchJob", **labels: str) -> Json:
    template = {"metadata": {"labels": {"team": "x"}}, "spec": {"containers": [{"name": "pytorch"}], **POOL}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **({"labels": labels} if labels else {})},
        "spec": {KINDS[kind].replica_field: {"Worker": {"replicas": 1, "template": template}}, "runPolicy": {}},
    }


def admitted(job: Json) -> Json:
    """What Kueue makes of a job."""
    held: Json = json.loads(json.dumps(job))
    held["spec"]["runPolicy"]["suspend"] = False
    template = held["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    template["metadata"]["labels"]["kueue.x-k8s.io/podset"] = "worker"
    template["metadata"]["annotations"] = {"kueue.x-k8s.io/workload": "w"}
    template["spec"]["nodeSelector"]["pool"] = "a"
    template["spec"]["tolerations"].append({"key": "reserved"})
    template["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/topology"}]
    return held


CONFIGS: dict[str, ClusterConfig] = {}
"""What the kubeconfigs of this module say; reading one takes half a second in a process of its own."""


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read no kubeconfig in this test."""

    async def load(kubeconfig: str, *, context: str) -> ClusterConfig:
        return CONFIGS[kubeconfig]

    monkeypatch.setattr("training_migration.cluster.load", load)


@asynccontextmanager
async def serving_objects(folder: Path, *objects: Json) -> AsyncIterator[tuple[str, ApiServer]]:
    """A server that has these objects, and a kubeconfig for it."""
    identity = server_identity(["127.0.0.1"])
    server = ApiServer(TYPES, lambda definition: (), rng=random.Random(1))
    async with server.running(), serving(server, identity, "token", host="127.0.0.1") as url:
        for each in objects:
            await created(server, each)
        write_kubeconfig(folder / "config", url, identity.authority, "token", name="there")
        tls = trusting(cadata=identity.authority.decode())
        CONFIGS[str(folder / "config")] = ClusterConfig(url, Fixed("Bearer token"), tls)
        yield str(folder / "config"), server


@asynccontextmanager
async def served(folder: Path, *objects: Json) -> AsyncIterator[str]:
    async with serving_objects(folder, *objects) as (kubeconfig, _):
        yield kubeconfig


async def created(server: ApiServer, obj: Json) -> Json:
    kind = next(each for each in TYPES if each.kind == obj["kind"])
    where = f"/namespaces/{obj['metadata']['namespace']}" if "namespace" in obj["metadata"] else ""
    root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    request = Request("POST", f"{root}{where}/{kind.plural}", body=json.dumps(obj).encode())
    answer = await InMemoryTransport(server).request(request)
    assert answer.status == 201, answer.body
    stored: Json = json.loads(answer.body)
    return stored


async def listed(kubeconfig: str, *namespaces: str, context: str = "") -> list[Document]:
    return await asyncio.to_thread(lambda: list(read_cluster(kubeconfig, context, namespaces or None)))


def namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def test_jobs_of_all_kinds_and_namespaces_come_as_they_were_given(tmp_path: Path) -> None:
    jobs = [_job("a", "one"), _job("b", "two"), _job("c", "two", kind="JAXJob")]
    async with served(tmp_path, namespace("one"), namespace("two"), *jobs) as kubeconfig:
        assert await listed(kubeconfig, context="there") == [Document("cluster", 0, each) for each in jobs]


@pytest.mark.usefixtures("at_once")
async def test_namespaces_may_be_chosen(tmp_path: Path) -> None:
    jobs = [_job("a", "one"), _job("b", "two"), _job("c", "two", kind="JAXJob")]
    async with served(tmp_path, namespace("one"), namespace("two"), *jobs) as kubeconfig:
        assert await listed(kubeconfig, "two") == [Document("cluster", 0, each) for each in jobs[1:]]


@pytest.mark.usefixtures("at_once")
async def test_lists_longer_than_a_page_are_read_to_their_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training_migration.cluster._PAGE", 2)
    jobs = [_job(f"j{number}", "one") for number in range(5)]
    async with served(tmp_path, namespace("one"), *jobs) as kubeconfig:
        assert [each.object for each in await listed(kubeconfig)] == jobs


@pytest.mark.usefixtures("at_once")
async def test_admitted_jobs_get_their_templates_back_from_kueues_workload(tmp_path: Path) -> None:
    job = _job("a", "one", **{QUEUE_LABEL: "q"})
    template = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "a", "uid": ""}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "one", "ownerReferences": [owner]},
        "spec": {"podSets": [{"name": "worker", "template": template}]},
    }
    async with serving_objects(tmp_path, namespace("one")) as (kubeconfig, server):
        owner["uid"] = (await created(server, admitted(job)))["metadata"]["uid"]
        [alone] = await listed(kubeconfig)
        assert alone.object is not None
        kept = alone.object["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
        assert kept["spec"]["nodeSelector"] == {"disk": "fast", "pool": "a"}, "without a Workload that is not known"
        await created(server, workload)
        assert await listed(kubeconfig) == [Document("cluster", 0, job)]


@pytest.mark.parametrize(
    ("context", "sentence"), [("nowhere", "nowhere"), ("there", "The cluster cannot be reached: ")]
)
async def test_a_cluster_that_cannot_be_reached_is_said_in_one_sentence(
    tmp_path: Path, context: str, sentence: str
) -> None:
    async with served(tmp_path) as kubeconfig:
        pass
    with pytest.raises(Failure, match=sentence) as raised:
        await listed(kubeconfig, context=context)
    assert raised.value.code is Exit.ENVIRONMENT


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


async def test_a_rejection_is_quoted(tmp_path: Path) -> None:
    async with served(tmp_path) as kubeconfig:
        change(Path(kubeconfig), "token: token", "token: another")
        with pytest.raises(Failure, match=r"pytorchjobs.kubeflow.org cannot be listed: Unauthorized\.$"):
            await listed(kubeconfig)


def test_what_a_server_adds_goes_and_what_users_write_stays() -> None:
    job = _job("a", "one", team="x")
    job["metadata"]["annotations"] = {"mine": "1"}
    stored = {**job, "status": {"conditions": []}}
    stored["metadata"] = {
        **job["metadata"],
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [],
        "annotations": {"mine": "1", "kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    assert clean(stored) == job
    assert stored["metadata"]["uid"] == "u", "what is given stays as it is"


def test_without_a_workload_what_bears_kueues_name_goes() -> None:
    job = _job("a", "one", **{QUEUE_LABEL: "q"})
    cleaned = clean(admitted(job))
    template = cleaned["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert template["metadata"] == {"labels": {"team": "x"}, "annotations": {}}
    assert "schedulingGates" not in template["spec"]
    assert cleaned["spec"]["runPolicy"] == {}


def test_a_job_without_a_queue_keeps_its_suspension() -> None:
    job = _job("a", "one")
    job["spec"]["runPolicy"]["suspend"] = True
    assert clean(job) == job


@pytest.mark.parametrize("broken", [{}, {"metadata": 3}, {"metadata": {"labels": [], "annotations": 1}, "spec": []}])
def test_what_is_no_job_at_all_is_left_to_others(broken: Json) -> None:
    assert clean(broken) == broken
    queued = {
        "kind": "PyTorchJob",
        "metadata": {"labels": {QUEUE_LABEL: "q"}},
        "spec": {"pytorchReplicaSpecs": {"W": 1}},
    }
    assert clean(queued) == queued


@pytest.mark.parametrize("verb", ["survey", "convert"])
def test_a_cluster_that_cannot_be_reached_has_a_status_of_its_own(verb: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(migrate, [verb, "--from-cluster", "--kubeconfig", str(tmp_path / "none")])
    assert result.exit_code == Exit.ENVIRONMENT
    assert Exit.ENVIRONMENT in BY_VERB[verb]
