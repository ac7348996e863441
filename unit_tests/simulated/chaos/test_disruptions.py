"""Evictions and lost nodes beside everything else that goes wrong: restarts stay exact, no replica has two live pods.

To see one of the worlds again: `make test ARGS="unit_tests/simulated/chaos/test_disruptions.py -k seed-17-"`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from datetime import timedelta

import pytest
from e2e.support.simulation.api import Json, Rejected
from e2e.support.simulation.audit import is_duplicate, is_live
from e2e.support.simulation.cluster import Cluster, now
from e2e.support.simulation.nodes import Nodes
from e2e.support.simulation.process import SETTINGS
from unit_tests.simulated.chaos.kubelet import ScriptedKubelet
from unit_tests.simulated.chaos.play import DISTURBED, Played, disturbed, undisturbed_once
from unit_tests.simulated.chaos.scenario import Scenario, draw
from unit_tests.simulated.chaos.seeds import seeds

from training_api.constants import ATTEMPT_ANNOTATION
from training_controllers.model.annotations import DISRUPTIONS, RESTART_SCOPE

pytestmark = pytest.mark.virtual_time

DISTURBANCES = 3
"""So many seeds in a row have the same jobs and users, and disturb them in different ways."""
PATIENCE = timedelta(seconds=6)
WATCHFUL = SETTINGS.model_copy(update={"replace_pods_on_lost_nodes_after": PATIENCE})
NODES = ("node-0", "node-1", "node-2")


def mode_of(seed: int) -> str:
    """Every other world counts disruptions."""
    return ("restart", "count")[seed // DISTURBANCES % 2]


def drawn(seed: int) -> Scenario:
    """The scenario of a seed, except that no job has a limit, which a counted disruption would bring nearer.

    Every third scenario's jobs restart as a whole; of these only the end is certain.
    """
    scenario = draw(seed)
    for job in scenario.jobs:
        job["metadata"].setdefault("annotations", {})[DISRUPTIONS.annotation] = mode_of(seed * DISTURBANCES)
        job["spec"]["runPolicy"].pop("backoffLimit", None)
        if seed % 3 == 2:
            job["metadata"]["annotations"][RESTART_SCOPE.annotation] = "job"
            scenario.timely.add(job["metadata"]["name"])
    if seed % 3 == 2:
        scenario.exits = {slot: codes[:1] for slot, codes in scenario.exits.items()}
    return scenario


truth_of = undisturbed_once(drawn)


async def evictions(world: Cluster, rng: random.Random) -> None:
    """Kubelets end pods, because their nodes are short of memory."""
    kubelet, clock = world.kubelet, asyncio.get_running_loop().time
    assert isinstance(kubelet, ScriptedKubelet)
    low: Json = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
    target = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}
    while clock() < DISTURBED - 8:
        await asyncio.sleep(rng.uniform(1, 8))
        pods = [pod for pod in await world.api.list("Pod") if is_live(pod) and pod["spec"].get("nodeName")]
        pods = [pod for pod in pods if not is_duplicate(pod) and pod["spec"]["nodeName"] not in kubelet.dead]
        if pods:
            meta = rng.choice(pods)["metadata"]
            kubelet.evicted.add(meta["uid"])
            with contextlib.suppress(Rejected):
                # Without the condition, and without a word of its containers, a pod may never have begun to run.
                plain = ATTEMPT_ANNOTATION not in meta.get("annotations", {}) and rng.random() < 0.5
                patch = {"metadata": {"uid": meta["uid"]}, "status": low if plain else {**low, "conditions": [target]}}
                await world.api.patch("Pod", meta["name"], patch, "status")


async def drains(world: Cluster, rng: random.Random) -> None:
    """People drain nodes."""
    clock = asyncio.get_running_loop().time
    while clock() < DISTURBED - 8:
        await asyncio.sleep(rng.uniform(2, 8))
        if pods := [pod for pod in await world.api.list("Pod") if is_live(pod)]:
            name = rng.choice(pods)["metadata"]["name"]
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            with contextlib.suppress(Rejected):
                await world.api.send("POST", world.api.path("Pod", name, "eviction"), body)


async def lost_nodes(world: Cluster, rng: random.Random) -> None:
    """Nodes fall silent, some of them are deleted, and all of them come back."""
    kubelet, clock, nodes = world.kubelet, asyncio.get_running_loop().time, Nodes(world.api, now)
    await nodes.join(*NODES)
    while clock() < DISTURBED - 8:
        name, deleted = rng.choice(NODES), rng.random() < 0.4
        kubelet.node = rng.choice([each for each in NODES if each != name])
        kubelet.dead.add(name)
        if deleted:
            await nodes.leave(name)
        else:
            await nodes.ready(name, rng.choice(["Unknown", "False"]))
        await asyncio.sleep(rng.uniform(0.5, 3) * PATIENCE.total_seconds())
        if deleted:
            await nodes.join(name)
        else:
            await nodes.ready(name)
        kubelet.dead.discard(name)
        await asyncio.sleep(rng.uniform(0, 3))


@pytest.mark.parametrize("seed", seeds(8, weekly=200))
async def test_disruptions_are_replaced_and_counted_exactly(seed: int, truth: Played) -> None:
    """Only what a kubelet reports is counted for certain: a pod may be gone before its eviction is observed."""
    assert truth.complaints == []
    counting = mode_of(seed) == "count"
    settings, others = (SETTINGS, [evictions]) if counting else (WATCHFUL, [evictions, drains, lost_nodes])
    seen = await disturbed(drawn(seed // DISTURBANCES), truth, seed, settings, others)
    assert not seen.complaints, "\n".join(seen.complaints)
