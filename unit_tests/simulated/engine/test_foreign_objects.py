"""MPIJobs beside objects of others that have the names they need: nothing of others is used, and no pod starts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator

import pytest
from e2e.support.simulation.api import Api, Json
from e2e.support.simulation.cluster import Cluster, cluster, cluster_with_operator, started
from e2e.support.simulation.faults import rejecting, status
from e2e.support.simulation.jobs import conditions, controlled_by, extended, mpi

pytestmark = pytest.mark.virtual_time

SETTLED = 5.0
RETRIED = 130.0
"""By then a name that was taken has been tried again."""
PODS = ["mp-launcher", "mp-worker-0", "mp-worker-1"]
WIDE = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
CONTENT: dict[str, Json] = {
    "ConfigMap": {"data": {"kubexec.sh": "#!/bin/sh\necho mine", "ssh.sh": "#!/bin/sh\necho mine"}},
    "Role": {"rules": WIDE},
    "RoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "theirs"}},
    "Service": {"spec": {"clusterIP": "None", "selector": {"app": "theirs"}, "ports": [{"port": 1}]}},
}
OBJECTS = {
    "exec": {
        "ServiceAccount": "mp-launcher",
        "ConfigMap": "mp-config",
        "Role": "mp-launcher",
        "RoleBinding": "mp-launcher",
    },
    "ssh": {"ConfigMap": "mp-config", "Service": "mp-mpi"},
}
TAKEN = [(launch, kind, name) for launch, objects in OBJECTS.items() for kind, name in objects.items()]


def job(launch: str = "exec") -> Json:
    return extended(mpi(), "mpi-launch", launch)


def theirs(kind: str, name: str, **metadata: object) -> Json:
    group, _, version = Api.PATHS[kind][0].removeprefix("/api/").removeprefix("/apis/").rpartition("/")
    api_version = f"{group}/{version}" if group else version
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "labels": {"app": "mp"}, **metadata},
        **CONTENT.get(kind, {}),
    }


async def waiting(world: Cluster) -> Json:
    found: Json = (await world.job("MPIJob", "mp"))["status"].get("waiting", {})
    return found


async def found(world: Cluster, launch: str = "exec") -> set[str]:
    """The kinds of the objects beside the pods that are there and the job's own."""
    uid = (await world.job("MPIJob", "mp"))["metadata"]["uid"]
    objects = [(kind, await world.api.get(kind, name)) for kind, name in OBJECTS[launch].items()]
    return {kind for kind, each in objects if each and uid in owners(each)}


def owners(obj: Json) -> Iterator[str]:
    return (each["uid"] for each in obj["metadata"].get("ownerReferences", ()) if each.get("controller"))


@pytest.mark.parametrize(("launch", "kind", "name"), TAKEN)
async def test_no_pod_starts_with_what_is_not_the_job_s_own(launch: str, kind: str, name: str) -> None:
    async with cluster_with_operator() as (world, _):
        await world.api.create(theirs(kind, name))
        before = await world.api.get(kind, name)
        await world.api.create(job(launch))
        await asyncio.sleep(RETRIED)
        assert await world.pods() == []
        assert await world.api.get(kind, name) == before
        cause = await waiting(world)
        assert cause["reason"] == "NameTaken"
        assert cause["message"].startswith(f"NameTaken by a {kind} that no job controls: {kind} {name} already exists")
        assert await world.events("NameTaken") == [cause["message"]]
        bound = {"RoleBinding"} if kind == "Role" else set()
        assert await found(world, launch) == OBJECTS[launch].keys() - {kind} - bound
        await world.api.delete(kind, name)
        await asyncio.sleep(RETRIED)
        assert (await world.pods(), await found(world, launch)) == (PODS, set(OBJECTS[launch]))
        assert await waiting(world) == {}


@pytest.mark.parametrize(("launch", "kind", "name"), TAKEN)
async def test_a_pod_is_replaced_only_while_everything_is_the_job_s_own(launch: str, kind: str, name: str) -> None:
    async with cluster() as world:
        first = world.operator()
        await started(world, job(launch))
        await first.kill()
        await world.api.delete(kind, name)
        await world.api.create(theirs(kind, name))
        world.operator()
        await world.api.delete("Pod", "mp-worker-1", gracePeriodSeconds=0)
        await asyncio.sleep(SETTLED)
        assert await world.pods() == PODS[:2]
        assert (await waiting(world))["reason"] == "NameTaken"
        assert conditions(await world.job("MPIJob", "mp"))["Running"] == "True"


async def test_an_account_that_the_user_names_may_be_anybody_s() -> None:
    async with cluster_with_operator() as (world, _):
        await world.api.create(theirs("ServiceAccount", "mp-launcher"))
        body = job()
        body["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["serviceAccountName"] = "mp-launcher"
        await world.api.create(body)
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await waiting(world)) == (PODS, {})


@pytest.mark.parametrize("kind", ["ConfigMap", "Role"])
async def test_what_somebody_changed_and_nobody_can_change_back_starts_no_pod(kind: str) -> None:
    """A foreign object that names the job as its owner before the job has made its own."""
    plural = Api.PATHS[kind][1]
    async with cluster() as world:
        owner = controlled_by(await world.api.create(job()))
        await world.api.create(theirs(kind, OBJECTS["exec"][kind], **owner))
        process = world.operator()
        process.transport.reject = rejecting(status(422, "Invalid", "immutable"), plural, method="PUT")
        await asyncio.sleep(SETTLED)
        assert await world.pods() == []
        assert (await waiting(world))["message"] == f"{kind} {OBJECTS['exec'][kind]} cannot be replaced: immutable"
        assert await found(world) == OBJECTS["exec"].keys() - ({"RoleBinding"} if kind == "Role" else set())
        process.transport.reject = lambda _request: None
        await asyncio.sleep(RETRIED)
        assert (await world.pods(), await waiting(world)) == (PODS, {})


async def test_what_no_cache_shows_and_is_as_it_should_be_is_not_written_again() -> None:
    """The operator made it, and got no answer; its watch hangs."""
    async with cluster_with_operator() as (world, process):
        process.transport.frozen = lambda request: "/configmaps" in request.path
        process.transport.lose_answer = lambda request: request.method == "POST" and "/configmaps" in request.path
        await world.api.create(job())
        await asyncio.sleep(SETTLED)
        process.transport.lose_answer = lambda _request: False
        await asyncio.sleep(RETRIED)
        writes = [each.method for each in process.transport.sent if "/configmaps" in each.path and each.method != "GET"]
        assert (await world.pods(), set(writes)) == (PODS, {"POST"})
        assert len(writes) > 1


@pytest.mark.parametrize("held", [False, True])
async def test_what_no_cache_shows_is_made_as_it_should_be_before_pods_start(held: bool) -> None:
    """An object that the operator only learns of by the rejection to make it, because its watch hangs.

    Nothing starts with one that a finalizer holds.
    """
    async with cluster() as world:
        owner = controlled_by(await world.api.create(job()))
        process = world.operator()
        process.transport.frozen = lambda request: "/roles" in request.path
        process.transport.reject = rejecting(status(403, "Forbidden", "later"), "roles", method="POST")
        await asyncio.sleep(SETTLED)
        finalizers = ["example.com/held"] if held else []
        await world.api.create(theirs("Role", "mp-launcher", **owner, finalizers=finalizers))
        if held:
            await world.api.delete("Role", "mp-launcher")
        process.transport.reject = lambda _request: None
        await asyncio.sleep(RETRIED)
        role = await world.get("Role", "mp-launcher")
        assert ("*" in json.dumps(role["rules"])) is held
        assert await world.pods() == ([] if held else PODS)


@pytest.mark.parametrize("kind", ["ServiceAccount", "ConfigMap", "Role"])
async def test_what_is_on_its_way_out_starts_no_pod_and_gets_no_binding(kind: str) -> None:
    async with cluster() as world:
        owner = controlled_by(await world.api.create(job()))
        name = OBJECTS["exec"][kind]
        await world.api.create(theirs(kind, name, **owner, finalizers=["example.com/held"]))
        await world.api.delete(kind, name)
        world.operator()
        await asyncio.sleep(RETRIED)
        assert await world.pods() == []
        cause = await waiting(world)
        assert (cause["reason"], cause["message"]) == (
            "Terminating",
            f"{kind} {name} was deleted but still exists: a finalizer may block its deletion",
        )
        assert ("RoleBinding" in await found(world)) is (kind != "Role")
        await world.api.patch(kind, name, {"metadata": {"finalizers": None}})
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await waiting(world)) == (PODS, {})


async def test_what_an_earlier_job_left_starts_no_pod() -> None:
    async with cluster() as world:
        owner = {"apiVersion": "kubeflow.org/v1", "kind": "MPIJob", "name": "mp", "uid": "earlier", "controller": True}
        left = theirs("ConfigMap", "mp-config", ownerReferences=[owner], finalizers=["example.com/held"])
        world.operator()
        await world.api.create(left)
        await world.api.create(job())
        await asyncio.sleep(SETTLED)
        assert await world.pods() == []
        cause = await waiting(world)
        assert (cause["reason"], "ConfigMap mp-config still exists" in cause["message"]) == ("Terminating", True)
        await world.api.patch("ConfigMap", "mp-config", {"metadata": {"finalizers": None}})
        await asyncio.sleep(RETRIED)
        assert (await world.pods(), await waiting(world)) == (PODS, {})


async def test_an_error_that_is_over_is_not_in_the_status_any_more() -> None:
    """What could not be created is created by another client: nothing is left to be done, or to wait for."""
    async with cluster() as world:
        rejection = rejecting(status(403, "Forbidden", "no"), "rolebindings", method="POST")
        world.operator().transport.reject = rejection
        owner = controlled_by(await world.api.create(job()))
        await asyncio.sleep(SETTLED)
        assert (await waiting(world))["message"] == "RoleBinding mp-launcher cannot be created: no"
        await world.api.create(theirs("RoleBinding", "mp-launcher", **owner))
        await asyncio.sleep(SETTLED)
        assert (await world.pods(), await waiting(world)) == (PODS, {})
