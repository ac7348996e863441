"""The embedded API server with some job kinds, and operators in virtual time on it."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import yaml
from e2e.support.paths import ROOT
from unit_tests.operator.memory_api import MemoryApi, Network, now

from training_local.apiserver.crd import crd_types
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN
from training_operator.app import App
from training_operator.kube.transport import MERGE_PATCH, Request
from training_operator.settings import Settings

CRDS = ROOT / "crds"
SETTINGS = Settings(metrics_bind_address="0", health_probe_bind_address="0", operator_namespace="default")
JOBS = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs"
PODS = "/api/v1/namespaces/default/pods"


@cache
def crd(plural: str) -> Any:
    return yaml.load((CRDS / f"kubeflow.org_{plural}.yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


@cache
def job_types(plural: str) -> Sequence[ResourceType]:
    return crd_types(crd(plural))


class World(MemoryApi):
    """An API server with some of our CRDs."""

    def __init__(self, *plurals: str) -> None:
        super().__init__()
        types = [*BUILTIN, *(each for plural in plurals for each in job_types(plural))]
        self.server = ApiServer(types, crd_types, now=now, rng=random.Random(1))

    def app(self, network: Network | None = None, *, identity: str = "a", **settings: Any) -> App:
        return App(
            SETTINGS.model_copy(update=settings),
            network or self.network(),
            rng=random.Random(identity),
            now=now,
            identity=identity,
        )

    async def define(self, plural: str) -> None:
        await self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(plural))
        await asyncio.sleep(5)

    async def create(self, path: str, body: Any) -> Any:
        answer = await self.network().request(Request("POST", path, body=json.dumps(body).encode()))
        assert answer.status == 201, answer.body
        return json.loads(answer.body)

    async def patch(self, path: str, patch: Any) -> None:
        request = Request("PATCH", path, body=json.dumps(patch).encode(), content_type=MERGE_PATCH)
        assert (await self.network().request(request)).status == 200

    async def create_job(self, name: str = "sim", workers: int = 2) -> Any:
        container = {"name": "pytorch", "image": "x"}
        replicas = {"Worker": {"replicas": workers, "template": {"spec": {"containers": [container]}}}}
        spec = {"pytorchReplicaSpecs": replicas}
        job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": spec}
        return await self.create(JOBS, job)

    async def names(self, path: str = PODS) -> list[str]:
        return sorted(item["metadata"]["name"] for item in (await self.read(path))["items"])


@asynccontextmanager
async def world(*plurals: str) -> AsyncIterator[World]:
    made = World(*(plurals or ("pytorchjobs", "jaxjobs")))
    async with made.server.running():
        yield made
