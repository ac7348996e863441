"""The stand-in for Job and JobSet on a cluster that has neither: which pods it makes, replaces and deletes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_migration.rendering import RenderedPod, Rendering
from training_migration.runs.api import Api
from training_migration.runs.job_ends import SetEnd, State
from training_migration.runs.jobset import JobSetPlay, playable
from training_migration.runs.sightings import Sightings, trouble_of
from training_operator.kube.transport import MERGE_PATCH, Request

Json = dict[str, Any]
LIMIT = 20.0


def rendering(*roles: Json, **fields: Any) -> Rendering:
    """A JobSet with two pods of each role."""
    pods = []
    for role in roles:
        for index in range(2):
            name = f"job-{role['name']}-0-{index}"
            metadata = {"name": f"{name}-abcde", "namespace": "default", "ownerReferences": [{"uid": "gone"}]}
            pod = {"metadata": metadata, "spec": {"containers": [{"name": "node", "image": "i"}]}}
            pods.append(RenderedPod(role["name"], index, "node", f"{name}.job", pod))
    replicated = [{"template": {"spec": {"backoffLimit": 1, **job()}}, **role} for role in roles]
    spec = {"replicatedJobs": replicated, **fields}
    return Rendering(({"kind": "JobSet", "metadata": {"name": "job"}, "spec": spec},), tuple(pods))


def job() -> Json:
    return {"template": {"spec": {"restartPolicy": "Never"}}}


class Stage:
    """An API server without a node: pods end when the test says so."""

    def __init__(self, transport: InMemoryTransport) -> None:
        self.transport, self.api = transport, Api(transport)

    async def pods(self, wanted: Callable[[list[str]], bool]) -> list[str]:
        """Wait until the names of the pods are as wanted; return them."""
        async with asyncio.timeout(LIMIT):
            while True:
                names = sorted(each["metadata"]["name"] for each in await self.api.listed("v1", "Pod", "default"))
                if wanted(names):
                    return names
                await asyncio.sleep(0)

    async def end(self, name: str, code: int = 0) -> None:
        state = {"terminated": {"exitCode": code}}
        status = {"phase": "Failed" if code else "Succeeded", "containerStatuses": [{"name": "node", "state": state}]}
        await self._patch(name, status)

    async def ready(self, name: str) -> None:
        await self._patch(name, {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})

    async def _patch(self, name: str, status: Json) -> None:
        path, body = f"/api/v1/namespaces/default/pods/{name}/status", json.dumps({"status": status}).encode()
        answer = await self.transport.request(Request("PATCH", path, body=body, content_type=MERGE_PATCH))
        assert answer.status == 200, answer.body


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    api = ApiServer(BUILTIN, crd_types)
    async with api.running():
        yield Stage(InMemoryTransport(api))


@pytest.fixture
async def play(stage: Stage) -> AsyncIterator[Callable[[Rendering], asyncio.Task[SetEnd]]]:
    """Start playing a rendering."""
    sightings = Sightings(stage.api, "default")
    tasks: list[asyncio.Task[Any]] = [asyncio.create_task(sightings.run())]

    def started(given: Rendering) -> asyncio.Task[SetEnd]:
        task = asyncio.create_task(JobSetPlay(stage.api, given, sightings, pause=0.0).run())
        tasks.append(task)
        return task

    yield started
    for task in tasks:
        task.cancel()


Play = Callable[[Rendering], "asyncio.Task[SetEnd]"]
BOTH = ["job-node-0-0-abcde", "job-node-0-1-abcde"]


async def test_a_set_is_complete_when_all_its_pods_have_succeeded(stage: Stage, play: Play) -> None:
    end = play(rendering({"name": "node"}))
    for name in await stage.pods(lambda names: names == BOTH):
        await stage.end(name)
    assert (await asyncio.wait_for(end, LIMIT)).state is State.COMPLETE
    assert await stage.pods(lambda _: True) == BOTH, "what has ended stays"


async def test_a_failed_pod_is_replaced_until_the_limit(stage: Stage, play: Play) -> None:
    end = play(rendering({"name": "node"}))
    await stage.pods(lambda names: names == BOTH)
    await stage.end(BOTH[0], 1)
    second = f"{BOTH[0]}-2"
    await stage.pods(lambda names: names == sorted([*BOTH, second]))
    await stage.end(second, 1)
    judged = await asyncio.wait_for(end, LIMIT)
    assert (judged.state, judged.reason) == (State.FAILED, "FailedJobs")
    assert "node: BackoffLimitExceeded" in judged.message
    await stage.pods(lambda names: names == sorted([BOTH[0], second]))  # what still ran has gone


async def test_a_dependent_job_waits_until_the_other_is_ready(stage: Stage, play: Play) -> None:
    needs = {"name": "launcher", "dependsOn": [{"name": "node", "status": "Ready"}]}
    policy = {"operator": "All", "targetReplicatedJobs": ["launcher"]}
    end = play(rendering({"name": "node"}, needs, successPolicy=policy))
    await stage.pods(lambda names: names == BOTH)
    await stage.ready(BOTH[0])
    assert await stage.pods(lambda _: True) == BOTH
    await stage.ready(BOTH[1])
    launchers = (await stage.pods(lambda names: len(names) == 4))[:2]
    for name in launchers:
        await stage.end(name)
    assert (await asyncio.wait_for(end, LIMIT)).state is State.COMPLETE


async def test_all_begins_again_where_the_set_may(stage: Stage, play: Play) -> None:
    given = rendering({"name": "node"}, failurePolicy={"maxRestarts": 1})
    given.objects[0]["spec"]["replicatedJobs"][0]["template"]["spec"]["backoffLimit"] = 0
    end = play(given)
    await stage.pods(lambda names: names == BOTH)
    await stage.end(BOTH[1], 1)
    for name in await stage.pods(lambda names: names == [f"{each}-2" for each in BOTH]):
        await stage.end(name)
    assert (await asyncio.wait_for(end, LIMIT)).state is State.COMPLETE


async def test_a_pod_deleted_by_another_client_is_made_again(stage: Stage, play: Play) -> None:
    end = play(rendering({"name": "node"}))
    await stage.pods(lambda names: names == BOTH)
    await stage.api.delete({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": BOTH[0]}}, grace=0)
    for name in await stage.pods(lambda names: names == sorted([f"{BOTH[0]}-2", BOTH[1]])):
        await stage.end(name)
    assert (await asyncio.wait_for(end, LIMIT)).state is State.COMPLETE


def test_a_pod_can_be_made_without_its_owners() -> None:
    [first, _] = rendering({"name": "node"}).pods
    made = playable(first, 1)
    assert "ownerReferences" not in made["metadata"]
    assert made["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] == "node"
    assert "ownerReferences" in first.pod["metadata"], "the rendering itself stays as it is"


def test_why_a_pod_does_not_run_is_reported() -> None:
    pod: Json = {"metadata": {"name": "p"}}
    unplaced = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available"}
    waiting = {"name": "node", "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no command"}}}
    assert trouble_of({**pod, "status": {"conditions": [unplaced]}}) == "p is not placed: 0/1 nodes are available"
    result = trouble_of({**pod, "status": {"containerStatuses": [waiting]}})
    assert result == "p: container node waits: CreateContainerConfigError: no command"
    assert trouble_of(pod) == ""
