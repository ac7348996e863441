"""Objects that name a job as their owner from another namespace: no reference, whatever kind they are of."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from e2e.support.simulation.api import Json
from e2e.support.simulation.cluster import Cluster, cluster
from e2e.support.simulation.gang import install, set_phase
from e2e.support.simulation.jobs import elastic, extended, jax, mpi
from e2e.support.simulation.process import SETTINGS

from training_controllers.model.owned_objects import OWNED_KINDS
from training_operator.settings import Settings

pytestmark = pytest.mark.virtual_time

SETTLED = 5.0
HELD = "example.com/held"
"""A finalizer: otherwise the garbage collector would take what it finds with an owner elsewhere."""
SET_BY_THE_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields")


@dataclass(frozen=True)
class Case:
    """A job, and the kinds of the objects that it owns."""

    job: Json
    kinds: frozenset[str]
    settings: Settings = SETTINGS


GANG = SETTINGS.model_copy(update={"gang_scheduler_name": "Volcano"})
CASES = {
    "services": Case(jax(), frozenset({"Pod", "Service"})),
    "autoscaler": Case(elastic(), frozenset({"Pod", "Service", "HorizontalPodAutoscaler"})),
    "exec": Case(mpi(), frozenset({"Pod", "ServiceAccount", "ConfigMap", "Role", "RoleBinding"})),
    "ssh": Case(extended(mpi(), "mpi-launch", "ssh"), frozenset({"Pod", "Service", "ConfigMap"})),
    "gang": Case(jax(), frozenset({"Pod", "Service", "PodGroup"}), GANG),
}


def test_the_cases_have_all_kinds_that_are_cached() -> None:
    cached = {kind.name for kind in OWNED_KINDS.values() if kind.watched}
    assert {kind for case in CASES.values() for kind in case.kinds} == {"Pod", "Service", *cached}


async def owned(world: Cluster, uid: str, kinds: frozenset[str], namespace: str = "default") -> dict[str, Json]:
    """The objects that name this uid as their controller, by kind and name."""
    found = {kind: await world.api.list(kind, namespace) for kind in sorted(kinds)}
    return {
        f"{kind} {each['metadata']['name']}": {**each, "kind": kind}
        for kind, objects in found.items()
        for each in objects
        if any(reference["uid"] == uid for reference in each["metadata"].get("ownerReferences", ()))
    }


async def run(world: Cluster, case: Case) -> None:
    """Let a new operator do all it does for the job."""
    process = world.operator(settings=case.settings)
    await asyncio.sleep(SETTLED)
    if case.settings is GANG:
        await set_phase(world.api, case.job["metadata"]["name"], "Running")
        await asyncio.sleep(SETTLED)
    await process.kill()


async def move(world: Cluster, obj: Json) -> None:
    """Put a copy of the object into the other namespace, with labels, owner and all, in place of the object itself."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SET_BY_THE_SERVER}
    copy = {**obj, "metadata": {**metadata, "namespace": "other", "finalizers": [HELD]}}
    await world.api.create(copy)
    await world.api.delete(obj["kind"], metadata["name"], gracePeriodSeconds=0)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_what_is_in_another_namespace_is_neither_taken_for_the_job_s_nor_touched(case: Case) -> None:
    async with cluster() as world:
        if case.settings is GANG:
            await install(world.api)
        await world.api.send("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
        uid = (await world.api.create(case.job))["metadata"]["uid"]
        await run(world, case)
        before = await owned(world, uid, case.kinds)
        assert {each["kind"] for each in before.values()} == case.kinds
        for each in before.values():
            await move(world, each)
        planted = await owned(world, uid, case.kinds, "other")
        assert (await owned(world, uid, case.kinds), planted.keys()) == ({}, before.keys())
        await run(world, case)
        assert (await owned(world, uid, case.kinds)).keys() == before.keys()
        left = await owned(world, uid, case.kinds, "other")
        assert {name: each.get("spec") for name, each in left.items()} == {
            name: each.get("spec") for name, each in planted.items()
        }
