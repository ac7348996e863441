"""MPIJobs on the local cluster, and what their launchers print: for tests and for `python -m e2e.bench.mpi`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.harness.client import Api, Object, eventually
from e2e.harness.local_up import LocalUp

JOBS = "/apis/kubeflow.org/v1/namespaces/default/mpijobs"
PODS = "/api/v1/namespaces/default/pods"
OVER_SSH = {"extension.training.kubeflow.org/mpi-launch": "ssh"}
NOTHING_LEFT = 60.0
"""Seconds in which the pods of a deleted job must be gone."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that has ended."""

    conditions: Sequence[str]
    """Types of its conditions that are True."""
    seconds: float
    """From its creation until its end was seen."""
    restarts: int
    """Restarts of the launcher's container."""
    log: str
    """What the launcher printed since its last restart."""


def mpi_job(
    name: str, command: Sequence[str], *, workers: int, python: Path, annotations: dict[str, str] | None = None
) -> Object:
    """A job whose launcher runs `command`; pods find `python` first."""
    launcher = {"name": "mpi", "image": "none", "command": list(command)}
    worker = {"name": "mpi", "image": "none"}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "MPIJob",
        "metadata": {
            "name": name,
            "annotations": {"training-operator.local/python": str(python), **(annotations or {})},
        },
        "spec": {
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": template(launcher)},
                "Worker": {"replicas": workers, "template": template(worker)},
            }
        },
    }


def template(container: Object) -> Object:
    """A pod template whose pods end at once: `sleep`, v1's worker, does not listen to the signal that asks it to."""
    return {"spec": {"containers": [container], "terminationGracePeriodSeconds": 0}}


async def play(cluster: LocalUp, api: Api, job: Object, limit: float = 60.0) -> Ended:
    """Create the job, wait for its end, and remove it with its pods."""
    name = job["metadata"]["name"]
    begun = time.monotonic()
    await api.create(JOBS, job)

    async def ended() -> Sequence[str] | None:
        found = await api.get(f"{JOBS}/{name}") or {}
        true = [each["type"] for each in found.get("status", {}).get("conditions", []) if each["status"] == "True"]
        return true if {"Succeeded", "Failed"} & {*true} else None

    try:
        conditions = await eventually(ended, f"the end of {name}", limit, poll=0.02)
        seconds = time.monotonic() - begun
        launcher = await api.get(f"{PODS}/{name}-launcher")
        assert launcher is not None, f"{name} has no launcher"
        restarts = launcher["status"]["containerStatuses"][0]["restartCount"]
        kubectl = cluster.cluster
        return Ended(conditions, seconds, restarts, kubectl.run_kubectl("logs", f"{name}-launcher"))
    finally:
        await api.delete(f"{JOBS}/{name}")
        await eventually(lambda: _no_pods(api, name), f"{name} is gone", NOTHING_LEFT)


async def _no_pods(api: Api, name: str) -> bool:
    found = await api.call("GET", f"{PODS}?labelSelector=training.kubeflow.org/job-name={name}")
    return not found["items"]
