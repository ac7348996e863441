import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from unit_tests.operator.memory_api import MemoryApi, Network
from unit_tests.operator.scripted_api import ScriptedApi, answer

from training_api.registry import KINDS
from training_controllers.model.owned_objects import KEYS
from training_controllers.model.records import JobRecord, ServiceRecord
from training_controllers.ports import AlreadyExists, Conflict, NotFound
from training_operator.adapters import CachedDependents, CachedJobs, CachedServices, UnwatchedDependents
from training_operator.cache.labelled import Labelled
from training_operator.cache.store import Change, Store
from training_operator.kube.client import KubeClient
from training_operator.kube.flow import FairGate
from training_operator.kube.resources import SERVICES, jobs, owned_resource

pytestmark = pytest.mark.virtual_time
OWNER = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "sim", "uid": "job", "controller": True}


def service(name: str = "sim-worker-0", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "ownerReferences": [OWNER]},
        "spec": {"clusterIP": "None", "ports": [{"port": 1}]} | spec,
    }


class World:
    def __init__(self) -> None:
        self.api = MemoryApi()
        self.network: Network = self.api.network()
        self.store = Store[ServiceRecord]()
        self.changes = list[Change[ServiceRecord]]()
        self.store.subscribe(self.changes.append)
        self.services = CachedDependents(self.network.client(), SERVICES, self.store)


@pytest.mark.shows("K-23")
async def test_what_was_created_is_in_the_cache_at_once() -> None:
    world = World()
    created = await world.services.create("default", service(), flow="job")
    assert world.services.of_job("default", "job") == (created,)
    assert world.changes == [Change(None, created)]
    with pytest.raises(AlreadyExists):
        await world.services.create("default", service(), flow="job")


async def test_a_lost_answer_is_no_failure() -> None:
    world = World()
    world.network.lost_answers = 1
    created = await world.services.create("default", service(), flow="job")
    assert world.services.of_job("default", "job") == (created,)


async def test_reading_asks_the_server() -> None:
    world = World()
    assert await world.services.read("default", "sim-worker-0", flow="job") is None
    created = await world.services.create("default", service(), flow="job")
    assert await world.services.read("default", "sim-worker-0", flow="job") == created


async def test_what_is_read_is_cached_if_it_is_the_job_s_and_watched() -> None:
    """Its creation was answered with a conflict, and the watch may be late, or never show it."""
    world = World()
    created = await world.network.client().create(SERVICES, "default", service())
    await world.services.read("default", "sim-worker-0", flow="job")
    assert len(world.store) == 0, "not watched"
    world.store.advance("0")
    await world.services.read("default", "sim-worker-0", flow="another")
    assert len(world.store) == 0, "another's"
    await world.services.read("default", "sim-worker-0", flow="job")
    assert world.services.of_job("default", "job") == (created,)


async def test_replacing_presupposes_the_known_version() -> None:
    world = World()
    created = await world.services.create("default", service(), flow="job")
    replaced = await world.services.replace(created, service(publishNotReadyAddresses=True), flow="job")
    assert replaced.version != created.version
    assert world.services.of_job("default", "job") == (replaced,)
    with pytest.raises(Conflict):
        await world.services.replace(created, service(), flow="job")


async def test_a_patch_presupposes_the_known_version_and_leaves_the_rest() -> None:
    world = World()
    created = await world.services.create("default", service(), flow="job")
    patched = await world.services.patch(created, {"spec": {"publishNotReadyAddresses": True}}, flow="job")
    assert world.services.of_job("default", "job") == (patched,)
    assert (patched.uid, patched.version != created.version) == (created.uid, True)
    with pytest.raises(Conflict):
        await world.services.patch(created, {"spec": {"publishNotReadyAddresses": False}}, flow="job")


async def test_deleting_presupposes_the_known_uid() -> None:
    world = World()
    created = await world.services.create("default", service(), flow="job")
    await world.services.delete(created, flow="job")
    assert world.services.of_job("default", "job") == ()
    assert await world.services.read("default", "sim-worker-0", flow="job") is None
    await world.network.client().create(SERVICES, "default", service())
    with pytest.raises(Conflict):
        await world.services.delete(created, flow="job")


async def test_what_lingers_stays_in_the_cache_as_deleting() -> None:
    world = World()
    held = service()
    held["metadata"]["finalizers"] = ["example.com/hold"]
    created = await world.services.create("default", held, flow="job")
    await world.services.delete(created, flow="job")
    [lingering] = world.services.of_job("default", "job")
    assert lingering.deleting


JOB = {"metadata": {"name": "sim", "namespace": "ns", "uid": "u", "resourceVersion": "8"}, "status": {}}


async def test_a_job_s_status_is_written_for_one_version_and_cached() -> None:
    api, store = ScriptedApi([answer(200, JOB), answer(200, {"kind": "Status"})]), Store[JobRecord]()
    client = KubeClient(api, FairGate(), random.Random(1))
    port = CachedJobs(client, jobs(KINDS["PyTorchJob"]), store)
    changes = list[Change[JobRecord]]()
    store.subscribe(changes.append)
    stored = await port.patch_status(JobRecord("ns", "sim", "u", "7", b"{}"), {"startTime": None})
    assert port.get(("ns", "sim")) == stored
    assert changes == [Change(None, stored, expected=True)]
    assert stored.version == "8"
    request = api.requests[0]
    assert request.path == "/apis/kubeflow.org/v1/namespaces/ns/pytorchjobs/sim/status"
    assert request.body == b'{"metadata":{"resourceVersion":"7"},"status":{"startTime":null}}'
    await port.delete(stored)
    assert api.requests[1].body == b'{"propagationPolicy":"Background","preconditions":{"uid":"u"}}'


async def test_what_the_server_says_is_gone_leaves_the_cache_at_once() -> None:
    store = Store[ServiceRecord]()
    record = ServiceRecord("ns", "a", "u", "3", None, "worker", 0)
    store.observe(record)
    client = KubeClient(ScriptedApi([answer(200, {"kind": "Status"})]), FairGate(), random.Random(1))
    await CachedDependents(client, SERVICES, store).delete(record, flow="job")
    store.observe(ServiceRecord("ns", "a", "u", "4", None, "worker", 0))  # the watch lags
    assert len(store) == 0


@pytest.mark.parametrize(("details", "left"), [({"name": "a"}, 0), ({}, 1), (None, 1)])
async def test_what_the_server_says_was_gone_already_leaves_the_cache_too(details: Any, left: int) -> None:
    """But not where it says that it does not know the resource, as one that has just been started may."""
    store = Store[ServiceRecord]()
    record = ServiceRecord("ns", "a", "u", "3", None, "worker", 0)
    store.observe(record)
    missing = {"kind": "Status", "reason": "NotFound", "code": 404, "details": details}
    client = KubeClient(ScriptedApi([answer(404, missing)]), FairGate(), random.Random(1))
    with pytest.raises(NotFound):
        await CachedDependents(client, SERVICES, store).delete(record, flow="job")
    assert len(store) == left


async def test_a_job_that_is_gone_is_not_found() -> None:
    world = World()
    port = CachedJobs(world.network.client(), jobs(KINDS["PyTorchJob"]), Store[JobRecord]())
    with pytest.raises(NotFound):
        await port.delete(JobRecord("default", "sim", "u", "7", b"{}"))
    assert asyncio.get_running_loop().time() == 0


async def test_what_is_only_written_is_neither_kept_nor_read_back() -> None:
    world = World()
    keys = UnwatchedDependents(world.network.client(), owned_resource(KEYS))
    metadata = {"name": "keys", "ownerReferences": [OWNER]}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    created = await keys.create("default", body, flow="job")
    assert (created.owner and created.owner.uid, created.content) == ("job", b"null")
    assert keys.of_job("default", "job") == ()
    world.network.lost_answers = 1
    with pytest.raises(AlreadyExists):
        await keys.create("default", {**body, "metadata": {**metadata, "name": "more"}}, flow="job")


class OfOneJob:
    """Three services of a job, as a watch has shown them, and a port that may delete them together."""

    def __init__(self, label: str = "training.kubeflow.org/job-name") -> None:
        self.labels = {label: "sim"}
        self.api = MemoryApi()
        self.network = self.api.network()
        self.store = Store[ServiceRecord]()
        self.port = CachedServices(self.network.client(), self.store, Labelled(self.store))

    async def create(self, name: str, owned: bool = True) -> ServiceRecord:
        body = service(name)
        body["metadata"] |= {"labels": self.labels, "ownerReferences": [OWNER] if owned else []}
        return await self.network.client().create(SERVICES, "default", body)

    async def watched(self, names: Sequence[str] = ("a", "b", "c")) -> list[ServiceRecord]:
        records = [await self.create(name) for name in names]
        for record in records:
            self.store.observe(record)
        return records

    async def names(self) -> list[str]:
        found = await self.api.read("/api/v1/namespaces/default/services")
        return [each["metadata"]["name"] for each in found["items"]]


async def test_services_of_one_job_are_deleted_by_one_request_and_leave_the_cache() -> None:
    world = OfOneJob()
    for _ in range(2):
        assert await world.port.delete_together(await world.watched(), flow="job")
        assert (await world.names(), len(world.store)) == ([], 0)
    assert [request.method for request in world.network.requests] == (["POST"] * 3 + ["DELETE"]) * 2


async def test_what_gets_the_label_after_the_cache_has_seen_it_is_not_deleted_together() -> None:
    world = OfOneJob()
    records = await world.watched()
    await world.create("stranger", owned=False)
    assert await world.port.delete_together(records, flow="job")
    assert await world.names() == ["stranger"]


async def test_where_the_label_selects_anything_else_nothing_is_deleted_together() -> None:
    world = OfOneJob()
    *records, kept = await world.watched()
    assert not await world.port.delete_together(records, flow="job"), "one of the job itself, that is to stay"
    world.store.remove(kept)
    world.store.observe(await world.create("stranger", owned=False))
    assert not await world.port.delete_together(records, flow="job")
    assert await world.names() == ["a", "b", "c", "stranger"]


async def test_a_service_newer_than_what_the_watch_has_shown_is_not_deleted_together() -> None:
    world = OfOneJob()
    records = await world.watched()
    newer = await world.create("d")
    world.store.put(newer)
    assert not await world.port.delete_together([*records, newer], flow="job")
    assert await world.names() == ["a", "b", "c", "d"]


async def test_services_without_the_label_are_not_deleted_together() -> None:
    world = OfOneJob(label="app")
    records = await world.watched()
    assert not await world.port.delete_together(records, flow="job")


async def test_a_version_that_the_server_has_forgotten_leaves_them_to_be_deleted_one_by_one() -> None:
    world = OfOneJob()
    records = await world.watched()
    expired = answer(410, {"kind": "Status", "reason": "Expired", "code": 410})
    store = Store[ServiceRecord]()
    client = KubeClient(ScriptedApi([expired, answer(200, {})]), FairGate(), random.Random(1))
    port = CachedServices(client, store, Labelled(store))
    for record in records:
        store.observe(record)
    assert not await port.delete_together(records, flow="job")
    assert await port.delete_together(records, flow="job"), "the next one is sent again"


async def test_a_deletion_without_answer_is_not_repeated() -> None:
    """By the time of a repetition the names of the list might be those of other objects."""
    world = OfOneJob()
    records = await world.watched()
    world.network.lost_answers = 1
    with pytest.raises(OSError, match="lost"):
        await world.port.delete_together(records, flow="job")
    assert [request.method for request in world.network.requests].count("DELETE") == 1
