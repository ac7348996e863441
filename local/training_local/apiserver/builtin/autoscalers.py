"""Horizontal pod autoscalers (autoscaling/v2): defaults and validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from training_api import quantity
from training_local.apiserver import names
from training_local.apiserver.builtin.container_validation import each
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.errors import Cause, Json, forbidden_value, invalid, not_supported, required

DEFAULT_CPU_PERCENT = 80
SOURCES = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}
"""Type of a metric -> the field that describes it."""
_POLICY_SECONDS = 15
_SCALE_UP: Json = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": _POLICY_SECONDS},
        {"type": "Percent", "value": 100, "periodSeconds": _POLICY_SECONDS},
    ],
}
_SCALE_DOWN: Json = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": _POLICY_SECONDS}],
}


def default_autoscaler(autoscaler: Json) -> None:
    """Fill in the defaults of an autoscaler, in place."""
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": DEFAULT_CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if (behavior := spec.get("behavior")) is not None:
        behavior["scaleUp"] = {**_SCALE_UP, **behavior.get("scaleUp", {})}
        behavior["scaleDown"] = {**_SCALE_DOWN, **behavior.get("scaleDown", {})}


def autoscaler_causes(autoscaler: Json) -> Iterator[Cause]:
    """Check an autoscaler."""
    spec = autoscaler["spec"]
    least, most = spec["minReplicas"], spec["maxReplicas"]
    if least < 1:
        yield invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        yield invalid("spec.maxReplicas", most, "must be greater than 0")
    if most < least:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for field in ("kind", "name"):
        if value := spec["scaleTargetRef"][field]:
            yield from each(f"spec.scaleTargetRef.{field}", value, names.path_segment)
        else:
            yield required(f"spec.scaleTargetRef.{field}")
    if "/" not in spec["scaleTargetRef"].get("apiVersion", ""):
        given = spec["scaleTargetRef"].get("apiVersion", "")
        yield invalid("spec.scaleTargetRef.apiVersion", given, "apiVersion must specify API group")
    yield from _metrics(spec["metrics"])
    if least == 0 and not any(metric["type"] in ("Object", "External") for metric in spec["metrics"]):
        said = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield forbidden_value("spec.metrics", said)


def _metrics(listed: Sequence[Json]) -> Iterator[Cause]:
    for index, metric in enumerate(listed):
        path = f"spec.metrics[{index}]"
        if not (kind := metric["type"]):
            yield required(f"{path}.type", "must specify a metric source type")
        if kind not in SOURCES:
            # Said twice by the real server, too.
            yield from [not_supported(f"{path}.type", kind, sorted(SOURCES))] * 2
            continue
        given = [field for field in SOURCES.values() if field in metric]
        if given in (["resource"], ["containerResource"]):
            yield from _resource(metric[given[0]], f"{path}.{given[0]}")
        if SOURCES[kind] not in given:
            yield required(f"{path}.{SOURCES[kind]}", "must populate information for the given metric source")
        if len(given) > 1:
            for field in given:
                if field != SOURCES[kind]:
                    yield forbidden_value(f"{path}.{field}", "must populate the given metric source only")


def _resource(source: Json, path: str) -> Iterator[Cause]:
    if not source["name"]:
        yield required(f"{path}.name", "must specify a resource name")
    if "container" in source and not source["container"]:
        yield required(f"{path}.container", "must specify a container name")
    target = source["target"]
    if not target["type"]:
        yield required(f"{path}.target.type", "must specify a metric target type")
    if target["type"] not in ("Utilization", "Value", "AverageValue"):
        yield invalid(f"{path}.target.type", target["type"], "must be either Utilization, Value, or AverageValue")
    for field in ("value", "averageValue"):
        if (amount := target.get(field)) is not None and quantity.parse(amount) <= 0:
            yield invalid(f"{path}.target.{field}", amount, "must be positive")
    percent, average = target.get("averageUtilization"), target.get("averageValue")
    if percent is not None and percent < 1:
        yield invalid(f"{path}.target.averageUtilization", percent, "must be greater than 0")
    if percent is None and average is None:
        said = "must set either a target raw value or a target utilization"
        yield required(f"{path}.target.averageUtilization", said)
    if percent is not None and average is not None:
        said = "may not set both a target raw value and a target utilization"
        yield forbidden_value(f"{path}.target.averageValue", said)


AUTOSCALER_RULES = BuiltinRules(
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "v2",
    default=default_autoscaler,
    initial_status=lambda autoscaler, context: {"currentMetrics": None, "desiredReplicas": 0},
    validate=autoscaler_causes,
)
