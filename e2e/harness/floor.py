"""What the API server itself can do: the operator's own client, and the objects that the operator makes with it."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from e2e.harness.client import Api, Object
from e2e.harness.cluster import Cluster

from training_operator.kube.client import KubeClient
from training_operator.kube.config import load
from training_operator.kube.flow import AdaptiveLimit, FairGate
from training_operator.kube.http import HttpTransport
from training_operator.kube.resources import PODS, SERVICES, Resource

AT_ONCE = 32
Objects = list[tuple[Resource[Any], Object]]


@asynccontextmanager
async def fast_client(cluster: Cluster, at_once: int = AT_ONCE) -> AsyncIterator[KubeClient]:
    """The operator's own client, so many requests at a time: nothing between it and the server."""
    transport = HttpTransport(await load(str(cluster.kubeconfig)))
    try:
        yield KubeClient(transport, FairGate(AdaptiveLimit(at_once, at_once)), random.Random(0))
    finally:
        await transport.close()


async def create_all(client: KubeClient, namespace: str, objects: Objects) -> None:
    """Create the objects with as few tasks as requests: of thousands, the garbage collector would take a third."""
    left = deque(objects)

    async def work() -> None:
        while left:
            resource, body = left.popleft()
            await client.create(resource, namespace, body)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(work())


async def made_in(api: Api, namespace: str) -> Objects:
    """The services and pods of a namespace as they were sent, to be created once more."""
    made: Objects = []
    for resource in (SERVICES, PODS):
        found = await api.call("GET", resource.path(namespace))
        made += [(resource, _as_created(item)) for item in found["items"]]
    return made


def _as_created(item: Object) -> Object:
    """The object without what the server has filled in."""
    metadata = {
        key: item["metadata"][key]
        for key in ("name", "labels", "annotations", "ownerReferences")
        if key in item["metadata"]
    }
    spec = {key: value for key, value in item["spec"].items() if key != "clusterIPs"}
    return {"metadata": metadata, "spec": spec}
