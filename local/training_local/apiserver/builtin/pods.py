"""Pods: admission, initial status, and the rules put together."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from training_api import quantity
from training_local.apiserver.builtin.pod_defaults import all_containers, default_pod
from training_local.apiserver.builtin.pod_validation import pod_causes, status_causes, update_causes
from training_local.apiserver.builtin.pod_warnings import pod_warnings
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.errors import Cause, Json, forbidden, forbidden_value
from training_local.apiserver.resource_types import Context

TOLERATION_SECONDS = 300
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def initial_status(pod: Json, context: Context) -> Json:
    """Return the status of a pod that was just created."""
    status: Json = {"phase": "Pending", "qosClass": quality_of_service(pod["spec"])}
    if pod["spec"].get("schedulingGates"):
        said = "Scheduling is blocked due to non-empty scheduling gates"
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": context.now,
                "reason": "SchedulingGated",
                "message": said,
            }
        ]
    return status


def quality_of_service(spec: Json) -> str:
    """Return BestEffort, Burstable or Guaranteed, by the requests and limits of CPU and memory."""
    totals: dict[str, dict[str, Fraction]] = {"requests": {}, "limits": {}}
    guaranteed = True
    for container in all_containers(spec):
        for kind, total in totals.items():
            for name, amount in container["resources"].get(kind, {}).items():
                if name in ("cpu", "memory") and quantity.is_positive(amount):
                    value = quantity.parse(amount)
                    total[name] = total[name] + value if name in total else value
        limits = container["resources"].get("limits", {})
        guaranteed = guaranteed and all(quantity.is_positive(limits.get(name, "0")) for name in ("cpu", "memory"))
    if not totals["requests"] and not totals["limits"]:
        return "BestEffort"
    return "Guaranteed" if guaranteed and totals["requests"] == totals["limits"] else "Burstable"


def admit(pod: Json, context: Context) -> None:
    """Apply the admission plugins that are on by default: tolerations of lost nodes, and priority."""
    _tolerate_lost_nodes(pod["spec"])
    _drop_restart_rules(pod["spec"])
    _set_priority(pod, context)


def _drop_restart_rules(spec: Json) -> None:
    """Drop what is behind a feature gate that is off by default: only sidecars have a restart policy of their own."""
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind) or ():
            container.pop("restartPolicyRules", None)
            if kind == "containers" or container.get("restartPolicy") != "Always":
                container.pop("restartPolicy", None)


def _tolerate_lost_nodes(spec: Json) -> None:
    for taint in ("not-ready", "unreachable"):
        key = f"node.kubernetes.io/{taint}"
        if not any(_tolerates(toleration, key) for toleration in spec.get("tolerations", ())):
            added = {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            }
            spec["tolerations"] = [*spec.get("tolerations", ()), added]


def _tolerates(toleration: Json, key: str) -> bool:
    return (toleration.get("key", key), toleration.get("effect", "NoExecute")) == (key, "NoExecute")


def _set_priority(pod: Json, context: Context) -> None:
    spec, name = pod["spec"], pod["metadata"].get("name", "")
    priority, preemption = 0, "PreemptLowerPriority"
    if class_name := spec.get("priorityClassName"):
        found = context.lookup("scheduling.k8s.io", "priorityclasses", "", class_name)
        if found is None and class_name not in SYSTEM_PRIORITIES:
            raise forbidden("", "pods", name, f"no PriorityClass with name {class_name} was found")
        priority = found["value"] if found else SYSTEM_PRIORITIES[class_name]
        preemption = (found or {}).get("preemptionPolicy", preemption)
    tail = "must not be provided in pod spec; priority admission controller computed"
    tail_end = "from the given PriorityClass name"
    if (given := spec.get("priority", priority)) != priority:
        raise forbidden("", "pods", name, f"the integer value of priority ({given}) {tail} {priority} {tail_end}")
    if (policy := spec.get("preemptionPolicy", preemption)) != preemption:
        said = f"the string value of PreemptionPolicy ({policy}) {tail} {preemption} {tail_end}"
        raise forbidden("", "pods", name, said)
    spec["priority"], spec["preemptionPolicy"] = priority, preemption


def carry_over(old: Json, new: Json) -> None:
    """Keep what admission gave: priority, class of service, toleration of lost nodes, where an update leaves it out."""
    for name in ("priority", "preemptionPolicy"):
        if name in old["spec"]:
            new["spec"].setdefault(name, old["spec"][name])
    _tolerate_lost_nodes(new["spec"])
    _drop_restart_rules(new["spec"])
    if quality := old.get("status", {}).get("qosClass"):
        new.setdefault("status", {}).setdefault("qosClass", quality)


def create_causes(pod: Json) -> Iterator[Cause]:
    """Check a pod, new or updated."""
    yield from pod_causes(pod)
    spec = pod["spec"]
    if spec.get("ephemeralContainers"):
        yield forbidden_value("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden_value("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


POD_RULES = BuiltinRules(
    "io.k8s.api.core.v1.Pod",
    "v1",
    default=default_pod,
    prepare=admit,
    prepare_update=carry_over,
    initial_status=initial_status,
    validate=create_causes,
    validate_update=update_causes,
    validate_status=status_causes,
    warn=pod_warnings,
)
