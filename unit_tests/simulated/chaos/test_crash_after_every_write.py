"""The operator ends after its n-th write, for every n, and is started again: what comes of the job is the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from e2e.support.profiles import WEEKLY
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, until
from e2e.support.simulation.jobs import extended, jax, mpi, paddle, pytorch, tensorflow, xgboost
from e2e.support.simulation.process import SETTINGS
from unit_tests.simulated.chaos.play import only_kinds_of, stage
from unit_tests.simulated.chaos.scenario import Scenario, Slot, UserAction

from training_operator.settings import Settings

pytestmark = pytest.mark.virtual_time

DOWN = 2.0
"""Virtual seconds without operator after a crash."""
OWNED_KINDS = ("ConfigMap", "Role", "RoleBinding", "ServiceAccount")
VOLCANO = SETTINGS.model_copy(update={"gang_scheduler_name": "volcano"})


@dataclass
class Rehearsed(Scenario):
    """Runs long enough that no crash changes who is first: the lead outlives what happens to the workers."""

    settings: Settings = SETTINGS

    def run_time(self, slot: Slot, attempt: int) -> float:
        return 200.0 if slot[1] in ("master", "chief", "launcher") else 5.0


class Launched(Rehearsed):
    """Workers run until the launcher has ended."""

    def run_time(self, slot: Slot, attempt: int) -> float:
        return 40.0 if slot[1] == "launcher" else 1e6


class Staggered(Rehearsed):
    """The later a worker, the longer it runs: no two fail at the same time."""

    def run_time(self, slot: Slot, attempt: int) -> float:
        return super().run_time(slot, attempt) + 3.0 * slot[2]


SCENARIOS = {
    "PyTorchJob": Rehearsed(
        seed=0,
        jobs=[pytorch("job", workers=2, policy="ExitCode", cleanPodPolicy="All")],
        exits={("job", "worker", 0): [137], ("job", "worker", 1): [143]},
    ),
    "JAXJob": Rehearsed(
        seed=0,
        jobs=[jax("job", workers=2, policy="OnFailure", cleanPodPolicy="Running")],
        exits={("job", "worker", 0): [1, 1], ("job", "worker", 1): []},
    ),
    "failing JAXJob": Rehearsed(
        seed=0,
        jobs=[jax("job", workers=3, policy="OnFailure", backoffLimit=2)],
        exits={("job", "worker", 1): [1, 1, 1]},
    ),
    # The second failure waits for ten seconds; what worker 1 completes meanwhile has to be done again.
    "JAXJob that restarts as a whole": Staggered(
        seed=0,
        jobs=[extended(jax("job", workers=2, policy="OnFailure", cleanPodPolicy="All"), "restart-scope", "job")],
        exits={("job", "worker", 0): [1, 1]},
    ),
    "TFJob": Rehearsed(
        seed=0,
        jobs=[tensorflow("job", workers=1, policy="ExitCode", cleanPodPolicy="All")],
        exits={("job", "worker", 0): [137]},
    ),
    "XGBoostJob": Rehearsed(
        seed=0,
        jobs=[xgboost("job", workers=1, policy="OnFailure", cleanPodPolicy="None")],
        exits={("job", "worker", 0): [1]},
    ),
    "PaddleJob": Rehearsed(
        seed=0,
        jobs=[paddle("job", workers=1, policy="ExitCode", master=True, cleanPodPolicy="Running")],
        exits={("job", "worker", 0): [143]},
    ),
    "MPIJob": Launched(
        seed=0,
        jobs=[mpi("job", workers=1, policy="ExitCode", cleanPodPolicy="All")],
        exits={("job", "launcher", 0): [137]},
    ),
    "gang": Rehearsed(
        seed=0,
        jobs=[jax("job", workers=2, policy="OnFailure", cleanPodPolicy="All")],
        exits={("job", "worker", 1): [1]},
        settings=VOLCANO,
    ),
    "JAXJob that is suspended and resumed": Staggered(
        seed=0,
        jobs=[jax("job", workers=2, policy="OnFailure", cleanPodPolicy="All")],
        actions=[
            UserAction(4.0, "JAXJob", "job", {"spec": {"runPolicy": {"suspend": True}}}),
            UserAction(40.0, "JAXJob", "job", {"spec": {"runPolicy": {"suspend": False}}}),
        ],
    ),
}


async def end_of(scenario: Rehearsed, crashes: list[int]) -> tuple[Json, int]:
    """Play the scenario with an operator that ends after so many writes, then the next one, and so on.

    Returns what is left, and how many writes the last operator made.
    """
    async with stage(scenario, scenario.settings) as (world, _):
        settings = only_kinds_of(scenario, scenario.settings)
        supervisor = asyncio.create_task(_supervise(world, settings, crashes))
        await world.api.create(scenario.jobs[0])
        elapsed = 0.0
        for action in scenario.actions:
            await asyncio.sleep(action.at - elapsed)
            elapsed = action.at
            await world.api.patch(action.kind, action.job, action.patch or {})
        await until(partial(_ended, world), within=2000, step=1.0)
        await asyncio.sleep(30)
        supervisor.cancel()
        complaints = [text for process in world.processes for text in process.complaints]
        assert world.audit.complaints + complaints == []
        return await _left(world, scenario), world.processes[-1].transport.writes


async def _supervise(world: Cluster, settings: Settings, crashes: list[int]) -> None:
    for writes in crashes:
        process = world.operator(die_after=writes, settings=settings)
        await process.over()
        await process.kill()
        await asyncio.sleep(DOWN)
    world.operator(settings=settings)


async def _ended(world: Cluster) -> bool:
    """Asked of the audit, not of the API server: it would be half of all requests."""
    return len(world.audit.ended) > 0


async def _left(world: Cluster, scenario: Rehearsed) -> Json:
    job = await world.job(scenario.jobs[0]["kind"], "job")
    pods = await world.api.list("Pod")
    status: dict[str, Any] = job["status"]
    kinds = (*OWNED_KINDS, "PodGroup") if scenario.settings.gang_scheduler_name else OWNED_KINDS
    return {
        "conditions": [(c["type"], c["status"], c["reason"], c["message"]) for c in status["conditions"]],
        "replicas": status["replicaStatuses"],
        "generation": status["observedGeneration"],
        "attempt": status.get("attempt", 0),
        "times": sorted(key for key in status if key.endswith("Time")),
        "pods": sorted((pod["metadata"]["name"], pod["status"]["phase"]) for pod in pods),
        "services": await world.services(),
        "owned": [(kind, each["metadata"]["name"]) for kind in kinds for each in await world.api.list(kind)],
    }


REPRESENTATIVE = ("PyTorchJob", "MPIJob", "gang", "failing JAXJob", "JAXJob that restarts as a whole")
"""Pods that are replaced, owned objects, a PodGroup, a limit, attempts; `make weekly` plays all."""


@pytest.mark.parametrize("name", SCENARIOS if WEEKLY else REPRESENTATIVE)
async def test_operators_that_each_write_little(name: str) -> None:
    """In one of the plays or another each write is the last of an operator."""
    scenario = SCENARIOS[name]
    truth, writes = await end_of(scenario, [])
    assert writes > 10
    for each in (2, 3, 5) if WEEKLY else (3,):
        for first in range(1, each + 1):
            seen, _ = await end_of(scenario, [first, *[each] * 60])
            assert seen == truth, f"after {first} writes, then every {each}"


@pytest.mark.weekly
@pytest.mark.parametrize("name", SCENARIOS)
async def test_whatever_was_written_last_the_end_is_the_same(name: str) -> None:
    scenario = SCENARIOS[name]
    truth, writes = await end_of(scenario, [])
    for last in range(1, writes + 1):
        seen, _ = await end_of(scenario, [last])
        assert seen == truth, f"after write {last}"
