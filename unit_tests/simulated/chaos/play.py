"""Playing a scenario, with and without disturbances, and telling what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from e2e.support.simulation.api import Json, Rejected
from e2e.support.simulation.audit import DUPLICATE, ENDS, is_duplicate, is_live
from e2e.support.simulation.cluster import Cluster, cluster, now
from e2e.support.simulation.faults import Faults
from e2e.support.simulation.gang import install
from e2e.support.simulation.process import SETTINGS, Process
from e2e.support.virtual_time import VirtualLoop
from unit_tests.simulated.chaos.kubelet import ScriptedKubelet
from unit_tests.simulated.chaos.scenario import Scenario, UserAction
from unit_tests.simulated.chaos.volcano import GangAudit, GangKubelet, StrictVolcano

from training_operator.kube.flow import IN_FLIGHT, RESERVED
from training_operator.settings import Settings

DISTURBED = 45.0
"""Virtual seconds for which there are disturbances."""
PATIENCE = 900.0
"""Virtual seconds for everything to come right afterwards; back-offs last up to five minutes."""
LOOK = 15.0
"""Virtual seconds between two looks at what is left: each of them asks for everything."""
LAG = 8.0
"""Most seconds by which each line of a watch is late, of a process whose caches show all but its own writes late."""
CAP = IN_FLIGHT + RESERVED
"""Most requests in flight: those of jobs, and urgent ones."""

ALL_KINDS = 5
"""One scenario in so many is played with operators of all kinds, the others with those of its own."""

Summary = dict[str, Any]


class Listed(NamedTuple):
    """What there is at one time; each kind is listed once, not once per job."""

    pods: list[Json]
    services: list[str]
    others: list[tuple[str, Json]]
    """Kind and metadata of what jobs have beside these."""


Disturbance = Callable[[Cluster, random.Random], Coroutine[Any, Any, None]]


def only_kinds_of(scenario: Scenario, settings: Settings) -> Settings:
    """The settings of an operator that runs no other kinds: half the time would go into following nothing."""
    kinds = {job["kind"] for job in scenario.jobs}
    return settings.model_copy(update={"enable_scheme": tuple(sorted(kinds))})


def _chosen(scenario: Scenario, settings: Settings) -> Settings:
    return settings if scenario.seed % ALL_KINDS == 0 else only_kinds_of(scenario, settings)


@dataclass(frozen=True)
class Played:
    """What is left at the end, by job, and what went wrong on the way."""

    jobs: dict[str, Summary]
    complaints: list[str] = field(default_factory=list)


async def undisturbed(scenario: Scenario, settings: Settings = SETTINGS) -> Played:
    """One operator, a perfect network, no other clients."""
    settings = _chosen(scenario, settings)
    async with stage(scenario, settings) as (world, _):
        process = world.operator(settings=settings)
        users = asyncio.create_task(_use(world, scenario))
        await asyncio.sleep(DISTURBED)
        await users
        await _settled(world, scenario)
        return Played(await _summaries(world, scenario), [*world.audit.complaints, *process.complaints])


def undisturbed_once(drawn: Callable[[int], Scenario], settings: Settings = SETTINGS) -> Callable[[int], Played]:
    """What comes of the scenario that is drawn for a number: played at most once, in a time of its own."""

    @cache
    def played(number: int) -> Played:
        loop = VirtualLoop()
        try:
            return loop.run_until_complete(undisturbed(drawn(number), settings))
        finally:
            loop.close()

    return played


async def disturbed(
    scenario: Scenario, truth: Played, seed: int, settings: Settings = SETTINGS, others: Sequence[Disturbance] = ()
) -> Played:
    """Everything that can go wrong does, as `seed` says, for a while; then everything has to become as in `truth`.

    `others` disturb beside what always does, and end in time by themselves.
    """
    rng, settings = random.Random(f"chaos {seed}"), _chosen(scenario, settings)
    async with stage(scenario, settings) as (world, volcano):
        chaos = Chaos(world, rng, settings, volcano)
        work = [*chaos.supervisors(), chaos.interfere(), chaos.shake(), *(each(world, rng) for each in others)]
        tasks = [asyncio.create_task(each) for each in work]
        users = asyncio.create_task(_use(world, scenario))
        await asyncio.sleep(DISTURBED)
        await users
        chaos.calm()
        clock = asyncio.get_running_loop().time
        end = clock() + PATIENCE
        while complaints := _differences(truth, seen := await _summaries(world, scenario)) + _leftovers(world, seen):
            if clock() > end:
                break
            await asyncio.sleep(LOOK)
        complaints += world.audit.complaints
        for task in tasks:
            task.cancel()
        failed = [e for e in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(e, Exception)]
        complaints += [f"a process ended with {error!r}" for error in failed]
        complaints += [text for process in world.processes for text in process.complaints]
        return Played(seen, complaints)


@asynccontextmanager
async def stage(scenario: Scenario, settings: Settings) -> AsyncIterator[tuple[Cluster, StrictVolcano | None]]:
    """A cluster, with a scheduler of gangs if the settings of the operator name one.

    Without checks of specs: all of them are good, and checking takes a third of the time.
    """
    kubelet = GangKubelet if settings.gang_scheduler_name else ScriptedKubelet
    async with cluster(scenario.seed, checks=False, kubelet=lambda api: kubelet(api, now, scenario)) as world:
        if not settings.gang_scheduler_name:
            yield world, None
            return
        await install(world.api)
        GangAudit(world)
        volcano = StrictVolcano(world.api, random.Random(f"volcano {scenario.seed}"))
        task = asyncio.create_task(volcano.run())
        yield world, volcano
        task.cancel()
        failed = [e for e in await asyncio.gather(task, return_exceptions=True) if isinstance(e, Exception)]
        assert failed == []


class Chaos:
    """The disturbances of one seed."""

    def __init__(self, world: Cluster, rng: random.Random, settings: Settings, volcano: StrictVolcano | None) -> None:
        self._world = world
        self._rng = rng
        self._settings = settings
        self._volcano = volcano
        if volcano is not None:
            volcano.mood = rng.choice([0.0, 0.05, 0.3])
        self._elects = rng.random() < 0.2
        self._quiet = False

    def supervisors(self) -> list[Any]:
        """What keeps operator processes running: one, or two that elect a leader."""
        return [self._supervise(f"operator-{number}") for number in range(2 if self._elects else 1)]

    def calm(self) -> None:
        """No disturbances from now on."""
        self._quiet = True
        if self._volcano is not None:
            self._volcano.mood = 0.0
        for process in self._world.processes:
            process.transport.faults = Faults()
            process.transport.die_after = None

    async def _supervise(self, identity: str) -> None:
        rng, settings = self._rng, self._settings.model_copy(update={"leader_elect": self._elects})
        while True:
            process = self._world.operator(
                Faults() if self._quiet else self._faults(),
                die_after=None if self._quiet or rng.random() < 0.3 else rng.randint(1, 25),
                identity=f"{identity}-{len(self._world.processes)}",
                settings=settings,
            )
            await process.over()
            await process.kill()
            await asyncio.sleep(rng.uniform(0, 4))

    async def shake(self) -> None:
        """Change the weather, cut a process off, pull a plug."""
        rng = self._rng
        while not self._quiet:
            await asyncio.sleep(rng.uniform(1, 15))
            if self._quiet or not (alive := [each for each in self._world.processes if each.alive]):
                continue
            process, choice = rng.choice(alive), rng.random()
            if choice < 0.3:
                process.transport.died.set()
            elif choice < 0.45:
                await self._cut_off(process)
            else:
                process.transport.faults = self._faults()

    async def _cut_off(self, process: Process) -> None:
        process.transport.faults = Faults(lost_request=1.0, dropped_watch=1.0)
        await asyncio.sleep(self._rng.uniform(1, 25))
        process.transport.faults = Faults()

    async def interfere(self) -> None:
        """Delete pods, and put others beside them."""
        rng = self._rng
        while True:
            await asyncio.sleep(rng.uniform(1, 12))
            if self._quiet:
                return
            pods = [pod for pod in await self._world.api.list("Pod") if is_live(pod)]
            if not pods:
                continue
            pod = rng.choice(pods)
            with contextlib.suppress(Rejected):
                if rng.random() < 0.25:
                    await self._world.api.create(_duplicate(pod))
                else:
                    options: Json = {"gracePeriodSeconds": 0} if rng.random() < 0.3 else {}
                    await self._world.api.delete("Pod", pod["metadata"]["name"], **options)

    def _faults(self) -> Faults:
        def likely(most: float) -> float:
            return self._rng.uniform(0, most) if self._rng.random() < 0.4 else 0.0

        lags = self._rng.random() < 0.2
        return Faults(
            conflict=likely(0.4),
            too_many=likely(0.2),
            server_error=likely(0.2),
            lost_request=likely(0.15),
            lost_answer=likely(0.15),
            dropped_watch=likely(0.1),
            slow_watch=1.0 if lags else likely(0.5),
            watch_delay=LAG if lags else 3.0,
            latency=self._rng.choice([0.0, 0.01, 0.5]),
        )


def _duplicate(pod: Json) -> Json:
    meta = pod["metadata"]
    copied = {key: meta[key] for key in ("namespace", "labels", "ownerReferences")}
    annotations = {**meta.get("annotations", {}), DUPLICATE: "true"}
    metadata = {**copied, "generateName": f"{meta['name']}-", "annotations": annotations}
    containers = [{key: each[key] for key in ("name", "image")} for each in pod["spec"]["containers"]]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


async def _use(world: Cluster, scenario: Scenario) -> None:
    """What the users do."""
    for job in scenario.jobs:
        await world.api.create(job)
    async with asyncio.TaskGroup() as group:
        for action in scenario.actions:
            group.create_task(_act(world, action))


async def _act(world: Cluster, action: UserAction) -> None:
    await asyncio.sleep(action.at)
    with contextlib.suppress(Rejected):
        if action.patch is None:
            await world.api.delete(action.kind, action.job)
        else:
            await world.api.patch(action.kind, action.job, action.patch)


async def _settled(world: Cluster, scenario: Scenario) -> None:
    """Wait until two looks, some time apart, see the same finished jobs."""
    before: dict[str, Summary] = {}
    for _ in range(100):
        await asyncio.sleep(15)
        seen = await _summaries(world, scenario)
        if seen == before and all("end" in summary or "gone" in summary for summary in seen.values()):
            return
        before = seen
    raise AssertionError(f"without any disturbance the jobs do not end: {before}")


async def _summaries(world: Cluster, scenario: Scenario) -> dict[str, Summary]:
    listed = Listed(await world.api.list("Pod"), await world.services(), await _others(world))
    return {job["metadata"]["name"]: await _summary(world, scenario, job, listed) for job in scenario.jobs}


async def _summary(world: Cluster, scenario: Scenario, wanted: Json, listed: Listed) -> Summary:
    """What must be the same in the end, whatever happened on the way."""
    name = wanted["metadata"]["name"]
    pods = [pod for pod in listed.pods if pod["metadata"]["name"].startswith(f"{name}-")]
    services = [each for each in listed.services if each.startswith(f"{name}-")]
    others = _others_of(name, listed.others)
    job = await world.api.get(wanted["kind"], name)
    if job is None:
        return {"gone": True, "pods": len(pods), "services": services, "others": others}
    conditions = job.get("status", {}).get("conditions", [])
    summary: Summary = {
        "services": services,
        "others": others,
        "live": [p["metadata"]["name"] for p in pods if is_live(p) and not is_duplicate(p)],
    }
    for condition in conditions:
        if condition["type"] in ENDS and condition["status"] == "True":
            summary |= {"end": condition["reason"] if name not in scenario.open_ended else "one or the other"}
    if name in scenario.timely:
        return summary
    counters = job.get("status", {}).get("replicaStatuses", {}).get("Worker", {})
    failures = world.audit.failures[job["metadata"]["uid"], "worker"]
    return summary | {
        "conditions": {c["type"]: c["status"] for c in conditions if c["type"] in ("Created", *ENDS)},
        "counters": {key: counters.get(key, 0) for key in ("active", "succeeded", "failed", "completedIndexes")},
        "uncounted": 0 if name in scenario.interrupted else len(failures) - counters.get("restarts", 0),
    }


async def _others(world: Cluster) -> list[tuple[str, Json]]:
    kinds = ["ServiceAccount", "ConfigMap", "Role", "RoleBinding", "Secret"]
    if ("scheduling.volcano.sh", "podgroups") in world.server.state.storage.collections:
        kinds.append("PodGroup")
    return [(kind, each["metadata"]) for kind in kinds for each in await world.api.list(kind)]


def _others_of(job: str, found: list[tuple[str, Json]]) -> list[str]:
    # Names of secrets have the uid of their job in them, which chance decides.
    return [
        f"{kind} {meta['name'].removesuffix(meta['ownerReferences'][0]['uid'])}"
        for kind, meta in found
        if meta["name"] == job or meta["name"].startswith(f"{job}-")
    ]


def _differences(truth: Played, seen: dict[str, Summary]) -> list[str]:
    return [
        f"{name}: {key} should be {truth.jobs[name].get(key)} and is {summary.get(key)}"
        for name, summary in seen.items()
        for key in truth.jobs[name] | summary
        if truth.jobs[name].get(key) != summary.get(key)
    ]


def _leftovers(world: Cluster, seen: dict[str, Summary]) -> list[str]:
    """What processes should not hold any more, or should not have done."""
    complaints = []
    existing = sum("gone" not in summary for summary in seen.values())
    for process in world.processes:
        if process.transport.most_in_flight > CAP:
            complaints.append(f"{process.transport.most_in_flight} requests were in flight")
        if process.alive and process.remembered > existing:
            complaints.append(f"{process.remembered} jobs are remembered, but only {existing} exist")
    return complaints
