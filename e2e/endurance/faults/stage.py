"""Everything that a fault is played with, and what must be true once it is over."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from e2e.endurance.faults.following import patiently
from e2e.endurance.faults.link import Link
from e2e.endurance.faults.load import Scripted, draw_all
from e2e.endurance.faults.node import Node
from e2e.endurance.faults.watcher import PODS, Watcher, end_of, is_live, owner_of
from e2e.harness.bare import API_SERVER, ControlPlane, control_plane
from e2e.harness.client import Api, ApiError, Object, connect
from e2e.harness.jobs import PLURALS
from e2e.harness.operator import PROGRAM, Operator

WITHOUT_NODES = "--controllers=*,-node-lifecycle-controller,-pod-garbage-collector-controller"
"""There is no node: these two would take every pod for lost."""
END_LIMIT = 240.0
"""Seconds from the end of the faults to the end of the last job; back-offs of requests last up to half a minute."""
LEAK_LIMIT = 90.0
"""Seconds for Kubernetes' garbage collector."""
DEPENDENTS = {
    "/api/v1": ("pods", "services", "configmaps", "secrets", "serviceaccounts"),
    "/apis/rbac.authorization.k8s.io/v1": ("roles", "rolebindings"),
    "/apis/autoscaling/v2": ("horizontalpodautoscalers",),
    "/apis/scheduling.volcano.sh/v1beta1": ("podgroups",),
}
"""What jobs own, by API."""


@dataclass
class Stage:
    """One control plane, one namespace with scripted jobs, and everybody who plays a part."""

    plane: ControlPlane
    api: Api
    link: Link
    watcher: Watcher
    node: Node
    rng: random.Random
    folder: Path
    size: int
    """How many jobs there are to be."""
    rounds: int
    """How often the fault is to happen."""
    namespace: str = "faults"
    operators: list[Operator] = field(default_factory=list)
    jobs: list[Scripted] = field(default_factory=list)
    """Jobs that have to end as scripted."""
    lasting: set[str] = field(default_factory=set)
    """Names of jobs that never end."""
    complaints: list[str] = field(default_factory=list)

    def start_operator(self, *flags: str, program: Sequence[str | Path] = (PROGRAM,)) -> Operator:
        """Start one more operator, behind the network that can be cut."""
        kubeconfig = self.plane.kubeconfig_through(self.link.port)
        log = self.folder / f"operator-{len(self.operators)}.log"
        operator = Operator(kubeconfig, log, *flags, program=program)
        self.operators.append(operator)
        return operator

    @asynccontextmanager
    async def operator(self, *flags: str, program: Sequence[str | Path] = (PROGRAM,)) -> AsyncIterator[Operator]:
        """An operator that is ready, and that leaves in good order at the end."""
        operator = self.start_operator(*flags, program=program)
        try:
            await asyncio.to_thread(operator.wait_ready)
            yield operator
            if (status := await asyncio.to_thread(operator.child.stop)) != 0:
                self.complaints.append(f"the operator ended with status {status}")
        finally:
            operator.child.kill()

    async def create(self, jobs: Sequence[Scripted], namespace: str = "") -> None:
        """Create jobs; those of the stage's own namespace have to end as scripted."""
        self.node.expect(jobs)
        for job in jobs:
            await self.patient_create(self.path(job.kind, namespace), job.body)
        if not namespace:
            self.jobs += jobs

    async def create_all(self) -> None:
        """Create all jobs of the stage."""
        await self.create(draw_all(self.rng, self.size))

    async def patient_create(self, path: str, body: Object) -> None:
        """Create an object while the server comes and goes."""
        try:
            await patiently(self.api.create, path, body)
        except ApiError as error:
            if error.status != 409:  # an attempt without an answer has made it
                raise

    async def progress(self) -> None:
        """Let something happen, more or less: the moments of faults are chosen by changes, not by the clock."""
        await self.watcher.let_pass(self.rng.randint(5, 10 + 2 * self.size))

    async def restart_api_server(self) -> None:
        """Start the API server again, and return when it works."""
        self.plane.start(API_SERVER)
        await asyncio.to_thread(self.plane.wait_ready)

    def path(self, kind: str, namespace: str = "") -> str:
        """Path of the jobs of a kind."""
        return f"/apis/kubeflow.org/v1/namespaces/{namespace or self.namespace}/{PLURALS[kind]}"

    async def job(self, job: Scripted) -> Object:
        """A job as stored; an empty one if there is none."""
        path = f"{self.path(job.kind)}/{job.name}"
        return await patiently(self.api.get, path) or {}

    async def pods(self) -> list[Object]:
        """All pods."""
        found: list[Object] = (await patiently(self.api.call, "GET", PODS))["items"]
        return found

    async def verify(self) -> None:
        """Wait until everything has come right, delete all jobs, and look at what is left; collect complaints."""
        await self.settled()
        await self.delete_all()

    async def settled(self) -> None:
        """Wait until all jobs have ended as scripted, and keep no more than they should."""
        await self.or_complain(self._all_ended, "jobs should end as scripted", END_LIMIT)
        await self.or_complain(self._all_clean, "ended jobs should be cleaned up", LEAK_LIMIT)

    async def delete_all(self) -> None:
        """Delete all jobs; nothing of them may stay."""
        uids = {(await self.job(job)).get("metadata", {}).get("uid") for job in self.jobs}
        for job in self.jobs:
            await patiently(self.api.delete, f"{self.path(job.kind)}/{job.name}")
        await self.or_complain(lambda: self._left_of(uids), "nothing of deleted jobs should be left", LEAK_LIMIT)

    def conclude(self) -> list[str]:
        """All that should not have happened; the stage is over."""
        crashed = [operator for operator in self.operators if "Traceback" in operator.child.output()]
        self.complaints += [f"an operator has written a traceback:\n{each.child.output()[-3000:]}" for each in crashed]
        return [*self.watcher.complaints, *self.complaints]

    async def or_complain(self, wrong: Callable[[], Awaitable[list[str]]], what: str, limit: float) -> None:
        """Wait until nothing is wrong; complain of what still is in the end."""
        deadline = time.monotonic() + limit
        while found := await wrong():
            if time.monotonic() > deadline:
                self.complaints.append(f"{what}: {'; '.join(found)}")
                return
            await asyncio.sleep(0.3)

    async def _all_ended(self) -> list[str]:
        """Jobs that have not ended, or not as scripted."""
        wrong = []
        for job in self.jobs:
            stored = await self.job(job)
            ends = [condition["type"] for condition in end_of(stored)]
            counters = stored.get("status", {}).get("replicaStatuses", {})
            restarts = {type_: counters.get(type_, {}).get("restarts", 0) for type_ in job.restarts()}
            if ends != ["Succeeded"] or restarts != job.restarts():
                said = f"ended with {ends}, restarts {restarts} of {job.restarts()}"
                wrong.append(f"{job.kind} {job.name} {said}, status {stored.get('status')}")
        return wrong

    async def _all_clean(self) -> list[str]:
        """Pods that live on although their job has ended and does not keep them."""
        policies = {job.name: job.body["spec"]["runPolicy"]["cleanPodPolicy"] for job in self.jobs}
        kept = self.lasting | {name for name, policy in policies.items() if policy == "None"}
        label = "training.kubeflow.org/job-name"
        live = [pod["metadata"] for pod in await self.pods() if is_live(pod)]
        return [meta["name"] for meta in live if meta["labels"].get(label) not in kept]

    async def _left_of(self, uids: set[str]) -> list[str]:
        """What these owners have left behind."""
        return [
            f"{plural} {each['metadata']['name']}"
            for api, plurals in DEPENDENTS.items()
            for plural in plurals
            for each in await self._items(f"{api}/namespaces/{self.namespace}/{plural}")
            if owner_of(each) in uids
        ]

    async def _items(self, path: str) -> Iterable[Object]:
        found: Iterable[Object] = (await patiently(self.api.get, path) or {}).get("items") or ()
        return found


@asynccontextmanager
async def stage(
    folder: Path, seed: int, size: int, rounds: int, server_flags: Sequence[str] = ()
) -> AsyncIterator[Stage]:
    """A new stage without jobs."""
    rng = random.Random(seed)
    with control_plane(WITHOUT_NODES, server_flags=server_flags) as plane:
        link = Link(plane.port, plane.certificates)
        async with connect(plane.cluster.kubeconfig) as api, link.running():
            watcher, node = Watcher(api), Node(api, random.Random(rng.random()))
            made = Stage(plane, api, link, watcher, node, rng, folder, size, rounds)
            await api.create("/api/v1/namespaces", {"metadata": {"name": made.namespace}})
            helpers = [asyncio.create_task(watcher.run()), asyncio.create_task(node.run())]
            try:
                yield made
            finally:
                for operator in made.operators:
                    operator.child.kill()
                for helper in helpers:
                    helper.cancel()
                ends = await asyncio.gather(*helpers, return_exceptions=True)
                made.complaints += [f"a helper ended with {end!r}" for end in ends if isinstance(end, Exception)]
