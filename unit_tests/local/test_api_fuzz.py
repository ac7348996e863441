"""Whatever a client sends, the answer is an object, a Status or a page: never an exception, never a broken store."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from e2e.fidelity.objects import config_map, pod
from e2e.fidelity.widgets import WIDGETS, widget
from hypothesis import given, settings
from hypothesis import strategies as st

from training_local.apiserver.crd import crd_types
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN
from training_operator.kube.transport import Request, Response

Strategy = st.SearchStrategy[Any]


def words(text: str) -> Strategy:
    return st.sampled_from(text.split())


NAMES = words("a b default kube-system widgets.x.io")
META_KEYS = "labels annotations finalizers ownerReferences uid resourceVersion generateName creationTimestamp"
KEYS = words(
    f"{META_KEYS} metadata name namespace kind apiVersion spec status containers image replicas data stringData target "
    "preconditions gracePeriodSeconds propagationPolicy dryRun orphanDependents deleteOptions op path value group "
    "versions names plural schema ports clusterIP type env controller conditions phase"
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | NAMES
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
META = st.fixed_dictionaries({"name": NAMES}, optional=dict.fromkeys(META_KEYS.split(), VALUES))
CONTAINERS = st.just([{"name": "c", "image": "i"}]) | VALUES
SPEC = st.fixed_dictionaries({}, optional={"containers": CONTAINERS, "nodeName": NAMES, "ports": VALUES}) | VALUES
OBJECTS = st.fixed_dictionaries(
    {"metadata": META | st.just({"name": "a"})},
    optional={"spec": SPEC, "status": VALUES, "data": VALUES, "target": VALUES, "kind": words("Pod Scale x")},
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "gracePeriodSeconds": st.integers(-1, 3) | LEAVES,
        "propagationPolicy": words("Foreground Background Orphan x") | VALUES,
        "preconditions": VALUES,
        "dryRun": VALUES,
        "orphanDependents": VALUES,
    },
)
OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {"op": words("add remove replace move copy test x"), "path": words("/metadata/labels/a /spec /spec/- / x")},
        optional={"value": VALUES, "from": words("/metadata /spec")},
    ),
    max_size=3,
)
BODIES: Mapping[str, Strategy] = {
    "GET": st.none(),
    "POST": OBJECTS | OBJECTS | VALUES,
    "PUT": OBJECTS | OBJECTS | VALUES,
    "PATCH": OBJECTS | OPERATIONS | VALUES,
    "DELETE": st.none() | OPTIONS | VALUES,
    "X": VALUES,
}
CONTENT_TYPES: Mapping[str, Strategy] = {
    "PATCH": st.sampled_from(
        [f"application/{each}+json" for each in ("merge-patch", "json-patch", "strategic-merge-patch")]
    )
}
NAMESPACE = "/api/v1/namespaces/default"
COLLECTIONS = st.sampled_from(
    [
        f"{NAMESPACE}/pods",
        f"{NAMESPACE}/services",
        f"{NAMESPACE}/configmaps",
        f"{NAMESPACE}/events",
        "/api/v1/namespaces",
    ]
)
SUBRESOURCES = st.sampled_from(
    [*[""] * 9, "/status", "/status", "/scale", "/log", "/eviction", "/binding", "/finalize", "/../x"]
)
ODD_PATHS = st.sampled_from(
    [
        "/",
        "/api",
        "/apis/x/v1/y",
        "/openapi/v3/x",
        "/api/v1/pods",
        "/api/v1/namespaces/gone/pods",
        f"{NAMESPACE}//",
        "/%00",
    ]
)


PRESENT = (
    ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS),
    ("/api/v1/namespaces", {"metadata": {"name": "a"}}),
    (f"{NAMESPACE}/pods", pod("a", node="n")),
    (f"{NAMESPACE}/services", {"metadata": {"name": "a"}, "spec": {"clusterIP": "None"}}),
    (f"{NAMESPACE}/configmaps", config_map("a")),
    ("/apis/fidelity.example.com/v1/namespaces/default/widgets", widget("a", replicas=1)),
)


@st.composite
def paths(draw: st.DrawFn, method: str) -> str:
    if draw(st.integers(0, 19)) == 19:
        return str(draw(ODD_PATHS))
    collection = str(draw(COLLECTIONS))
    if method == "POST" and draw(st.booleans()):
        return collection
    name = draw(words("/a /a /a /a /a /b") if method != "GET" else st.sampled_from(["", "/a"]))
    return collection + name + (draw(SUBRESOURCES) if name else "")


PARAMETERS = words(
    "labelSelector fieldSelector limit continue resourceVersion resourceVersionMatch watch timeoutSeconds dryRun "
    "sendInitialEvents allowWatchBookmarks fieldValidation propagationPolicy gracePeriodSeconds container tailLines "
    "includeObject"
)
ARGUMENTS = st.text(max_size=8) | words(
    "1 0 -1 true All Strict Exact NotOlderThan a=b Foreground metadata.name=a 99999"
)
ACCEPTS = st.sampled_from(
    ["application/json", "*/*", "text/html", "a;b;=", "application/json;as=Table;v=v1;g=meta.k8s.io"]
)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    method = draw(st.sampled_from(["POST", *sorted(BODIES)]))
    broken = draw(st.integers(0, 19)) == 19
    value = draw(BODIES[method])
    return Request(
        method=method,
        path=draw(paths(method)),
        query=draw(st.dictionaries(PARAMETERS, ARGUMENTS, max_size=2) | st.just({})),
        body=draw(st.binary(max_size=20)) if broken else None if value is None else json.dumps(value).encode(),
        content_type="text/plain" if broken else draw(CONTENT_TYPES.get(method, st.just("application/json"))),
        accept="application/json" if draw(st.booleans()) else draw(ACCEPTS),
    )


@given(st.lists(requests(), min_size=1, max_size=12))
@settings(max_examples=150, deadline=None)
def test_every_request_is_answered(sent: list[Request]) -> None:
    async def scenario() -> None:
        server = ApiServer(BUILTIN, crd_types)
        async with server.running():
            for path, obj in PRESENT:
                await asyncio.sleep(0)
                assert getattr(server.handle(Request("POST", path, body=json.dumps(obj).encode())), "status", 0) == 201
            for request in sent:
                answer = server.handle(request)
                if not isinstance(answer, Response):
                    answer.close()
                    lines = [line async for batch in answer.batches() for line in batch]
                    assert all(line.endswith(b"\n") for line in lines)
                elif answer.status >= 400 and answer.headers["content-type"] == "application/json":
                    status: dict[str, Any] = json.loads(answer.body)
                    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", answer.status)
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            for collection in server.state.storage.collections.values():
                for entry in collection.entries():
                    assert entry.object()["metadata"]["resourceVersion"] == str(entry.version)

    asyncio.run(scenario())
