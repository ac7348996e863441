"""One run of an example on a cluster, and what became of it."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from asyncio.subprocess import DEVNULL
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.conformance.case import CORE_PLURALS
from e2e.harness.client import Api, ApiError, Object, eventually
from e2e.harness.jobs import PLURALS
from e2e.harness.operator import PROGRAM
from e2e.training.examples import Example

LIMIT = 180.0
"""Seconds in which a job must end; on an idle machine the slowest needs ten."""
REPORT = '{"rank"'
"""Begin of the line in which a rank tells its results; torchrun puts words before it."""
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job that has ended."""

    condition: Object
    """The condition Succeeded or Failed."""
    status: Object
    """The status of the job."""
    logs: dict[str, str]
    """What the containers printed in their last attempt, by pod."""

    @property
    def text(self) -> str:
        """Everything for the message of a failed assertion."""
        told = "\n".join(f"--- {pod}\n{log[-4000:]}" for pod, log in self.logs.items())
        return f"{self.condition}\n{told}"

    @property
    def reports(self) -> list[Report]:
        """What ranks tell of their results, by rank; launchers may print two ranks' reports on one line."""
        decode = json.JSONDecoder().raw_decode
        found = [decode(log, at.start())[0] for log in self.logs.values() for at in re.finditer(re.escape(REPORT), log)]
        return sorted(found, key=lambda report: int(report["rank"]))

    def check_trained(self, world_size: int, fall: float = 10.0, *, own_host_names: bool = True) -> None:
        """Every rank of so many took part once, its loss fell by that factor, and all ended with one model."""
        assert self.condition["type"] == "Succeeded", self.text
        reports = self.reports
        assert [report["rank"] for report in reports] == list(range(world_size)), self.text
        assert [report["worldSize"] for report in reports] == [world_size] * world_size, self.text
        hosts = {report["host"] for report in reports}
        assert len(hosts) == world_size or not own_host_names, f"ranks share a pod: {self.text}"
        for report in reports:
            assert report["lastLoss"] < report["firstLoss"] / fall, report
        assert len({report["weights"] for report in reports}) == 1, f"models differ: {reports}"


class Run:
    """A job created from an example, in a namespace of its own."""

    def __init__(self, kubeconfig: Path, api: Api, example: Example) -> None:
        self.kubeconfig, self.api, self.example = kubeconfig, api, example
        self.namespace = f"train-{secrets.token_hex(4)}"
        self.core = f"/api/v1/namespaces/{self.namespace}"
        plural = PLURALS[example.job["kind"]]
        self.path = f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/{plural}"

    async def start(self) -> None:
        """Create the namespace and all objects of the example."""
        await self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        for each in self.example.others:
            await self.api.create(f"{self.core}/{CORE_PLURALS[each['kind']]}", each)
        await self.api.create(self.path, self.example.job)

    async def pods(self) -> list[Object]:
        """The pods of the job."""
        selector = f"training.kubeflow.org/job-name={self.example.name}"
        return list((await self.api.call("GET", f"{self.core}/pods?labelSelector={selector}"))["items"])

    async def status(self) -> Object:
        """The status of the job, empty in the beginning."""
        return dict((await self.api.call("GET", f"{self.path}/{self.example.name}")).get("status", {}))

    async def execute(self, pod: str, script: str) -> None:
        """Run a shell script in the container of a pod, whatever becomes of it."""
        where = [f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}"]
        command: list[str | Path] = [PROGRAM, "local", "shell", *where, pod, "--", "sh", "-c", script]
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        await process.wait()

    async def log(self, pod: str) -> str:
        """What the pod's first container has printed in its present attempt; empty before it runs."""
        found = await self.api.get(f"{self.core}/pods/{pod}")
        [first, *_] = (found or {}).get("status", {}).get("containerStatuses") or [{"state": {}}]
        begun = {"running", "terminated"} & first["state"].keys()
        return await self.api.text(f"{self.core}/pods/{pod}/log?container={first['name']}") if begun else ""

    async def end(self, limit: float = LIMIT) -> Outcome:
        """Wait until the job has Succeeded or Failed."""
        status: Object = {}

        async def ended() -> Object | None:
            nonlocal status
            status = await self.status()
            over = [c for c in status.get("conditions", ()) if c["type"] in ("Succeeded", "Failed")]
            return next((c for c in over if c["status"] == "True"), None)

        try:
            condition = await eventually(ended, f"end of {self.example.name}", limit)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{Outcome({}, status, await self._logs()).text}") from None
        return Outcome(condition, status, await self._logs())

    async def again(self, steps: int) -> Outcome:
        """Start the same job anew, with its volumes and up to this step, and wait for its end."""
        await self.api.delete(f"{self.path}/{self.example.name}")

        async def gone() -> bool:
            return not await self.pods()

        await eventually(gone, "end of the first job's pods", 60)
        self.example.override(STEPS=str(steps))
        await self.api.create(self.path, self.example.job)
        return await self.end()

    async def _logs(self) -> dict[str, str]:
        names = [pod["metadata"]["name"] for pod in await self.pods()]
        return {name: await self.log(name) for name in names}

    async def remove(self) -> None:
        """Delete the job, then the namespace; nothing of it may go on running."""
        await self.api.delete(f"{self.path}/{self.example.name}")

        async def gone() -> bool:
            for pod in (left := await self.pods()):
                # The workers of MPI wait as process 1 and take no notice of SIGTERM.
                with suppress(ApiError):
                    path = f"{self.core}/pods/{pod['metadata']['name']}"
                    await self.api.call("DELETE", path, {"gracePeriodSeconds": 0})
            return not left

        await eventually(gone, f"end of the pods of {self.example.name}", 60)
        await self.api.delete(f"/api/v1/namespaces/{self.namespace}")
