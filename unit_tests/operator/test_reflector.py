import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs
from unit_tests.operator.scripted_api import FOREVER, Script, ScriptedApi, answer, bookmark, event, pod, rejection

from training_controllers.model.records import PodRecord
from training_operator.cache.reflector import ABSENT_DELAY, Reflector
from training_operator.cache.store import Store
from training_operator.kube.client import KubeClient
from training_operator.kube.flow import FairGate
from training_operator.kube.resources import PODS
from training_operator.kube.transport import Response

pytestmark = pytest.mark.virtual_time


class World:
    """A reflector of pods on a scripted server."""

    def __init__(
        self, watches: Iterable[Script] = (), answers: Iterable[Response | Exception] = (), **options: Any
    ) -> None:
        self.api = ScriptedApi(answers, watches)
        self.store = Store[PodRecord]()
        client = KubeClient(self.api, FairGate(), random.Random(1))
        self.reflector = Reflector(client, PODS, self.store, rng=random.Random(2), **options)

    @asynccontextmanager
    async def running(self, seconds: float = 100.0) -> AsyncIterator[None]:
        task = asyncio.create_task(self.reflector.run())
        await asyncio.sleep(seconds)
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    @property
    def known(self) -> dict[str, str]:
        return {record.name: record.version for record in self.store}

    @property
    def queries(self) -> list[dict[str, str]]:
        return [dict(request.query) for request in self.api.requests]


def initial(*pods: dict[str, Any], version: str = "10") -> list[bytes]:
    return [*(event("ADDED", each) for each in pods), bookmark(version, end=True)]


async def test_initial_events_and_changes_come_on_one_watch() -> None:
    changes = [event("MODIFIED", pod("a", "11")), event("DELETED", pod("b", "12")), event("ADDED", pod("c", "13"))]
    world = World([[*initial(pod("a", "1"), pod("b", "2")), *changes, FOREVER]], selector="job", namespace="ns")
    async with world.running():
        assert world.known == {"a": "11", "c": "13"}
        assert world.store.version == "13"
    assert world.reflector.synced.is_set()
    [query] = world.queries
    assert query["sendInitialEvents"] == "true"
    assert query["labelSelector"] == "job"
    assert "resourceVersion" not in query
    assert world.api.requests[0].path == "/api/v1/namespaces/ns/pods"
    assert 300 <= int(query["timeoutSeconds"]) <= 600


async def test_nothing_shows_before_everything_is_there() -> None:
    unknown = event("DELETED", pod("c", "1"))
    world = World([[unknown, event("ADDED", pod("a", "1")), event("ADDED", pod("b", "2")), bookmark("3"), FOREVER]])
    async with world.running():
        assert world.known == {}
        assert not world.reflector.synced.is_set()
        assert not world.reflector.settled.is_set()


async def test_what_vanishes_during_the_initial_events_is_not_there() -> None:
    gone = [event("DELETED", pod("a", "2")), event("DELETED", pod("never-seen", "2"))]
    world = World([[event("ADDED", pod("a", "1")), *gone, bookmark("3", end=True), FOREVER]])
    async with world.running():
        assert (world.known, world.reflector.synced.is_set()) == ({}, True)
    [query] = world.queries
    assert "labelSelector" not in query


async def test_a_server_without_initial_events_is_listed_in_pages() -> None:
    pages = [
        answer(200, {"metadata": {"resourceVersion": "10", "continue": "more"}, "items": [pod("a", "1")]}),
        answer(200, {"metadata": {"resourceVersion": "10"}, "items": [pod("b", "2")]}),
    ]
    watch: Script = [event("ADDED", pod("c", "11")), FOREVER]
    script = [rejection(422, "Invalid", "sendInitialEvents is forbidden"), watch]
    world = World(script, pages, selector="job", namespace="ns")
    async with world.running():
        assert world.known == {"a": "1", "b": "2", "c": "11"}
    assert world.queries[1] == {"limit": "500", "labelSelector": "job"}
    assert world.queries[2] == {"limit": "500", "labelSelector": "job", "continue": "more"}
    assert {request.path for request in world.api.requests} == {"/api/v1/namespaces/ns/pods"}
    assert world.queries[3]["resourceVersion"] == "10"
    assert "sendInitialEvents" not in world.queries[3]


async def test_a_watch_that_ends_goes_on_where_it_was() -> None:
    scripts: list[Script] = [
        [*initial(pod("a", "1")), bookmark("20"), "300"],
        [event("ADDED", pod("b", "21")), "1.5"],
        [FOREVER],
    ]
    broken = list[int]()
    world = World(scripts, undecodable=lambda: broken.append(1))
    async with world.running(400):
        assert world.known == {"a": "1", "b": "21"}
    assert [query.get("resourceVersion") for query in world.queries] == [None, "20", "21"]
    assert world.api.times == pytest.approx([0, 300, 301.5])
    assert {request.path for request in world.api.requests} == {"/api/v1/pods"}
    assert broken == []


async def test_a_broken_connection_goes_on_where_it_was() -> None:
    broken: Script = [*initial(pod("a", "1")), "50", ConnectionResetError()]
    world = World([broken, [event("ADDED", pod("b", "21")), FOREVER]])
    with capture_logs() as logs:
        async with world.running():
            assert world.known == {"a": "1", "b": "21"}
    assert world.queries[1]["resourceVersion"] == "10"
    assert logs[0]["error"] == "ConnectionResetError"
    assert [line["event"] for line in logs] == [
        "cannot list or watch the resource: retrying",
        "watch established again",
    ]


@pytest.mark.parametrize("gone", [rejection(410, "Expired"), [event("ERROR", {"code": 410, "reason": "Expired"})]])
async def test_a_version_that_is_too_old_leads_to_a_new_list_that_reports_what_vanished(gone: Script) -> None:
    world = World(
        [[*initial(pod("a", "1"), pod("b", "2")), "50"], gone, [*initial(pod("b", "30"), version="31"), FOREVER]]
    )
    vanished = list[str]()
    world.store.subscribe(lambda change: vanished.append(change.old.name) if change.old and not change.new else None)
    async with world.running():
        assert world.known == {"b": "30"}
    assert vanished == ["a"]
    assert "sendInitialEvents" in world.queries[2]


async def test_failures_wait_longer_and_longer_and_are_logged_once() -> None:
    world = World([rejection(500, "InternalError", "etcd is down")] * 8 + [[*initial(), FOREVER]])
    with capture_logs() as logs:
        async with world.running(300):
            assert world.reflector.synced.is_set()
    pauses = [after - before for before, after in zip(world.api.times, world.api.times[1:], strict=False)]
    for pause, shortest in zip(pauses, (0.8, 1.6, 3.2, 6.4, 12.8, 25.6), strict=False):
        assert shortest <= pause <= 2 * shortest
    assert len({query["timeoutSeconds"] for query in world.queries}) > 5, "watches end at different times"
    assert all(30 <= pause <= 60 for pause in pauses[6:])
    assert [line["log_level"] for line in logs] == ["warning", "info"]
    assert logs[0]["error"] == "etcd is down"
    assert logs[0]["resource"] == "pods"


async def test_after_a_long_calm_the_first_failure_waits_shortly() -> None:
    failing = [rejection(500, "InternalError")] * 6
    world = World([*failing, [*initial(), "200", ConnectionResetError()], [FOREVER]])
    async with world.running(500):
        pass
    assert world.api.times[7] - world.api.times[6] - 200 <= 1.6


async def test_a_busy_server_that_ends_each_watch_after_an_event_is_asked_again_without_a_pause() -> None:
    changes: list[Script] = [[event("MODIFIED", pod("a", str(version)))] for version in range(11, 31)]
    world = World([initial(pod("a", "1")), *changes, [FOREVER]])
    async with world.running(0.1):
        assert world.known == {"a": "30"}


async def test_watches_that_end_at_once_are_not_repeated_in_a_rush() -> None:
    world = World([initial(), *[[bookmark("10")]] * 4, [FOREVER]])
    async with world.running():
        pass
    assert all(after - before >= 0.8 for before, after in zip(world.api.times[1:], world.api.times[2:], strict=False))


async def test_initial_events_that_break_off_begin_again() -> None:
    world = World([[event("ADDED", pod("a", "1"))], [*initial(pod("a", "1")), FOREVER]])
    async with world.running():
        assert world.known == {"a": "1"}
    assert "sendInitialEvents" in world.queries[1]


async def test_a_missing_resource_is_logged_once_and_waited_for() -> None:
    world = World([rejection(404, "NotFound", "could not find it")] * 3 + [[*initial(pod("a", "1")), FOREVER]])
    with capture_logs() as logs:
        async with world.running(3):
            assert world.reflector.settled.is_set()
            assert not world.reflector.synced.is_set()
            assert world.reflector.last_error == "the API server does not have pods"
            await asyncio.sleep(60)
            assert world.known == {"a": "1"}
            assert world.reflector.last_error == ""
    assert [(line["log_level"], line["event"]) for line in logs] == [
        ("warning", "the API server does not have this resource yet: waiting for it"),
        ("info", "watch established again"),
    ]


async def test_what_is_known_survives_one_look_that_finds_no_resource_but_not_two() -> None:
    missing = rejection(404, "NotFound", "could not find it")
    world = World([[*initial(pod("a", "1"))], missing, missing, [*initial(pod("b", "2")), FOREVER]])
    async with world.running(ABSENT_DELAY - 1):
        assert world.known == {"a": "1"}
        await asyncio.sleep(ABSENT_DELAY + 2)
        assert (world.known, world.store.version) == ({}, "")
        await asyncio.sleep(2 * ABSENT_DELAY)
        assert world.known == {"b": "2"}


async def test_a_missing_permission_is_logged_and_waited_for() -> None:
    message = 'pods is forbidden: User "x" cannot list resource "pods" in API group ""'
    world = World([rejection(403, "Forbidden", message)] * 2 + [[*initial(), FOREVER]])
    with capture_logs() as logs:
        async with world.running(1):
            assert world.reflector.last_error == message
            assert not world.reflector.settled.is_set()
            await asyncio.sleep(60)
            assert world.reflector.synced.is_set()
    assert [line["error"] for line in logs if "error" in line] == [message]


BROKEN = pod("bad", "30", labels={"a": 1})


async def test_an_object_that_cannot_be_decoded_is_one_bad_object() -> None:
    counted = list[int]()
    watch = [*initial(pod("bad", "1"), pod("a", "2")), event("MODIFIED", BROKEN), event("MODIFIED", pod("a", "31"))]
    world = World([[*watch, FOREVER]], undecodable=lambda: counted.append(1))
    with capture_logs() as logs:
        async with world.running():
            assert world.known == {"bad": "1", "a": "31"}
    assert counted == [1]
    assert (logs[0]["namespace"], logs[0]["name"]) == ("ns", "bad")
    assert "labels" in logs[0]["error"]


async def test_a_list_keeps_the_old_record_of_an_object_that_cannot_be_decoded() -> None:
    world = World(
        [[*initial(pod("bad", "1")), "5"], rejection(410, "Expired"), [*initial(BROKEN, version="31"), FOREVER]]
    )
    async with world.running():
        assert world.known == {"bad": "1"}


async def test_the_version_advances_over_an_object_that_cannot_be_decoded() -> None:
    world = World([[*initial(), event("ADDED", BROKEN), "5"], [FOREVER]])
    async with world.running():
        pass
    assert world.queries[1]["resourceVersion"] == "30"


async def test_what_the_store_has_in_this_version_is_not_decoded_again() -> None:
    decoded_in_vain = list[int]()
    written = BROKEN["metadata"] | {"labels": {}}
    world = World(
        [[*initial(), "5", event("MODIFIED", BROKEN), FOREVER]], undecodable=lambda: decoded_in_vain.append(1)
    )
    async with world.running(1):
        world.store.put(PODS.decode(msgspec.json.encode({"metadata": written})))
        await asyncio.sleep(10)
        assert (world.store.version, decoded_in_vain) == ("30", [])


async def test_a_deletion_in_the_version_that_the_store_has_is_one() -> None:
    """The answer to our request to delete it had that version."""
    world = World([[*initial(), "5", event("DELETED", pod("a", "12")), FOREVER]])
    async with world.running(1):
        world.store.put(PODS.decode(msgspec.json.encode(pod("a", "12"))))
        await asyncio.sleep(10)
        assert world.known == {}


async def test_a_line_that_is_no_json_does_not_end_it() -> None:
    world = World([[*initial(), b"{nonsense"], [event("ADDED", pod("a", "11")), FOREVER]])
    async with world.running():
        assert world.known == {"a": "11"}


async def test_only_what_is_wanted_is_kept() -> None:
    def keep(record: PodRecord) -> bool:
        return record.phase != "Failed"

    failed = {"status": {"phase": "Failed"}}
    begin = initial(pod("a", "1"), pod("b", "2") | failed)
    world = World([[*begin, "5", event("MODIFIED", pod("a", "12") | failed), FOREVER]], keep=keep)
    async with world.running(2):
        assert world.known == {"a": "1"}
        await asyncio.sleep(10)
        assert world.known == {}


async def test_progress_is_noted() -> None:
    world = World([[*initial(), "70", bookmark("11"), FOREVER]])
    async with world.running(100):
        assert world.reflector.progress == pytest.approx(70)


async def test_a_version_that_the_server_does_not_take_leads_to_a_new_list() -> None:
    world = World([[*initial(), "5"], rejection(422, "Invalid", "no such version"), [*initial(pod("a", "1")), FOREVER]])
    async with world.running(60):
        assert world.known == {"a": "1"}
    assert "sendInitialEvents" in world.queries[2]


async def test_turned_is_called_when_a_resource_appears_and_vanishes() -> None:
    missing, turns = rejection(404, "NotFound", "could not find it"), list[bool]()
    script: list[Script] = [missing, missing, [*initial(pod("a", "1"))], missing, [*initial(pod("a", "1")), FOREVER]]
    world: World = World(script, on_change=lambda: turns.append(world.reflector.absent))
    async with world.running():
        assert turns == [True, False, True, False]


async def test_an_optional_resource_that_may_not_be_seen_keeps_nobody_waiting() -> None:
    reason = 'nodes is forbidden: User "x" cannot watch resource "nodes" in API group "" at the cluster scope'
    hidden = rejection(403, "Forbidden", reason)
    world = World([hidden] * 3 + [[*initial(pod("a", "1")), FOREVER]], optional=True)
    with capture_logs() as logs:
        async with world.running(1):
            assert world.reflector.settled.is_set()
            assert (world.reflector.absent, world.reflector.last_error) == (False, reason)
            await asyncio.sleep(60)
            assert world.known == {"a": "1"}
    logged = [(line.get("verb"), line.get("apply")) for line in logs]
    assert logged == [("watch", "deploy/components/lost-nodes"), (None, None)]
    assert logs[0]["event"] == "no permission for this resource: ignoring it"
    strict = World([hidden] * 30)
    async with strict.running(60):
        assert not strict.reflector.settled.is_set()


async def test_what_is_known_of_an_optional_resource_stays_while_it_may_not_be_seen() -> None:
    hidden = rejection(403, "Forbidden", "a policy does not allow it")
    world = World([[*initial(pod("a", "1")), "5"], *[hidden] * 10], optional=True)
    with capture_logs() as logs:
        async with world.running(60):
            assert world.known == {"a": "1"}
    assert [(line.get("verb"), line.get("apply")) for line in logs] == [("", "")]


async def test_the_owner_of_a_crd_is_asked_before_each_watch_and_a_second_after_one_that_was_cut_short() -> None:
    times = list[float]()

    async def foreign_crd() -> str:
        times.append(asyncio.get_running_loop().time())
        return ""

    ends: list[Script] = [[*initial(), "700"], ["5"], ConnectionResetError(), [FOREVER]]
    async with World(ends, foreign_crd=foreign_crd).running(800):
        assert times[:3] == pytest.approx([0, 700, 700 + 5 + 1])
        assert times[3] - times[2] == pytest.approx(1.2, abs=0.4)  # the delay after a failure, and no more
