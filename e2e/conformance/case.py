"""Play one scripted case against an operator and record what it does."""

from __future__ import annotations

import asyncio
import copy
import secrets
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml
from e2e.conformance.activity import Activity
from e2e.conformance.compare import Record, Snapshot
from e2e.conformance.snapshot import take
from e2e.harness.client import Api, ApiError, Object
from e2e.harness.jobs import PLURALS

FOLDER = Path(__file__).parent / "cases"
LABEL_PREFIX = "training.kubeflow.org/"
QUIET = 1.2
"""Seconds without any change after which a state counts as settled; a step may ask for more."""
PATIENCE = 20.0
"""Seconds for a settled state to become as meant: a busy machine posts its events late."""
CORE_PLURALS = {
    "ConfigMap": "configmaps",
    "Service": "services",
    "Pod": "pods",
    "ServiceAccount": "serviceaccounts",
    "Secret": "secrets",
    "PersistentVolumeClaim": "persistentvolumeclaims",
}
REJECTIONS = (400, 403, 422)
"""By schema, rule or webhook: that a job is rejected is part of the recording, by whom and in which words is not."""
START, END = "2026-01-01T00:00:00Z", "2026-01-01T00:00:10Z"


def case_names(globs: Iterable[str]) -> list[str]:
    """Names of the cases that match one of the globs."""
    return sorted(path.stem for glob in globs for path in FOLDER.glob(f"{glob}.yaml"))


class Case:
    """One case in a namespace of its own."""

    def __init__(self, api: Api, activity: Activity, name: str, as_meant: Callable[[Snapshot], bool]) -> None:
        script = yaml.safe_load((FOLDER / f"{name}.yaml").read_text())
        self.name = name
        self.namespace = f"conformance-{secrets.token_hex(4)}"
        self._api, self._activity, self._as_meant = api, activity, as_meant
        self._objects: list[Object] = script.get("objects", [])
        self._steps: list[dict[str, Any]] = script.get("steps", [])
        self._job: Object = copy.deepcopy(script["job"])
        self._job["metadata"]["namespace"] = self.namespace
        self._core = f"/api/v1/namespaces/{self.namespace}"
        plural = PLURALS[self._job["kind"]]
        self._jobs = f"/apis/{self._job['apiVersion']}/namespaces/{self.namespace}/{plural}"
        self._job_path = f"{self._jobs}/{self._job['metadata']['name']}"

    async def record(self) -> Record:
        """Create the job, take every step, and return the states in between."""
        await self._api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        try:
            for thing in self._objects:
                await self._api.create(f"{self._core}/{CORE_PLURALS[thing['kind']]}", thing)
            try:
                await self._api.create(self._jobs, self._job)
            except ApiError as error:
                if error.status not in REJECTIONS:
                    raise
                return {"case": self.name, "rejected": True, "snapshots": []}
            return {"case": self.name, "rejected": False, "snapshots": await self._play()}
        finally:
            await self._api.delete(self._job_path)
            await self._api.delete(self._core)

    async def _play(self) -> list[Snapshot]:
        snapshots = [await self._snapshot("created", QUIET)]
        for number, step in enumerate(self._steps, 1):
            await self._act(step)
            label = step.get("name") or next(key for key in step if key != "name")
            snapshots.append(await self._snapshot(f"{number} {label}", step.get("settle", QUIET)))
        return snapshots

    async def _snapshot(self, step: str, quiet: float) -> Snapshot:
        """The state once nothing changes any more; what then differs from what is meant may still be on its way."""
        end = time.monotonic() + PATIENCE
        while True:
            snapshot = {"step": step, "state": await self._settled(quiet)}
            if self._as_meant(snapshot) or time.monotonic() > end:
                return snapshot

    async def _settled(self, quiet: float) -> dict[str, Any]:
        while True:
            touched = await self._activity.rest(self.namespace, quiet)
            state = await take(self._api, self.namespace, self._job_path)
            if self._activity.last(self.namespace) == touched:  # else it changed while it was read
                return state

    async def _act(self, step: dict[str, Any]) -> None:
        if "pods" in step:
            await self._set_pods(step["pods"])
        if "patch" in step:
            await self._api.patch(self._job_path, step["patch"])
        if "deletePod" in step:
            for pod in await self._matching(step["deletePod"]):
                await self._api.call("DELETE", f"{self._core}/pods/{pod['metadata']['name']}")
        if "deleteJob" in step:
            await self._api.delete(self._job_path)
        if "wait" in step:
            await asyncio.sleep(step["wait"])

    async def _set_pods(self, wanted: dict[str, Any]) -> None:
        for pod in await self._matching(wanted):
            try:
                await self._api.patch(
                    f"{self._core}/pods/{pod['metadata']['name']}/status", {"status": pod_status(pod, wanted)}
                )
            except ApiError as error:
                if error.status not in (404, 422):  # gone meanwhile, or a transition that the API rejects
                    raise

    async def _matching(self, selector: dict[str, Any]) -> list[Object]:
        labels = {LABEL_PREFIX + key: value for key, value in (selector.get("match") or {}).items()}
        pods = await self._api.call("GET", f"{self._core}/pods")
        return [pod for pod in pods["items"] if labels.items() <= pod["metadata"].get("labels", {}).items()]


def pod_status(pod: Object, wanted: dict[str, Any]) -> dict[str, Any]:
    """The status that a node would report for a pod in the phase `wanted["phase"]`."""
    phase = wanted["phase"]
    running = phase == "Running"
    exit_codes = [_exit_code(wanted), *(0 for _ in pod["spec"]["containers"][1:])]
    status: dict[str, Any] = {
        "phase": phase,
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": running,
                "started": running,
                "restartCount": wanted.get("restartCount", 0),
                "state": _container_state(phase, exit_code, wanted.get("reason")),
            }
            for container, exit_code in zip(pod["spec"]["containers"], exit_codes, strict=True)
        ],
    }
    if "podReason" in wanted:
        status["reason"] = wanted["podReason"]
    if running:
        status["startTime"] = START
        status["conditions"] = [{"type": "Ready", "status": "True", "lastTransitionTime": START}]
    return status


def _exit_code(wanted: dict[str, Any]) -> int:
    code: int = wanted.get("exitCode", 1 if wanted["phase"] == "Failed" else 0)
    return code


def _container_state(phase: str, exit_code: int, reason: str | None) -> dict[str, Any]:
    match phase:
        case "Running":
            return {"running": {"startedAt": START}}
        case "Succeeded" | "Failed":
            reason = reason or ("Error" if exit_code else "Completed")
            return {"terminated": {"exitCode": exit_code, "reason": reason, "startedAt": START, "finishedAt": END}}
    return {"waiting": {"reason": "ContainerCreating"}}
