"""A cluster in virtual time: the in-memory API server with our CRDs, a kubelet, and operator processes."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from typing import Any

from e2e.support.simulation.api import Api, Json
from e2e.support.simulation.audit import JOBS, Audit
from e2e.support.simulation.faults import Faults, FaultyTransport
from e2e.support.simulation.kubelet import Kubelet
from e2e.support.simulation.process import SETTINGS, Process
from e2e.support.status_page import is_documented

from training_api.crd.build import build
from training_api.registry import KINDS
from training_controllers.ports import Compute, compute_here
from training_controllers.reconcile.status_writer import EXTENSIONS, REPLICA_EXTENSIONS
from training_local.apiserver.crd import crd_types
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.server import ApiServer
from training_local.apiserver.storage import Change, StoreKey
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import Request, Response
from training_operator.settings import Settings

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall clock when the clock of the event loop shows 0."""


def now() -> datetime:
    """The wall clock of the simulation."""
    return BEGINNING + timedelta(seconds=clock())


class Cluster:
    """Everything a test needs; nothing of it survives the test."""

    def __init__(self, server: ApiServer, kubelet: Callable[[Api], Kubelet], seed: int) -> None:
        self.server = server
        self.seed = seed
        self.transport = InMemoryTransport(server)
        self.api = Api(self.transport)
        self.kubelet = kubelet(self.api)
        self.audit = Audit()
        self.processes: list[Process] = []
        self.undocumented: set[str] = set()
        """Reasons of events that docs/status.md does not have."""
        server.state.storage.observers.append(self._observe)

    def operator(
        self,
        faults: Faults | None = None,
        *,
        die_after: int | None = None,
        identity: str = "operator",
        settings: Settings = SETTINGS,
        compute: Compute = compute_here,
    ) -> Process:
        """Start one more operator process, on a network with `faults`."""
        number = len(self.processes)
        rng = random.Random(f"{self.seed}/{number}")
        transport = FaultyTransport(
            self.transport, rng, faults or Faults(), die_after=die_after, observe=partial(self._check_leader, identity)
        )
        process = Process(transport, now, seed=self.seed, identity=identity, settings=settings, compute=compute)
        self.processes.append(process)
        return process

    async def get(self, kind: str, name: str) -> Json:
        """An object as stored; it must exist."""
        found = await self.api.get(kind, name)
        assert found is not None, f"there is no {kind} {name}"
        return found

    job = get

    async def pods(self) -> list[str]:
        """Names of all pods that are not on their way out."""
        return [p["metadata"]["name"] for p in await self.api.list("Pod") if "deletionTimestamp" not in p["metadata"]]

    async def services(self) -> list[str]:
        """Names of all services."""
        return [service["metadata"]["name"] for service in await self.api.list("Service")]

    async def events(self, reason: str = "") -> list[str]:
        """Messages of the events, or of those with one reason, each as often as it was recorded."""
        events = sorted(await self.api.list("Event"), key=lambda e: int(e["metadata"]["resourceVersion"]))
        return [e["message"] for e in events for _ in range(e.get("count", 1)) if reason in ("", e["reason"])]

    def _check_leader(self, identity: str, request: Request, answer: Response) -> None:
        """Where there is a lease, only its holder writes anything else."""
        leases = self.server.state.storage.collection(("coordination.k8s.io", "leases")).entries()
        if request.method == "GET" or answer.status >= 300 or not leases or "/leases" in request.path:
            return
        holder = leases[0].object()["spec"].get("holderIdentity")
        if holder != identity:
            self.audit.complaints.append(f"{identity} sent {request.method} {request.path} while {holder!r} leads")

    def _observe(self, key: StoreKey, change: Change) -> None:
        if key[1] in ("pods", *JOBS):
            self.audit.saw(key[1], change.type, change.new_object)
        elif key[1] == "events":
            self._note(change.new_object["involvedObject"]["kind"], change.new_object["reason"])

    def _note(self, kind: str, reason: str) -> None:
        if kind in KINDS and not is_documented(reason):
            self.undocumented.add(reason)


@asynccontextmanager
async def cluster(
    seed: int = 0, *, prunes: bool = False, checks: bool = True, kubelet: Callable[[Api], Kubelet] | None = None
) -> AsyncIterator[Cluster]:
    """A cluster without operator.

    `prunes`: its CRDs are as v1's, they do not know the extensions of the status. `checks`: they reject bad specs.
    """
    types = [*BUILTIN, *job_types(prunes, checks)]
    server = ApiServer(types, crd_types, now=now, rng=random.Random(seed))
    made = Cluster(server, kubelet or (lambda api: Kubelet(api, now)), seed)
    background = [asyncio.create_task(_serve(server)), asyncio.create_task(made.kubelet.run())]
    try:
        yield made
    finally:
        for process in made.processes:
            if process.alive:
                await process.kill()
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
    assert not made.undocumented, f"docs/status.md does not have the events {sorted(made.undocumented)}"


@asynccontextmanager
async def cluster_with_operator(
    job: Json | None = None, settled: float = 3.0, *, settings: Settings = SETTINGS
) -> AsyncIterator[tuple[Cluster, Process]]:
    """A cluster and its operator; a `job` has been created `settled` virtual seconds ago."""
    async with cluster() as made:
        process = made.operator(settings=settings)
        if job is not None:
            await made.api.create(job)
            await asyncio.sleep(settled)
        yield made, process


async def _serve(server: ApiServer) -> None:
    """In a task of its own, so that a failed assertion is not wrapped into a group of exceptions."""
    async with server.running():
        await asyncio.get_running_loop().create_future()


@cache
def job_types(prunes: bool, checks: bool) -> Sequence[ResourceType]:
    """The resource types of all kinds, from their CRDs, which are generated faster than they are read."""
    crds = [build(info) for info in KINDS.values()]
    if prunes:
        crds = [without_extensions(crd) for crd in crds]
    if not checks:
        crds = [without_checks(crd) for crd in crds]
    return [type for crd in crds for type in crd_types(crd)]


def without_extensions(crd: Json) -> Json:
    """The CRD as v1 has it, as far as the status is concerned."""
    crd = copy.deepcopy(crd)
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    status = schema["properties"]["status"]["properties"]
    replica = status["replicaStatuses"]["additionalProperties"]["properties"]
    for fields, names in ((status, EXTENSIONS), (replica, REPLICA_EXTENSIONS)):
        for name in names:
            words = name.split("_")
            del fields[words[0] + "".join(word.title() for word in words[1:])]
    return crd


def without_checks(crd: Json) -> Json:
    """The CRD of somebody who wants no checks: any spec is stored as it is."""
    crd = copy.deepcopy(crd)
    version = crd["spec"]["versions"][0]
    version["subresources"] = {"status": {}}
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"x-kubernetes-preserve-unknown-fields": True}
    schema.pop("x-kubernetes-validations", None)
    return crd


async def started(world: Cluster, job: Json, settled: float = 5.0) -> list[str]:
    """Create a job and let all its pods run; returns their names.

    `settled` virtual seconds after each of both, everything that follows from it has happened.
    """
    await world.api.create(job)
    return await run_pods(world, settled)


async def run_pods(world: Cluster, settled: float = 3.0) -> list[str]:
    """Let all pods run that are there in `settled` virtual seconds, and wait as long again; returns their names."""
    await asyncio.sleep(settled)
    names = await world.pods()
    await world.kubelet.running(*names)
    await asyncio.sleep(settled)
    return names


async def restart(world: Cluster, settings: Settings = SETTINGS) -> None:
    """Exchange the operator process, with some time between."""
    await world.processes[-1].kill()
    await asyncio.sleep(5)
    world.operator(settings=settings)


def clock() -> float:
    """The time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()


async def until(condition: Callable[[], Awaitable[object]], within: float = 60.0, step: float = 0.1) -> float:
    """Let virtual time pass until `condition` holds; returns the time then, in seconds."""
    begun = clock()
    while not await condition():
        assert clock() - begun < within, f"{condition} did not come true within {within} s"
        await asyncio.sleep(step)
    return clock()
