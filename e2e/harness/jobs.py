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


def elastic(name: str, workers: int = 2) -> Object:
    """A PyTorchJob that an autoscaler scales, to three workers at most."""
    body = job(name, Worker=workers)
    body["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3, "metrics": [METRIC]}
    return body


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

    def path(self, body: Object) -> str:
        """Path of a job."""
        return f"{self.jobs(body['kind'])}/{body['metadata']['name']}"

    async def create(self, body: Object) -> None:
        """Create a job."""
        await self.api.create(self.jobs(body["kind"]), body)

    async def pods(self, job_name: str, leaving: bool = False) -> list[Object]:
        """The pods of a job by name; those that are being deleted only if `leaving`."""
        path = f"{self._core}/pods?labelSelector=training.kubeflow.org/job-name={job_name}"
        found = (await self.api.call("GET", path))["items"]
        return [pod for pod in found if leaving or "deletionTimestamp" not in pod["metadata"]]

    async def pods_reach(self, job_name: str, count: int, limit: float = 30.0) -> list[Object]:
        """The pods of a job, once it has exactly `count`."""

        async def reached() -> tuple[list[Object]] | None:
            pods = await self.pods(job_name)
            return (pods,) if len(pods) == count else None

        (found,) = await eventually(reached, f"{count} pods of {job_name}", limit)
        return found

    async def placed(self, body: Object, limit: float = 30.0) -> list[Object]:
        """The pods of a job, once it has all of them."""
        replicas = body["spec"][REPLICAS[body["kind"]]].values()
        return await self.pods_reach(body["metadata"]["name"], sum(spec["replicas"] for spec in replicas), limit)

    async def set_phase(self, job_name: str, phase: str) -> None:
        """Move all pods of a job to a phase."""
        await self.set_status(job_name, {"phase": phase})

    async def set_status(self, job_name: str, status: Object) -> None:
        """Write the status of all pods of a job, as a node would; one that decides the job may end the others."""
        for pod in await self.pods(job_name):
            path = f"{self._core}/pods/{pod['metadata']['name']}/status"
            try:
                await self.api.patch(path, {"status": status})
            except ApiError as error:
                if error.status != 404:
                    raise

    async def condition(self, body: Object, type_: str, limit: float = 30.0) -> dict[str, Any]:
        """Wait until a condition of the job is True, and return it."""
        path = self.path(body)

        async def found() -> dict[str, Any] | None:
            status = (await self.api.call("GET", path)).get("status", {})
            return next((c for c in status.get("conditions", ()) if (c["type"], c["status"]) == (type_, "True")), None)

        return await eventually(found, f"condition {type_} of {path}", limit)

    async def waits(self, body: Object, reason: str | None, text: str = "", limit: float = 30.0) -> Object:
        """`status.waiting` of a job, once it has this reason, or none, and `text` is in its message."""
        path = self.path(body)

        async def found() -> tuple[Object] | None:
            waiting = (await self.api.call("GET", path)).get("status", {}).get("waiting", {})
            return (waiting,) if waiting.get("reason") == reason and text in waiting.get("message", "") else None

        (waiting,) = await eventually(found, f"status.waiting.reason {reason} with {text!r} of {path}", limit)
        return waiting

    async def run_to_success(self, body: Object) -> None:
        """Create a job, play its node, and see it succeed: the operator does its work."""
        name = body["metadata"]["name"]
        await self.create(body)
        await self.placed(body)
        await self.set_phase(name, "Running")
        await self.condition(body, "Running")
        await self.set_phase(name, "Succeeded")
        await self.condition(body, "Succeeded")


async def log_line(read: Callable[[], str], text: str, limit: float = 30.0) -> str:
    """Wait for a whole line with `text` in what `read` returns."""

    async def found() -> str | None:
        return next((line for line in read().splitlines(keepends=True) if text in line and line.endswith("\n")), None)

    return await eventually(found, f"a log line with {text!r} in:\n{await asyncio.to_thread(read)}", limit)
