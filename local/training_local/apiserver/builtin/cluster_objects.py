"""Namespaces, nodes, leases, priority classes, quotas and limit ranges: defaults and validation."""

from __future__ import annotations

from collections.abc import Iterator

from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.errors import Cause, Json, forbidden_value, invalid, not_supported
from training_local.apiserver.resource_types import Context

NAME_LABEL = "kubernetes.io/metadata.name"
HIGHEST_USER_PRIORITY = 1_000_000_000


def default_namespace(namespace: Json) -> None:
    """Give a namespace the label with its own name, and a phase."""
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: metadata["name"]}
    namespace["status"].setdefault("phase", "Active")


def _prepare_namespace(namespace: Json, context: Context) -> None:
    finalizers = namespace["spec"].get("finalizers", [])
    if "kubernetes" not in finalizers:
        namespace["spec"]["finalizers"] = [*finalizers, "kubernetes"]


def _keep_finalizers(old: Json, new: Json) -> None:
    """The finalizers of the spec change through the subresource `finalize` only."""
    new["spec"] = old["spec"]


def default_node(node: Json) -> None:
    """Fill in what can be allocated."""
    status = node["status"]
    if capacity := status.get("capacity"):
        status["allocatable"] = {**capacity, **status.get("allocatable", {})}


def lease_causes(lease: Json) -> Iterator[Cause]:
    """Check a lease."""
    spec = lease["spec"]
    if (seconds := spec.get("leaseDurationSeconds")) is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if (transitions := spec.get("leaseTransitions")) is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
    if spec.get("preferredHolder") and not spec.get("strategy"):
        yield forbidden_value("spec.preferredHolder", "may only be specified if `strategy` is defined")


def default_priority_class(priority: Json) -> None:
    """Fill in that pods of the class preempt others."""
    priority.setdefault("preemptionPolicy", "PreemptLowerPriority")


def priority_class_causes(priority: Json) -> Iterator[Cause]:
    """Check a priority class."""
    name = priority["metadata"].get("name", "")
    if name.startswith("system-"):
        said = (
            "priority class names with 'system-' prefix are reserved for system use only. "
            f"error: {name} is not a known system priority class"
        )
        yield forbidden_value("metadata.name", said)
    elif priority["value"] > HIGHEST_USER_PRIORITY:
        said = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        yield forbidden_value("value", said)
    if (policy := priority["preemptionPolicy"]) not in ("PreemptLowerPriority", "Never"):
        yield not_supported("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def priority_class_update_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check that the value of a priority class stays."""
    if old["value"] != new["value"]:
        yield forbidden_value("value", "may not be changed in an update.")
    if old["preemptionPolicy"] != new["preemptionPolicy"]:
        yield invalid("preemptionPolicy", new["preemptionPolicy"], "field is immutable")


def default_limit_range(limits: Json) -> None:
    """Derive default limits and requests of containers from their bounds."""
    for item in limits["spec"].get("limits") or ():
        if item["type"] == "Container":
            item["default"] = {**item.get("max", {}), **item.get("default", {})}
            item["defaultRequest"] = {**item.get("min", {}), **item["default"], **item.get("defaultRequest", {})}


NAMESPACE_RULES = BuiltinRules(
    "io.k8s.api.core.v1.Namespace",
    "v1",
    default=default_namespace,
    prepare=_prepare_namespace,
    prepare_update=_keep_finalizers,
    initial_status=lambda namespace, context: {"phase": "Active"},
)
NODE_RULES = BuiltinRules("io.k8s.api.core.v1.Node", "v1", default=default_node)
LEASE_RULES = BuiltinRules("io.k8s.api.coordination.v1.Lease", "v1", validate=lease_causes, has_status=False)
PRIORITY_CLASS_RULES = BuiltinRules(
    "io.k8s.api.scheduling.v1.PriorityClass",
    "v1",
    default=default_priority_class,
    validate=priority_class_causes,
    validate_update=priority_class_update_causes,
    has_status=False,
)
QUOTA_RULES = BuiltinRules("io.k8s.api.core.v1.ResourceQuota", "v1", initial_status=lambda quota, context: {})
LIMIT_RANGE_RULES = BuiltinRules("io.k8s.api.core.v1.LimitRange", "v1", default=default_limit_range, has_status=False)
