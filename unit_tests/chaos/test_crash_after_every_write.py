"""The operator ends after its n-th write, for every n, and is started again: what comes of the job is the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from unit_tests.chaos.kubelet import ScriptedKubelet
from unit_tests.chaos.scenario import Scenario, Slot
from unit_tests.simulation.api import Json
from unit_tests.simulation.audit import ENDS
from unit_tests.simulation.cluster import Cluster, cluster, now, until
from unit_tests.simulation.jobs import jax, pytorch

pytestmark = [pytest.mark.virtual_time, pytest.mark.no_cover]

DOWN = 2.0
"""Virtual seconds without operator after a crash."""


class Rehearsed(Scenario):
    """Runs long enough that no crash changes who is first: the master outlives what happens to the workers."""

    def run_time(self, slot: Slot, attempt: int) -> float:
        return 200.0 if slot[1] == "master" else 5.0


class Staggered(Rehearsed):
    """The later a worker, the longer it runs: nobody fails while another one does."""

    def run_time(self, slot: Slot, attempt: int) -> float:
        return super().run_time(slot, attempt) + 3.0 * slot[2]


def restarting_as_a_whole(job: Json) -> Json:
    job["metadata"]["annotations"] = {"extension.training.kubeflow.org/restart-scope": "job"}
    return job


SCENARIOS = {
    "PyTorchJob": Rehearsed(
        seed=0,
        jobs=[pytorch("job", workers=2, policy="ExitCode", cleanPodPolicy="All")],
        exits={("job", "worker", 0): [137], ("job", "worker", 1): [143, 137]},
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
        jobs=[restarting_as_a_whole(jax("job", workers=2, policy="OnFailure", cleanPodPolicy="All"))],
        exits={("job", "worker", 0): [1, 1]},
    ),
}


async def end_of(scenario: Scenario, crashes: list[int]) -> tuple[Json, int]:
    """Play the scenario with an operator that ends after so many writes, then the next one, and so on.

    Returns what is left, and how many writes the last operator made.
    """
    async with cluster(checks=False, kubelet=lambda api: ScriptedKubelet(api, now, scenario)) as world:
        supervisor = asyncio.create_task(_supervise(world, crashes))
        await world.api.create(scenario.jobs[0])
        await until(lambda: _ended(world, scenario), within=2000, step=1.0)
        await asyncio.sleep(30)
        supervisor.cancel()
        complaints = [text for process in world.processes for text in process.complaints]
        assert world.audit.complaints + complaints == []
        return await _left(world, scenario), world.processes[-1].transport.writes


async def _supervise(world: Cluster, crashes: list[int]) -> None:
    for writes in crashes:
        process = world.operator(die_after=writes)
        await process.over()
        await process.kill()
        await asyncio.sleep(DOWN)
    world.operator()


async def _ended(world: Cluster, scenario: Scenario) -> bool:
    job = await world.job(scenario.jobs[0]["kind"], "job")
    return any(c["type"] in ENDS and c["status"] == "True" for c in job.get("status", {}).get("conditions", []))


async def _left(world: Cluster, scenario: Scenario) -> Json:
    job = await world.job(scenario.jobs[0]["kind"], "job")
    pods = await world.api.list("Pod")
    status: dict[str, Any] = job["status"]
    return {
        "conditions": [(c["type"], c["status"], c["reason"], c["message"]) for c in status["conditions"]],
        "replicas": status["replicaStatuses"],
        "generation": status["observedGeneration"],
        "attempt": status.get("attempt", 0),
        "times": sorted(key for key in status if key.endswith("Time")),
        "pods": sorted((pod["metadata"]["name"], pod["status"]["phase"]) for pod in pods),
        "services": await world.services(),
    }


@pytest.mark.parametrize("name", SCENARIOS)
async def test_whatever_was_written_last_the_end_is_the_same(name: str) -> None:
    scenario = SCENARIOS[name]
    truth, writes = await end_of(scenario, [])
    assert writes > 25
    for last in range(1, writes + 1):
        seen, _ = await end_of(scenario, [last])
        assert seen == truth, f"after write {last}"


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("each", [2, 3, 5])
async def test_many_operators_that_each_write_little(name: str, each: int) -> None:
    scenario = SCENARIOS[name]
    truth, _ = await end_of(scenario, [])
    seen, _ = await end_of(scenario, [each] * 60)
    assert seen == truth
