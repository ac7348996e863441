"""What only a real node does to pods: slow ends, evictions, memory limits, pods going while others come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from e2e.harness.client import Api, ApiError, Object, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.node.jobs import KINDS, Kind, programs, trying_twice

LIMIT = 60.0
SLEEP = ("sleep", "1000")
"""Process 1 of a container is not ended by SIGTERM, so its pod lasts for the whole grace period."""
KIND = {kind.name: kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Scene:
    """One job in a namespace of its own."""

    api: Api
    namespace: str
    kind: Kind
    name: str

    @property
    def path(self) -> str:
        """The job."""
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/{self.kind.plural}/{self.name}"

    @property
    def pods(self) -> str:
        """All pods of the namespace."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    async def status(self) -> dict[str, Any]:
        """What the operator says of the job."""
        job = await self.api.call("GET", self.path)
        return dict(job.get("status", {}))

    async def reaches(self, condition: str) -> Object:
        """The condition, once it is True."""

        async def found() -> Object | None:
            conditions = (await self.status()).get("conditions", ())
            return next((c for c in conditions if (c["type"], c["status"]) == (condition, "True")), None)

        return await eventually(found, f"{self.name} is {condition}", LIMIT, poll=0.3)

    async def running(self) -> dict[str, Object]:
        """All pods by name, once their containers run; those that are going do not count."""

        async def all_run() -> dict[str, Object] | None:
            pods = (await self.api.call("GET", self.pods))["items"]
            found = {pod["metadata"]["name"]: pod for pod in pods if "deletionTimestamp" not in pod["metadata"]}
            complete = len(found) == sum(self.kind.pair.values())
            return found if complete and all(p["status"]["phase"] == "Running" for p in found.values()) else None

        return await eventually(all_run, f"the pods of {self.name} run", LIMIT, poll=0.3)

    async def gone(self) -> None:
        """Return when there are neither pods nor services."""

        async def empty() -> bool:
            services = await self.api.call("GET", f"/api/v1/namespaces/{self.namespace}/services")
            pods = await self.api.call("GET", self.pods)
            return not pods["items"] and not services["items"]

        await eventually(empty, f"pods and services of {self.name} are gone", LIMIT, poll=0.3)


async def deleted(api: Api) -> None:
    """Pods that a user deletes are replaced, even with restart policy Never; nothing has failed (K-09)."""
    async with job(api, "JAXJob", "deleted", SLEEP) as scene:
        before = await scene.running()
        for name in before:
            await api.delete(f"{scene.pods}/{name}")
        await scene.reaches("Succeeded")
        after = (await api.call("GET", scene.pods))["items"]
        assert {pod["metadata"]["uid"] for pod in after}.isdisjoint(pod["metadata"]["uid"] for pod in before.values())


async def evicted(api: Api) -> None:
    """A pod that is evicted through the API, as `kubectl drain` does, is replaced, and the others wait for it."""
    async with job(api, "PyTorchJob", "evicted", SLEEP, policy="OnFailure") as scene:
        worker = next(name for name in await scene.running() if "-worker-" in name)
        await api.create(
            f"{scene.pods}/{worker}/eviction",
            {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": worker}},
        )
        await scene.reaches("Succeeded")


async def resumed(api: Api) -> None:
    """A job resumed while its old pods still go gets new ones of the same names."""
    async with job(api, "PaddleJob", "resumed", SLEEP) as scene:
        await scene.running()
        await api.patch(scene.path, {"spec": {"runPolicy": {"suspend": True}}})
        await scene.reaches("Suspended")
        await api.patch(scene.path, {"spec": {"runPolicy": {"suspend": False}}})
        await scene.reaches("Succeeded")


async def out_of_memory(api: Api) -> None:
    """A container that the kernel kills for its memory has exit code 137, which may be tried again."""
    eat = ("python3", "-c", "bytearray(1 << 30)")
    async with job(api, "XGBoostJob", "eats", eat, policy="ExitCode", limits={"memory": "64Mi"}) as scene:
        await scene.reaches("Succeeded")
        assert (await scene.status())["replicaStatuses"]["Worker"]["restarts"] == 1
        events = await api.call("GET", f"/api/v1/namespaces/{scene.namespace}/events")
        messages = [event["message"] for event in events["items"] if event["reason"] == "ExitedWithCode"]
        assert any(message.endswith("exited with code 137") for message in messages), messages


async def too_long(api: Api) -> None:
    """At its deadline a job fails, and its pods go after their grace period."""
    async with job(api, "TFJob", "too-long", SLEEP, activeDeadlineSeconds=6) as scene:
        condition = await scene.reaches("Failed")
        assert "active longer than specified deadline" in condition["message"]
        await scene.gone()


async def removed(api: Api) -> None:
    """With a running job go its pods and services."""
    async with job(api, "MPIJob", "removed", SLEEP) as scene:
        await scene.running()
        await api.delete(scene.path)
        await scene.gone()


SCENARIOS = (deleted, evicted, resumed, out_of_memory, too_long, removed)


@asynccontextmanager
async def job(
    api: Api,
    kind: str,
    name: str,
    first: tuple[str, ...],
    *,
    policy: str | None = None,
    limits: dict[str, str] | None = None,
    **run_policy: Any,
) -> AsyncIterator[Scene]:
    """Create a job whose first attempt runs `first`; `limits` are those of its containers."""
    manifest = trying_twice(KIND[kind], name, first, policy)
    manifest["spec"]["runPolicy"] = run_policy
    if limits:
        replica = manifest["spec"][KIND[kind].replicas_field][KIND[kind].failing]
        replica["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}
    scene = Scene(api, f"disturbed-{name}", KIND[kind], manifest["metadata"]["name"])
    await api.create("/api/v1/namespaces", {"metadata": {"name": scene.namespace}})
    await api.create(f"/api/v1/namespaces/{scene.namespace}/configmaps", programs())
    await api.create(scene.path.rpartition("/")[0], manifest)
    try:
        yield scene
    except (ApiError, AssertionError) as error:
        pods = await api.call("GET", scene.pods)
        phases = {pod["metadata"]["name"]: pod["status"] for pod in pods["items"]}
        raise AssertionError(f"{error}\n{await api.get(scene.path)}\n{phases}") from error


@pytest.fixture(scope="module")
def endings(cluster: Cluster, node_operator: None) -> dict[str, BaseException | None]:
    """What came of all scenarios, played at the same time."""

    async def play() -> dict[str, BaseException | None]:
        async with connect(cluster.kubeconfig) as api:
            found = await asyncio.gather(*(scenario(api) for scenario in SCENARIOS), return_exceptions=True)
        return {scenario.__name__: ending for scenario, ending in zip(SCENARIOS, found, strict=True)}

    return asyncio.run(play())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_disturbance(endings: dict[str, BaseException | None], scenario: Callable[[Api], Awaitable[None]]) -> None:
    if (problem := endings[scenario.__name__]) is not None:
        raise problem
