"""Pods without processes: they are put on a node, and are in the state that the test says."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from e2e.support.simulation.api import Api, Json, Rejected

from training_operator.kube.transport import Request

NODE = "node-0"


class Kubelet:
    """Binds every pod, lets pods that are deleted go after `grace` seconds, and sets states on demand."""

    def __init__(self, api: Api, now: Callable[[], datetime], *, grace: float = 1.0) -> None:
        self._api = api
        self._now = now
        self._grace = grace
        self.node = NODE
        """Where new pods go."""
        self.dead: set[str] = set()
        """Nodes of which nothing is heard any more."""
        self._known: set[str] = set()
        self._leaving: set[str] = set()

    async def run(self) -> None:
        """Follow the pods of all namespaces."""
        async with asyncio.TaskGroup() as group:
            request = Request("GET", "/api/v1/pods", {"watch": "true"}, timeout=1e9)
            while True:
                async with self._api.transport.stream(request) as stream:
                    async for line in stream.lines:
                        event = json.loads(line)
                        if event["type"] in ("ADDED", "MODIFIED"):
                            self._on_pod(group, event["object"])

    def _on_pod(self, group: asyncio.TaskGroup, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            if uid not in self._leaving:
                self._leaving.add(uid)
                group.create_task(self._let_go(pod))
        elif uid not in self._known:
            self._known.add(uid)
            group.create_task(self._live(pod))

    async def _live(self, pod: Json) -> None:
        await self._bind(pod)

    async def _bind(self, pod: Json) -> None:
        meta = pod["metadata"]
        binding = {"metadata": {"name": meta["name"]}, "target": {"kind": "Node", "name": self.node}}
        with contextlib.suppress(Rejected):
            await self._api.send("POST", self._api.path("Pod", meta["name"], "binding", meta["namespace"]), binding)

    async def _let_go(self, pod: Json) -> None:
        await asyncio.sleep(self._grace)
        meta = pod["metadata"]
        await self._heard_of(pod)
        with contextlib.suppress(Rejected):
            await self._api.delete(
                "Pod", meta["name"], meta["namespace"], gracePeriodSeconds=0, preconditions={"uid": meta["uid"]}
            )

    async def _heard_of(self, pod: Json) -> None:
        """Wait until the pod's node is heard of again."""
        while pod["spec"].get("nodeName") in self.dead:  # noqa: ASYNC110 - tests change the set, in virtual time
            await asyncio.sleep(1)

    async def running(self, *names: str, restarts: int = 0) -> None:
        """These pods run and are ready."""
        for name in names:
            await self._set_phase(name, "Running", {"running": {"startedAt": self._time()}}, restarts)

    async def ended(self, name: str, code: int = 0) -> None:
        """All containers of the pod have ended with this exit code."""
        ended = {
            "exitCode": code,
            "reason": "Error" if code else "Completed",
            "finishedAt": self._time(),
            "startedAt": self._time(),
        }
        await self._set_phase(name, "Failed" if code else "Succeeded", {"terminated": ended})

    async def _set_phase(self, name: str, phase: str, state: Json, restarts: int = 0) -> None:
        pod = await self._api.get("Pod", name)
        assert pod is not None, f"there is no pod {name}"
        await self.set_status(pod, phase, state, restarts)

    async def set_status(self, pod: Json, phase: str, state: Json, restarts: int = 0) -> Json:
        """Write the pod's status, with all containers in one state; returns the pod as stored."""
        running = phase == "Running"
        status: dict[str, Any] = {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": str(running)}],
            "containerStatuses": [
                {
                    "name": container["name"],
                    "image": container["image"],
                    "imageID": "",
                    "ready": running,
                    "restartCount": restarts,
                    "state": state,
                }
                for container in pod["spec"]["containers"]
            ],
        }
        meta = pod["metadata"]
        patch = {"metadata": {"uid": meta["uid"]}, "status": status}
        return await self._api.patch("Pod", meta["name"], patch, "status", meta["namespace"])

    def _time(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
