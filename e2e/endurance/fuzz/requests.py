"""Strategies for whole requests."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from e2e.endurance.fuzz.values import (
    DEFINITIONS,
    GARBAGE,
    OBJECTS,
    OPERATIONS,
    OPTIONS,
    VALUES,
    Strategy,
    encoded,
    words,
)
from e2e.support.objects import config_map, pod
from e2e.support.widgets import WIDGETS, widget
from hypothesis import strategies as st

from training_operator.kube.transport import Request

Json = dict[str, Any]
NAMESPACE = "/api/v1/namespaces/default"
DEFINED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGET = "/apis/fidelity.example.com/v1/namespaces/default/widgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
_TARGET = {"kind": "Widget", "name": "a", "apiVersion": "fidelity.example.com/v1"}
_METRIC = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}
_POD = pod("a", node="n", volumes=[{"name": "v", "emptyDir": {}}], initContainers=[{"name": "i", "image": "i"}])
VALID: Mapping[str, Json] = {
    DEFINED: WIDGETS,
    "/api/v1/namespaces": {"metadata": {"name": "a"}},
    "/api/v1/nodes": {"metadata": {"name": "a"}, "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
    f"{NAMESPACE}/pods": _POD,
    f"{NAMESPACE}/services": {"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "ports": [{"port": 80}]}},
    f"{NAMESPACE}/configmaps": config_map("a"),
    f"{NAMESPACE}/secrets": {"metadata": {"name": "a"}, "type": "Opaque", "data": {"a": "YQ=="}},
    f"{NAMESPACE}/events": {"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}, "reason": "r"},
    LEASES: {"metadata": {"name": "a"}, "spec": {"holderIdentity": "h", "leaseDurationSeconds": 5}},
    ROLES: {"metadata": {"name": "a"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
    SCALERS: {"metadata": {"name": "a"}, "spec": {"maxReplicas": 2, "scaleTargetRef": _TARGET, "metrics": [_METRIC]}},
    WIDGET: widget("a", replicas=1),
}
"""An object of each collection; all of them are there before."""

_BODIES: Mapping[str, Strategy] = {
    "GET": st.none(),
    "POST": OBJECTS | OBJECTS | DEFINITIONS | VALUES,
    "PUT": OBJECTS | OBJECTS | DEFINITIONS | VALUES,
    "PATCH": OBJECTS | OPERATIONS | DEFINITIONS | VALUES,
    "DELETE": st.none() | OPTIONS | VALUES,
    "OPTIONS": VALUES,
    "HEAD": st.none(),
    "X": VALUES,
}
_PATCHES = [f"application/{each}" for each in ("merge-patch+json", "json-patch+json", "strategic-merge-patch+json")]
APPLY = "application/apply-patch+yaml"
_ODD_CONTENT = [
    "text/plain",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;charset=x",
    ";",
    "",
    "application/cbor",
    APPLY,
    *_PATCHES,
]
_COLLECTIONS = st.sampled_from(
    [
        *VALID,
        "/apis/x.io/v1/namespaces/default/things",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    ]
)
_SUBRESOURCES = st.sampled_from(
    [*[""] * 30, "/status", "/status", "/scale", "/log", "/eviction", "/binding", "/finalize", "/exec", "/../x"]
)
_ODD_PATHS = st.sampled_from(
    [
        "/",
        "//",
        "",
        "/api",
        "/apis/x/v1/y",
        "/openapi/v2",
        "/openapi/v3/x",
        "/openapi/v3/apis/x.io/v1",
        "/api/v1/pods",
        "/api/v1/namespaces/gone/pods",
        f"{NAMESPACE}//",
        f"{NAMESPACE}/pods/..%2f..%2f..%2fetc",
        f"{NAMESPACE}/pods/%2e%2e/%2e%2e/secrets",
        f"{NAMESPACE}/pods/a/log/../../b",
        "/%00",
        "/%ff%fe",
        "/api/v1/namespaces/%0a/pods",
        "/api/v1/namespaces/default/pods/" + "x" * 5000,
        "/" + "/".join(["a"] * 500),
        "/apis/metrics.k8s.io/v1beta1/nodes",
        "/version",
        "/healthz/x",
    ]
)
_PARAMETERS = words(
    "labelSelector fieldSelector limit continue resourceVersion resourceVersionMatch watch timeoutSeconds dryRun "
    "sendInitialEvents allowWatchBookmarks fieldValidation fieldManager force propagationPolicy gracePeriodSeconds "
    "container tailLines sinceSeconds sinceTime limitBytes follow previous timestamps includeObject command pretty"
)
_ARGUMENTS = st.text(max_size=8) | words(
    "1 0 -1 true false All Strict Exact NotOlderThan a=b a!=b a,b,c a(in)(b) !a Foreground metadata.name=a 99999 "
    "99999999999999999999999 1e3 ../.. 2026-01-01T00:00:00Z eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0"
)
_ACCEPTS = st.sampled_from(
    [
        "application/json",
        "*/*",
        "text/html",
        "a;b;=",
        ",,,",
        "",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
        "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
        "application/vnd.kubernetes.protobuf",
    ]
)
_FLOOD = {f"p{number}": "x" for number in range(1000)}


@st.composite
def _paths(draw: st.DrawFn, method: str) -> str:
    if draw(st.integers(0, 19)) == 19:
        return str(draw(_ODD_PATHS))
    collection = str(draw(_COLLECTIONS))
    if method == "POST" and draw(st.integers(0, 9)) < 9:
        return collection
    if collection == DEFINED:
        return collection + str(draw(words("/widgets.fidelity.example.com /things.x.io /a")))
    name = draw(words("/a /a /a /a /a /b") if method != "GET" else st.sampled_from(["", "/a"]))
    return f"{collection}{name}{draw(_SUBRESOURCES) if name else ''}"


def _content_type(draw: st.DrawFn, method: str) -> str:
    if draw(st.integers(0, 14)) == 14:
        return str(draw(st.sampled_from(_ODD_CONTENT)))
    return str(draw(st.sampled_from([*_PATCHES, APPLY]))) if method == "PATCH" else "application/json"


def _mutated(draw: st.DrawFn, obj: Any) -> Any:
    """A copy of a valid object with something else somewhere inside."""
    if not isinstance(obj, dict | list) or not obj or draw(st.integers(0, 3)) == 3:
        return draw(VALUES)
    keys = list(obj) if isinstance(obj, dict) else list(range(len(obj)))
    key, copied = draw(st.sampled_from(keys)), copy(obj)
    if draw(st.integers(0, 9)) < 9:
        copied[key] = _mutated(draw, obj[key])
    else:
        del copied[key]
    return copied


def _body(draw: st.DrawFn, method: str, path: str) -> bytes | None:
    valid = next((VALID[each] for each in VALID if path.startswith(each)), None)
    if method in ("POST", "PUT", "PATCH") and draw(st.integers(0, 3)) < 3:
        if path.startswith(DEFINED) and draw(st.booleans()):
            return encoded(draw(DEFINITIONS))
        if valid is not None:
            name = valid["metadata"]["name"] if path != DEFINED and method != "POST" else draw(words("new b a"))
            renamed = {**valid, "metadata": {**valid["metadata"], "name": name}}
            return encoded(_mutated(draw, renamed) if draw(st.booleans()) else renamed)
    value = draw(_BODIES[method])
    return None if value is None else encoded(value)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """A request whose path is written as in HTTP, with escapes."""
    method = str(draw(st.sampled_from(["POST", "PATCH", "PUT", "DELETE", "GET"] * 3 + sorted(_BODIES))))
    path, query = draw(_paths(method)), draw(st.dictionaries(_PARAMETERS, _ARGUMENTS, max_size=3) | st.just({}))
    body = _body(draw, method, path)
    if draw(st.integers(0, 9)) == 9:
        body = draw(GARBAGE)
    elif draw(st.integers(0, 99)) == 99:
        query = _FLOOD
    return Request(
        method=method,
        path=path,
        query=query,
        body=body,
        content_type=_content_type(draw, method),
        accept="application/json" if draw(st.integers(0, 5)) < 5 else draw(_ACCEPTS),
        user_agent=draw(words("kubectl/1 x /") | st.text("/ ()a:é", max_size=5)),
    )
