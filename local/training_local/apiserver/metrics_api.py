"""The resource metrics API (metrics.k8s.io/v1beta1), which `kubectl top` asks; there only while a node is attached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from training_api.models.common import rfc3339
from training_local.apiserver.answers import json_answer
from training_local.apiserver.builtin.columns import NAME, text
from training_local.apiserver.errors import Json, method_not_allowed, not_found
from training_local.apiserver.options import ListOptions
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.resource_types import NoRules, ResourceType
from training_local.apiserver.selectors import field_selector, label_selector
from training_local.apiserver.state import State
from training_local.apiserver.storage import Entry
from training_local.apiserver.views import view
from training_operator.kube.transport import Request, Response

GROUP, VERSION = "metrics.k8s.io", "v1beta1"


@dataclass(frozen=True, slots=True)
class Amounts:
    """What something uses."""

    cores: float
    """Processors, on average over the window."""
    memory_bytes: int
    window: float
    """Seconds over which the processors were averaged."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What everything used at one moment."""

    at: datetime
    node: Amounts
    pods: Mapping[str, Mapping[str, Amounts]] = field(default_factory=dict)
    """Pod uid -> container -> use; only pods of which something runs."""


Measure = Callable[[], Measurement]


def _usage(metrics: Json) -> Json:
    """The use of a node, or the sum over the containers of a pod."""
    if "usage" in metrics:
        return dict(metrics["usage"])
    used = [container["usage"] for container in metrics["containers"]]
    cores, memory = (
        sum(int(each[name][: -len(unit)]) for each in used) for name, unit in (("cpu", "n"), ("memory", "Ki"))
    )
    return {"cpu": f"{cores}n", "memory": f"{memory}Ki"}


_COLUMNS = (
    NAME,
    text("cpu", lambda metrics: f"{ceil(int(_usage(metrics)['cpu'][:-1]) / 1e6)}m"),
    text("memory", lambda metrics: _usage(metrics)["memory"]),
    text("Window", lambda metrics: metrics["window"]),
)


def _type(kind: str, plural: str, *, namespaced: bool) -> ResourceType:
    return ResourceType(
        group=GROUP,
        version=VERSION,
        kind=kind,
        plural=plural,
        singular="",
        rules=NoRules(),
        namespaced=namespaced,
        list_kind=f"{kind}List",
        verbs=frozenset({"get", "list"}),
        columns=_COLUMNS,
    )


NODES, PODS = _type("NodeMetrics", "nodes", namespaced=False), _type("PodMetrics", "pods", namespaced=True)
TYPES = (NODES, PODS)


def answer(state: State, request: Request, measure: Measure) -> Response | None:
    """Answer a request for usage, None for any other path; raises `ApiError`."""
    if (target := _target(request.path)) is None:
        return None
    if request.method != "GET":
        raise method_not_allowed()
    shown = view(request.accept, target.type, request.query.get("includeObject", "Metadata"), state.timestamp())
    if target.name:
        found = _one(state, target, measure)
        return json_answer(200, shown.one(found) if shown else found)
    items, type = _all(state, target, ListOptions.of(request.query), measure), target.type
    if shown:
        return json_answer(200, shown.many(items, {}))
    return json_answer(200, {"kind": type.lists_kind, "apiVersion": type.api_version, "metadata": {}, "items": items})


def _target(path: str) -> RequestInfo | None:
    match path.strip("/").split("/"):
        case ["apis", "metrics.k8s.io", "v1beta1", "nodes", *name] if len(name) < 2:
            return RequestInfo(NODES, "", *name)
        case ["apis", "metrics.k8s.io", "v1beta1", "pods"]:
            return RequestInfo(PODS)
        case ["apis", "metrics.k8s.io", "v1beta1", "namespaces", namespace, "pods", *name] if len(name) < 2:
            return RequestInfo(PODS, namespace, *name)
    return None


def _one(state: State, target: RequestInfo, measure: Measure) -> Json:
    type, where = target.type, f"{target.namespace}/{target.name}" if target.namespace else target.name
    entry = state.storage.collection(("", type.plural)).get(target.namespace, target.name)
    found = _metrics(type, entry, measure(), state) if entry else None
    if found is None:
        raise not_found(GROUP, type.kind.lower(), where)
    return {"kind": type.kind, "apiVersion": type.api_version, **found}


def _all(state: State, target: RequestInfo, options: ListOptions, measure: Measure) -> list[Json]:
    labels, fields = label_selector(options.labels), field_selector(options.fields, target.type)
    entries = state.storage.collection(("", target.type.plural)).entries(target.namespace or None)
    measured = measure()
    selected = (_metrics(target.type, entry, measured, state) for entry in entries if labels.matches(entry.labels))
    return [metrics for metrics in selected if metrics and fields.matches(metrics)]


def _metrics(type: ResourceType, entry: Entry, measured: Measurement, state: State) -> Json | None:
    """The use of a stored node or pod; None for a pod of which nothing runs."""
    stored = entry.object()["metadata"]
    kept = {key: stored[key] for key in ("name", "namespace", "labels") if key in stored}
    at = rfc3339(measured.at)
    common: Json = {"metadata": {**kept, "creationTimestamp": state.timestamp()}, "timestamp": at}
    if type is NODES:
        return {**common, "window": _duration(measured.node.window), "usage": _quantities(measured.node)}
    containers = measured.pods.get(stored["uid"])
    if not containers:
        return None
    window = max(amounts.window for amounts in containers.values())
    return {**common, "window": _duration(window), "containers": list(_containers(containers))}


def _containers(measured: Mapping[str, Amounts]) -> Iterator[Json]:
    for name, amounts in measured.items():
        yield {"name": name, "usage": _quantities(amounts)}


def _quantities(amounts: Amounts) -> Json:
    return {"cpu": f"{ceil(amounts.cores * 1e9)}n", "memory": f"{ceil(amounts.memory_bytes / 1024)}Ki"}


def _duration(seconds: float) -> str:
    """A span as Go writes it: `1m2.5s`."""
    minutes, rest = divmod(round(seconds, 3), 60)
    hours, minutes = divmod(int(minutes), 60)
    shown = f"{rest:.3f}".rstrip("0").rstrip(".")
    return f"{hours}h{minutes}m{shown}s" if hours else f"{minutes}m{shown}s" if minutes else f"{shown}s"
