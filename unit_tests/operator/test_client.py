import asyncio
import json
import random
from typing import Any

import pytest
from unit_tests.operator.scripted_api import ScriptedApi, answer, bookmark, event, pod, rejection

from training_operator.kube.client import ATTEMPTS, LIST_SECONDS, LONGEST_WAIT, PAGE, KubeClient
from training_operator.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    Unauthorized,
    error_of,
)
from training_operator.kube.flow import AdaptiveLimit, FairGate, Lane
from training_operator.kube.resources import PODS
from training_operator.kube.transport import MERGE_PATCH, Response

pytestmark = pytest.mark.virtual_time
OWNED = [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "j", "uid": "job-uid", "controller": True}]


class NotedGate(FairGate):
    """Records the requests that enter."""

    def __init__(self) -> None:
        super().__init__(AdaptiveLimit(start=8))
        self.turns = list[tuple[str, str, Lane]]()

    async def enter(self, flow: str, *, tenant: str = "", lane: Lane = Lane.WORK) -> None:
        self.turns.append((tenant, flow, lane))
        await super().enter(flow, tenant=tenant, lane=lane)


class Setup:
    def __init__(self, *answers: Response | Exception, watches: Any = ()) -> None:
        self.api = ScriptedApi(answers, watches)
        self.gate = NotedGate()
        self.seen = list[tuple[str, int]]()
        self.client = KubeClient(
            self.api, self.gate, random.Random(1), lambda method, code: self.seen.append((method, code))
        )

    def body(self, number: int = 0) -> Any:
        return json.loads(self.api.requests[number].body or b"null")


async def test_verbs_become_requests() -> None:
    setup = Setup(*[answer(200, pod("a", "5"))] * 5, *[answer(200, {"kind": "Status"})] * 2)
    client = setup.client
    assert (await client.get(PODS, "ns", "a")).version == "5"
    assert (await client.create(PODS, "ns", {"metadata": {"name": "a"}})).name == "a"
    await client.replace(PODS, "ns", "a", {"metadata": {"name": "a"}})
    await client.patch(PODS, "ns", "a", {"status": {"phase": "Failed"}}, subresource="status", lane=Lane.STATUS)
    lingering = await client.delete(PODS, "ns", "a", uid="u")
    assert lingering is not None
    assert await client.delete(PODS, "ns", "a") is None
    await client.delete_listed(PODS, "ns", selector="a=b", version="7")
    path = "/api/v1/namespaces/ns/pods"
    assert [(each.method, each.path) for each in setup.api.requests] == [
        ("GET", f"{path}/a"),
        ("POST", path),
        ("PUT", f"{path}/a"),
        ("PATCH", f"{path}/a/status"),
        ("DELETE", f"{path}/a"),
        ("DELETE", f"{path}/a"),
        ("DELETE", path),
    ]
    assert setup.api.requests[3].content_type == MERGE_PATCH
    assert setup.body(3) == {"status": {"phase": "Failed"}}
    assert setup.body(4) == {"propagationPolicy": "Background", "preconditions": {"uid": "u"}}
    assert setup.body(5) == setup.body(6) == {"propagationPolicy": "Background"}
    listed = {"labelSelector": "a=b", "resourceVersion": "7", "resourceVersionMatch": "Exact"}
    assert setup.api.requests[6].query == listed
    assert setup.seen == [*(("GET", 200), ("POST", 200), ("PUT", 200), ("PATCH", 200)), *[("DELETE", 200)] * 3]
    assert setup.gate.in_flight == 0
    assert setup.gate.turns[3] == ("ns", "", Lane.STATUS)


async def test_requests_wait_in_the_flow_of_those_for_whom_they_are() -> None:
    stored = answer(200, pod("a", "5", ownerReferences=OWNED) | {"status": {"phase": "Failed"}})
    taken, lost = rejection(409, "AlreadyExists"), ConnectionResetError()
    setup = Setup(*[stored] * 3, answer(200), stored, lost, taken, stored, lost, rejection(409, "Conflict"), stored)
    client = setup.client
    await client.get(PODS, "ns", "a", flow="get")
    await client.replace(PODS, "ns", "a", {}, flow="replace")
    await client.patch(PODS, "ns", "a", {}, flow="patch")
    assert setup.api.requests[2].path == "/api/v1/namespaces/ns/pods/a"
    await client.get_json("/version")
    await client.delete(PODS, "ns", "a", grace=0, flow="delete")
    assert setup.body(4) == {"propagationPolicy": "Background", "gracePeriodSeconds": 0}
    await client.create(PODS, "ns", BODY, flow="create")
    await client.patch(PODS, "ns", "a", PATCH, subresource="status", flow="status", lane=Lane.STATUS)
    assert (setup.api.requests[-1].method, setup.api.requests[-1].path) == ("GET", "/api/v1/namespaces/ns/pods/a")
    calm = [
        ("ns" if flow else "", flow, Lane.WORK) for flow in ("get", "replace", "patch", "", "delete", *["create"] * 3)
    ]
    assert setup.gate.turns == [*calm, *[("ns", "status", Lane.STATUS)] * 3]


class Shut:
    """A fence behind which nothing may leave."""

    def certain(self) -> bool:
        return False

    async def opened(self) -> None:
        await asyncio.Event().wait()


async def test_a_fence_holds_writes_and_no_reads() -> None:
    api = ScriptedApi([answer(200, pod("a", "5"))] * 2)
    client = KubeClient(api, FairGate(), random.Random(1), fence=Shut())
    await client.get(PODS, "ns", "a")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1000):
            await client.create(PODS, "ns", BODY)
    assert len(api.requests) == 1


async def test_what_is_created_is_written_when_it_is_its_turn() -> None:
    """However large it is, what waits shares it with the others."""
    setup = Setup(answer(201, pod("a", "5")))
    body = {"metadata": {"name": "a"}, "spec": {}}
    for _ in range(8):
        setup.gate.limit.overloaded()
    await setup.gate.enter("other")
    creating = asyncio.create_task(setup.client.create(PODS, "ns", body))
    await asyncio.sleep(1)
    assert setup.api.requests == []
    body["spec"] = {"nodeName": "n"}
    setup.gate.leave(Lane.WORK)
    await creating
    assert setup.body()["spec"] == {"nodeName": "n"}


async def test_pages() -> None:
    page = {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [pod("a", "1"), pod("b", "2")]}
    last = {"metadata": {"resourceVersion": "9"}, "items": None}
    setup = Setup(answer(200, page), answer(200, last))
    first = await setup.client.list_page(PODS, "ns", selector="x", limit=2)
    assert ([PODS.decode(item).name for item in first.items], first.version, first.next) == (["a", "b"], "9", "next")
    second = await setup.client.list_page(PODS, "ns", selector="x", token=first.next, limit=2)
    assert (second.items, second.next) == ([], "")
    assert setup.api.requests[1].query == {"limit": "2", "labelSelector": "x", "continue": "next"}
    assert {(each.method, each.timeout) for each in setup.api.requests} == {("GET", LIST_SECONDS)}


async def test_a_list_of_everything_has_no_conditions() -> None:
    setup = Setup(answer(200, {"metadata": {"resourceVersion": "9"}, "items": []}))
    await setup.client.list_page(PODS)
    assert (setup.api.requests[0].path, setup.api.requests[0].query) == ("/api/v1/pods", {"limit": str(PAGE)})


async def test_any_path() -> None:
    setup = Setup(answer(200, {"major": "1"}))
    assert await setup.client.get_json("/version") == {"major": "1"}
    assert setup.api.requests[0].method == "GET"


async def test_a_watch() -> None:
    lines = [event("ADDED", pod("a", "3")), bookmark("4"), event("ERROR", {"code": 410, "message": "too old"})]
    setup = Setup(watches=[lines, rejection(403, "Forbidden", "pods is forbidden")])
    seen = list[str]()
    with pytest.raises(Gone, match="too old"):
        async with setup.client.watch(PODS, version="2", selector="job", seconds=100) as events:
            while True:
                seen.append((await anext(events)).type)
    assert seen == ["ADDED", "BOOKMARK"]
    assert setup.api.requests[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "100",
        "resourceVersion": "2",
        "labelSelector": "job",
    }
    assert setup.api.requests[0].timeout > 100
    with pytest.raises(Forbidden, match="pods is forbidden"):
        async with setup.client.watch(PODS, version="", initial=True):
            pass
    assert setup.api.requests[1].query["sendInitialEvents"] == "true"
    assert setup.api.requests[1].query["resourceVersionMatch"] == "NotOlderThan"


@pytest.mark.parametrize(
    ("code", "reason", "meaning"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (410, "Gone", Gone),
        (413, "RequestEntityTooLarge", Invalid),
        (418, "", Invalid),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ServerError),
        (503, "ServiceUnavailable", ServerError),
        (504, "Timeout", ServerTimeout),
        (500, "Timeout", ServerTimeout),
    ],
)
def test_every_meaning_has_an_error(code: int, reason: str, meaning: type[Exception]) -> None:
    rejected = rejection(code, reason, "the reason why")
    error = error_of(code, rejected.body, {}, "get pods")
    assert type(error) is meaning
    assert "the reason why" in str(error)


def test_an_answer_without_a_status_names_verb_and_resource() -> None:
    assert str(error_of(403, b"<html>", {}, "list pods")) == "the API server answered 403 to list pods"
    assert "list pods" in str(error_of(401, b'{"message": "Unauthorized"}', {}, "list pods"))


def test_retry_after_is_read() -> None:
    for text, seconds in (("3", 3.0), ("soon", None)):
        error = error_of(429, b"", {"retry-after": text}, "get pods")
        assert isinstance(error, ApiError)
        assert error.retry_after == seconds


@pytest.mark.parametrize(("subresource", "what"), [("", "pods"), ("status", "pods/status")])
async def test_a_rejected_patch_without_words_says_of_what(subresource: str, what: str) -> None:
    setup = Setup(answer(403))
    with pytest.raises(Forbidden, match=f"answered 403 to patch {what}$"):
        await setup.client.patch(PODS, "ns", "a", {}, subresource=subresource)


@pytest.mark.parametrize(("status", "limit"), [(503, 4), (504, 4), (500, 8), (404, 8)])
async def test_only_signs_of_overload_lower_the_limit(status: int, limit: int) -> None:
    setup = Setup(*[answer(status)] * ATTEMPTS)
    with pytest.raises((ApiError, TimeoutError)):
        await asyncio.wait_for(setup.client.get(PODS, "ns", "a"), 0.01)
    assert setup.gate.limit.now == limit


async def test_a_redirection_is_no_answer() -> None:
    with pytest.raises(Invalid):
        await Setup(answer(300)).client.get(PODS, "ns", "a")


async def test_a_broken_connection_is_tried_again_with_growing_delays() -> None:
    setup = Setup(ConnectionResetError(), TimeoutError(), answer(200, pod("a", "5")))
    await setup.client.get(PODS, "ns", "a")
    pauses = [after - before for before, after in zip(setup.api.times, setup.api.times[1:], strict=False)]
    assert 0.1 <= pauses[0] <= 0.2 <= pauses[1] <= 0.4
    assert setup.seen == [("GET", 0), ("GET", 0), ("GET", 200)]
    assert setup.gate.limit.now == 2


async def test_a_server_that_never_answers_is_left_to_the_caller() -> None:
    setup = Setup(*[ConnectionResetError("broken")] * 9)
    with pytest.raises(ConnectionResetError):
        await setup.client.get(PODS, "ns", "a")
    assert len(setup.api.requests) == 4


async def test_a_busy_server_is_obeyed() -> None:
    setup = Setup(rejection(429, "TooManyRequests", retry_after="3"), answer(200, pod("a", "5")))
    await setup.client.get(PODS, "ns", "a")
    assert 3.0 <= setup.api.times[1] <= 3.1
    assert setup.gate.limit.now == 4


async def test_a_server_that_asks_for_the_longest_time_is_obeyed() -> None:
    setup = Setup(rejection(429, "TooManyRequests", retry_after="10"), answer(200, pod("a", "5")))
    await setup.client.get(PODS, "ns", "a")
    assert setup.api.times[1] >= LONGEST_WAIT


async def test_a_server_that_asks_for_too_long_is_left_to_the_caller() -> None:
    setup = Setup(rejection(429, "TooManyRequests", retry_after="60"))
    with pytest.raises(TooManyRequests) as caught:
        await setup.client.get(PODS, "ns", "a")
    assert caught.value.retry_after == 60


async def test_a_rejection_is_not_repeated() -> None:
    setup = Setup(rejection(422, "Invalid"))
    with pytest.raises(Invalid):
        await setup.client.create(PODS, "ns", {"metadata": {"name": "a"}})
    assert len(setup.api.requests) == 1


BODY = {"metadata": {"name": "a", "ownerReferences": OWNED}}


@pytest.mark.parametrize(
    "doubtful", [ConnectionResetError(), rejection(504, "Timeout"), rejection(503, "", retry_after="1")]
)
async def test_a_creation_whose_answer_was_lost_is_ours_if_our_job_controls_it(doubtful: Response | Exception) -> None:
    mine = answer(200, pod("a", "5", ownerReferences=OWNED))
    setup = Setup(doubtful, rejection(409, "AlreadyExists"), mine)
    assert (await setup.client.create(PODS, "ns", BODY)).version == "5"


@pytest.mark.parametrize("owners", [[], [OWNED[0] | {"uid": "other"}]])
async def test_a_creation_whose_answer_was_lost_is_not_ours_if_it_is_another_job_s(owners: list[Any]) -> None:
    theirs = answer(200, pod("a", "5", ownerReferences=owners))
    setup = Setup(ConnectionResetError(), rejection(409, "AlreadyExists"), theirs)
    with pytest.raises(AlreadyExists):
        await setup.client.create(PODS, "ns", BODY)


async def test_a_name_that_is_taken_at_once_is_in_the_status() -> None:
    setup = Setup(rejection(409, "AlreadyExists"))
    with pytest.raises(AlreadyExists):
        await setup.client.create(PODS, "ns", BODY)
    assert len(setup.api.requests) == 1


PATCH = {"metadata": {"resourceVersion": "5"}, "status": {"phase": "Failed", "gone": None}}


async def test_a_patch_whose_answer_was_lost_succeeded_if_it_is_stored() -> None:
    stored = pod("a", "6") | {"status": {"phase": "Failed", "other": 1}}
    setup = Setup(TimeoutError(), rejection(409, "Conflict"), answer(200, stored))
    assert (await setup.client.patch(PODS, "ns", "a", PATCH, subresource="status")).version == "6"


async def test_a_patch_that_somebody_overtook_is_a_conflict() -> None:
    stored = pod("a", "6") | {"status": {"phase": "Running"}}
    setup = Setup(TimeoutError(), rejection(409, "Conflict"), answer(200, stored))
    with pytest.raises(Conflict):
        await setup.client.patch(PODS, "ns", "a", PATCH, subresource="status")
    setup = Setup(rejection(409, "Conflict"))
    with pytest.raises(Conflict):
        await setup.client.patch(PODS, "ns", "a", PATCH, subresource="status")


async def test_a_cancelled_request_gives_its_place_back() -> None:
    setup = Setup(answer(200, pod("a", "5")))
    task = asyncio.create_task(setup.client.get(PODS, "ns", "a"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert setup.gate.in_flight == 0
