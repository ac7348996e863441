"""A job whose pods run on a node, as far as the API server knows; the test is the kubelet."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from e2e.harness.client import Api, Object, eventually
from e2e.harness.jobs import REPLICAS, Namespace, job

NODES = "/api/v1/nodes"
ANNOTATION = "extension.training.kubeflow.org/disruptions"
NAME = "train"
"""Name of the job."""


@asynccontextmanager
async def ready_node(api: Api) -> AsyncIterator[str]:
    """The name of a node that is ready, as far as anybody says."""
    name = f"e2e-{secrets.token_hex(4)}"
    await api.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
    await set_ready(api, name, "True")
    yield name
    await api.delete(f"{NODES}/{name}")


async def set_ready(api: Api, node: str, status: str) -> None:
    """Say of a node that it is ready ("True"), is not ("False"), or is unknown."""
    since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": status, "reason": "Test", "message": "", "lastTransitionTime": since}
    await api.patch(f"{NODES}/{node}/status", {"status": {"conditions": [ready]}})


class Scene:
    """A job whose pods are on a node and run."""

    def __init__(self, api: Api, namespace: str, node: str) -> None:
        self.api, self.node, self.jobs = api, node, Namespace(api, namespace)
        self.body: Object = {}
        self._core = f"/api/v1/namespaces/{namespace}"

    async def start(self, body: Object) -> None:
        """Create the job; its pods run on the node."""
        self.body = body
        await self.jobs.create(body)
        await self.jobs.placed(body)
        await self.place()
        await self.jobs.condition(self.body, "Running")

    async def place(self) -> None:
        """Put the pods that have no node on it, and let them run."""
        for pod in await self.jobs.pods(NAME):
            if "nodeName" in pod["spec"]:
                continue
            name = pod["metadata"]["name"]
            binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}}
            target = {"apiVersion": "v1", "kind": "Node", "name": self.node}
            await self.api.create(self.pod(name, "binding"), {**binding, "target": target})
            await self.api.patch(self.pod(name, "status"), {"status": {"phase": "Running"}})

    async def evict(self, name: str) -> None:
        """Ask for the eviction of a pod, as `kubectl drain` and autoscalers do."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await self.api.create(self.pod(name, "eviction"), eviction)

    async def stopped(self, name: str) -> None:
        """Say for the kubelet that a pod's containers have ended."""
        await self.api.call("DELETE", self.pod(name), {"gracePeriodSeconds": 0})

    def pod(self, name: str, subresource: str = "") -> str:
        return f"{self._core}/pods/{name}" + (f"/{subresource}" if subresource else "")

    async def uid(self, name: str) -> str:
        return str((await self.api.call("GET", self.pod(name)))["metadata"]["uid"])

    async def replaced(self, name: str, before: str) -> None:
        """Wait for another pod of the name, which runs then."""

        async def has_changed() -> bool:
            pod = await self.api.get(self.pod(name))
            return pod is not None and pod["metadata"]["uid"] != before and "deletionTimestamp" not in pod["metadata"]

        await eventually(has_changed, f"another pod {name}")

    async def event(self, reason: str) -> str:
        """The message of the only event with this reason, once it is there."""
        path = f"{self._core}/events?fieldSelector=reason={reason}"

        async def told() -> list[Object]:
            return list((await self.api.call("GET", path))["items"])

        (only,) = await eventually(told, f"an event {reason}")
        assert only.get("count", 1) == 1
        return str(only["message"])

    @property
    def path(self) -> str:
        """Path of the job."""
        return self.jobs.path(self.body)

    async def status(self) -> Any:
        return (await self.api.call("GET", self.path))["status"]

    async def patch(self, patch: Object) -> None:
        await self.api.patch(self.path, patch)


def training(kind: str, policy: str, mode: str = "") -> Object:
    """A job of that kind with two workers and, where the kind has one, a master."""
    body = job(NAME, kind, Worker=2) if kind == "JAXJob" else job(NAME, kind, Master=1, Worker=2)
    body["metadata"]["annotations"] = {ANNOTATION: mode} if mode else {}
    for spec in body["spec"][REPLICAS[kind]].values():
        spec["restartPolicy"] = policy
    return body
