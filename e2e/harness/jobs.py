"""Jobs for tests, and the part of a node that they need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from e2e.harness.client import Api, ApiError, Object, eventually
from e2e.support.every_kind import EVERY_KIND, lead

from training_api.registry import KINDS

PLURALS = {kind: info.plural for kind, info in KINDS.items()}
REPLICAS = {kind: info.replica_field for kind, info in EVERY_KIND.items()}
CONTAINERS = {kind: info.container for kind, info in EVERY_KIND.items()}
NO_SCHEDULER = "nobody"
"""Pods wait for a scheduler of this name for ever, so that a cluster with nodes does not run them."""

METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
"""What an elastic job is scaled by."""


def job(name: str, kind: str = "PyTorchJob", *, arguments: tuple[str, ...] = (), **replicas: int) -> Object:
    """A job with so many replicas of each type, for example `job("a", Master=1, Worker=2)`."""
    container = {"name": CONTAINERS[kind], "image": "example.com/train:1", "args": list(arguments)}
    template = {"spec": {"schedulerName": NO_SCHEDULER, "containers": [container]}}
    specs = {
        replica_type: {"replicas": count, "restartPolicy": "Never", "template": template}
        for replica_type, count in replicas.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"runPolicy": {"cleanPodPolicy": "None"}, REPLICAS[kind]: specs},
    }


def typical(name: str, kind: str, workers: int = 1) -> Object:
    """A job with workers and what leads them."""
    replicas: dict[str, Any] = {lead(kind): 1} | {"Worker": workers}
    return job(name, kind, **replicas)


def master_pod(name: str, kind: str) -> str:
    """The name of the pod that has the role of the master."""
    return f"{name}-launcher" if kind == "MPIJob" else f"{name}-{lead(kind).lower()}-0"


class Namespace:
    """What tests do with the jobs and pods of one namespace."""

    def __init__(self, api: Api, name: str) -> None:
        self.api = api
        self.name = name
        self._core = f"/api/v1/namespaces/{name}"

    def jobs(self, kind: str) -> str:
        """Path of the jobs of a kind."""
        return f"/apis/kubeflow.org/v1/namespaces/{self.name}/{EVERY_KIND[kind].plural}"

    async def create(self, body: Object) -> None:
        """Create a job."""
        await self.api.create(self.jobs(body["kind"]), body)

    async def pods(self, job_name: str, leaving: bool = False) -> list[Object]:
        """The pods of a job by name; those that are being deleted only if `leaving`."""
        path = f"{self._core}/pods?labelSelector=training.kubeflow.org/job-name={job_name}"
        found = (await self.api.call("GET", path))["items"]
        return [pod for pod in found if leaving or "deletionTimestamp" not in pod["metadata"]]

    async def pods_reach(self, job_name: str, count: int, limit: float = 30.0) -> None:
        """Wait until the job has exactly `count` pods."""

        async def reached() -> bool:
            return len(await self.pods(job_name)) == count

        await eventually(reached, f"{count} pods of {job_name}", limit)

    async def set_phase(self, job_name: str, phase: str) -> None:
        """Move all pods of a job to a phase, as a node would; one that decides the job may end the others."""
        for pod in await self.pods(job_name):
            path = f"{self._core}/pods/{pod['metadata']['name']}/status"
            try:
                await self.api.patch(path, {"status": {"phase": phase}})
            except ApiError as error:
                if error.status != 404:
                    raise

    async def condition(self, body: Object, type_: str, limit: float = 30.0) -> dict[str, Any]:
        """Wait until a condition of the job is True, and return it."""
        path = f"{self.jobs(body['kind'])}/{body['metadata']['name']}"

        async def found() -> dict[str, Any] | None:
            status = (await self.api.call("GET", path)).get("status", {})
            return next((c for c in status.get("conditions", ()) if (c["type"], c["status"]) == (type_, "True")), None)

        return await eventually(found, f"condition {type_} of {path}", limit)

    async def run_to_success(self, body: Object) -> None:
        """Create a job, play its node, and see it succeed: the operator does its work."""
        name = body["metadata"]["name"]
        replicas = body["spec"][REPLICAS[body["kind"]]].values()
        await self.create(body)
        await self.pods_reach(name, sum(spec["replicas"] for spec in replicas))
        await self.set_phase(name, "Running")
        await self.condition(body, "Running")
        await self.set_phase(name, "Succeeded")
        await self.condition(body, "Succeeded")


async def log_line(read: Callable[[], str], text: str, limit: float = 30.0) -> str:
    """Wait for a line with `text` in what `read` returns."""

    async def found() -> str | None:
        return next((line for line in read().splitlines() if text in line), None)

    return await eventually(found, f"a log line with {text!r} in:\n{await asyncio.to_thread(read)}", limit)
