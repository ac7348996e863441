"""The columns of `kubectl get` for the builtin types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from training_local.apiserver.builtin.events import EventConversion
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import Column
from training_local.durations import age

NONE, UNSET, UNKNOWN = "<none>", "<unset>", "<unknown>"
_ROLE_LABEL = "node-role.kubernetes.io/"
_METRICS_SHOWN = 2


def text(name: str, value: Callable[[Json], Any], priority: int = 0) -> Column:
    """Return a column whose cells do not depend on time."""
    return Column(name, "string", lambda obj, now: value(obj), priority=priority)


NAME = Column("Name", "string", lambda obj, now: obj["metadata"]["name"], format="name")
AGE = Column("Age", "string", lambda obj, now: age(obj["metadata"].get("creationTimestamp"), now))
CREATED = Column("Created At", "date", lambda obj, now: obj["metadata"].get("creationTimestamp"))
DEFAULT_COLUMNS = (NAME, CREATED)
"""Columns of types that declare none."""


def _external_address(service: Json) -> str:
    spec = service["spec"]
    external = ",".join(spec.get("externalIPs", ()))
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return external or NONE
        case "LoadBalancer":
            ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress", ())
            given = ",".join(each.get("ip") or each.get("hostname", "") for each in ingress)
            return ",".join(each for each in (given, external) if each) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return UNKNOWN


def _ports(service: Json) -> str:
    def shown(port: Json) -> str:
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        return f"{port['port']}{outside}/{port['protocol']}"

    return ",".join(shown(port) for port in service["spec"].get("ports", ())) or NONE


def label_text(labels: Json | None) -> str:
    """Return labels as in `a=1,b=2`, sorted."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


SERVICE_COLUMNS = (
    NAME,
    text("Type", lambda service: service["spec"].get("type", "")),
    text("Cluster-IP", lambda service: next(iter(service["spec"].get("clusterIPs", ())), NONE)),
    text("External-IP", _external_address),
    text("Port(s)", _ports),
    AGE,
    text("Selector", lambda service: label_text(service["spec"].get("selector")), priority=1),
)
NAMESPACE_COLUMNS = (NAME, text("Status", lambda namespace: namespace["status"].get("phase", "")), AGE)
CONFIG_MAP_COLUMNS = (
    NAME,
    text("Data", lambda config: len(config.get("data", ())) + len(config.get("binaryData", ()))),
    AGE,
)
SECRET_COLUMNS = (
    NAME,
    text("Type", lambda secret: secret.get("type", "")),
    text("Data", lambda secret: len(secret.get("data", ()))),
    AGE,
)
SERVICE_ACCOUNT_COLUMNS = (NAME, text("Secrets", lambda account: len(account.get("secrets", ()))), AGE)
LEASE_COLUMNS = (NAME, text("Holder", lambda lease: lease.get("spec", {}).get("holderIdentity", "")), AGE)


def _first_seen(event: Json, now: str) -> str:
    return age(event.get("firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Json, now: str) -> str:
    if series := event.get("series"):
        return age(series.get("lastObservedTime"), now)
    return age(event["lastTimestamp"], now) if event.get("lastTimestamp") else _first_seen(event, now)


def _target(event: Json) -> str:
    about = event.get("involvedObject", {})
    kind = about.get("kind", "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _source(event: Json) -> str:
    source = event.get("source", {})
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {host}" if host else component


def _count(event: Json) -> int:
    return int((event.get("series") or event).get("count", 0) or 1)


def _on_stored_form(column: Column) -> Callable[[Json, str], Any]:
    return lambda event, now: column.value(EventConversion().to_storage(event), now)


EVENT_COLUMNS = (
    Column("Last Seen", "string", _last_seen),
    text("Type", lambda event: event.get("type", "")),
    text("Reason", lambda event: event.get("reason", "")),
    text("Object", _target),
    text("Subobject", lambda event: event.get("involvedObject", {}).get("fieldPath", ""), priority=1),
    text("Source", _source, priority=1),
    text("Message", lambda event: event.get("message", "").strip()),
    Column("First Seen", "string", _first_seen, priority=1),
    text("Count", _count, priority=1),
    Column("Name", "string", lambda event, now: event["metadata"]["name"], format="name", priority=1),
)

NEW_EVENT_COLUMNS = tuple(
    Column(each.name, each.type, _on_stored_form(each), each.format, each.description, each.priority)
    for each in EVENT_COLUMNS
)
"""The same columns for events in the form of events.k8s.io."""


def _node_status(node: Json) -> str:
    ready = [each for each in node.get("status", {}).get("conditions", ()) if each["type"] == "Ready"]
    words = ["Ready" if each["status"] == "True" else "NotReady" for each in ready[:1]] or ["Unknown"]
    return ",".join([*words, *(["SchedulingDisabled"] if node.get("spec", {}).get("unschedulable") else [])])


def _node_roles(node: Json) -> str:
    labels = node["metadata"].get("labels", {})
    roles = {key.removeprefix(_ROLE_LABEL) for key in labels if key.startswith(_ROLE_LABEL)}
    roles |= {value for key, value in labels.items() if key == "kubernetes.io/role"}
    return ",".join(sorted(role for role in roles if role)) or NONE


def _node_address(kind: str) -> Callable[[Json], str]:
    def address(node: Json) -> str:
        listed = node.get("status", {}).get("addresses", ())
        return next((each["address"] for each in listed if each["type"] == kind), NONE)

    return address


def _node_info(field: str, otherwise: str) -> Callable[[Json], str]:
    return lambda node: node.get("status", {}).get("nodeInfo", {}).get(field) or otherwise


NODE_COLUMNS = (
    NAME,
    text("Status", _node_status),
    text("Roles", _node_roles),
    AGE,
    text("Version", _node_info("kubeletVersion", "")),
    text("Internal-IP", _node_address("InternalIP"), priority=1),
    text("External-IP", _node_address("ExternalIP"), priority=1),
    text("OS-Image", _node_info("osImage", UNKNOWN), priority=1),
    text("Kernel-Version", _node_info("kernelVersion", UNKNOWN), priority=1),
    text("Container-Runtime", _node_info("containerRuntimeVersion", UNKNOWN), priority=1),
)


def _subjects(kind: str) -> Callable[[Json], str]:
    def listed(binding: Json) -> str:
        subjects = [each for each in binding.get("subjects", ()) if each["kind"] == kind]
        prefix = kind == "ServiceAccount"
        return ", ".join(f"{each.get('namespace', '')}/{each['name']}" if prefix else each["name"] for each in subjects)

    return listed


BINDING_COLUMNS = (
    NAME,
    text("Role", lambda binding: f"{binding['roleRef']['kind']}/{binding['roleRef']['name']}"),
    AGE,
    text("Users", _subjects("User"), priority=1),
    text("Groups", _subjects("Group"), priority=1),
    text("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
)


def _metrics(autoscaler: Json) -> str:
    now = autoscaler.get("status", {}).get("currentMetrics") or []
    specs = autoscaler["spec"].get("metrics", ())
    shown = [_metric(spec, now[index] if index < len(now) else {}) for index, spec in enumerate(specs)]
    more = f" + {len(shown) - _METRICS_SHOWN} more..." if len(shown) > _METRICS_SHOWN else ""
    return ", ".join(shown[:_METRICS_SHOWN]) + more or NONE


def _metric(spec: Json, now: Json) -> str:
    field = spec["type"][0].lower() + spec["type"][1:]
    target, current = spec.get(field, {}).get("target", {}), now.get(field, {}).get("current", {})
    by_resource = field in ("resource", "containerResource")
    prefix = f"{spec[field]['name']}: " if by_resource else ""
    if (average := target.get("averageValue")) is not None:
        suffix = " (avg)" if field in ("external", "object") else ""
        return f"{prefix}{current.get('averageValue', UNKNOWN)}/{average}{suffix}"
    if by_resource:
        used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        return f"{prefix}{_percent(used, UNKNOWN)}/{_percent(wanted, '<auto>')}"
    return f"{current.get('value', UNKNOWN)}/{target.get('value', '')}"


def _percent(number: int | None, otherwise: str) -> str:
    return otherwise if number is None else f"{number}%"


def _scaled(autoscaler: Json) -> str:
    target = autoscaler["spec"]["scaleTargetRef"]
    return f"{target['kind']}/{target['name']}"


AUTOSCALER_COLUMNS = (
    NAME,
    text("Reference", _scaled),
    text("Targets", _metrics),
    text("MinPods", lambda autoscaler: str(autoscaler["spec"].get("minReplicas", UNSET))),
    text("MaxPods", lambda autoscaler: autoscaler["spec"]["maxReplicas"]),
    text("Replicas", lambda autoscaler: autoscaler.get("status", {}).get("currentReplicas", 0)),
    AGE,
)
PRIORITY_CLASS_COLUMNS = (
    NAME,
    Column("Value", "integer", lambda priority, now: priority["value"]),
    Column("Global-Default", "boolean", lambda priority, now: priority.get("globalDefault", False)),
    AGE,
    text("PreemptionPolicy", lambda priority: priority.get("preemptionPolicy", ""), priority=1),
)
_SHORT_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _claim_phase(claim: Json) -> str:
    return "Terminating" if claim["metadata"].get("deletionTimestamp") else str(claim["status"].get("phase", ""))


def _if_bound(value: Callable[[Json], str]) -> Callable[[Json], str]:
    return lambda claim: value(claim["status"]) if claim["spec"].get("volumeName") else ""


def _modes(status: Json) -> str:
    given = status.get("accessModes", ())
    return ",".join(short for mode, short in _SHORT_MODES.items() if mode in given)


CLAIM_COLUMNS = (
    NAME,
    text("Status", _claim_phase),
    text("Volume", lambda claim: claim["spec"].get("volumeName", "")),
    text("Capacity", _if_bound(lambda status: status.get("capacity", {}).get("storage", "0"))),
    text("Access Modes", _if_bound(_modes)),
    text("StorageClass", lambda claim: claim["spec"].get("storageClassName", "")),
    text("VolumeAttributesClass", lambda claim: claim["spec"].get("volumeAttributesClassName", UNSET)),
    AGE,
    text("VolumeMode", lambda claim: claim["spec"].get("volumeMode", UNSET), priority=1),
)


def _quota(limits: bool) -> Callable[[Json], str]:
    def listed(quota: Json) -> str:
        hard, used = (quota.get("status", {}).get(field, {}) for field in ("hard", "used"))
        chosen: Sequence[str] = [name for name in sorted(hard) if name.startswith("limits.") == limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in chosen)

    return listed


QUOTA_COLUMNS = (NAME, text("Request", _quota(limits=False)), text("Limit", _quota(limits=True)), AGE)
