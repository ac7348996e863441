"""Services: defaults, addresses, validation."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from training_local.apiserver import names
from training_local.apiserver.builtin.container_validation import PROTOCOLS, each, number_or_name
from training_local.apiserver.builtin.pod_validation import labels
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.builtin.syntax import port_number
from training_local.apiserver.errors import (
    Cause,
    Json,
    duplicate,
    forbidden_value,
    invalid,
    not_supported,
    required,
)
from training_local.apiserver.resource_types import Context

SERVICE_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITY_SECONDS = 10800
FIRST_NODE_PORT, LAST_NODE_PORT = 30000, 32767
_FAMILIES = {"IPv4": "IPv6", "IPv6": "IPv4"}
"""IP family -> the other one."""


def default_service(service: Json) -> None:
    """Fill in the defaults of a service, in place."""
    spec = service["spec"]
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", AFFINITY_SECONDS)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (0, "", None):
            port["targetPort"] = port["port"]
    if kind in ("NodePort", "LoadBalancer") or (kind == "ClusterIP" and spec.get("externalIPs")):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def allocate(service: Json, context: Context) -> None:
    """Give a new service its addresses and node ports."""
    spec = service["spec"]
    if spec["type"] == "ExternalName":
        return
    key = f"{context.namespace}/{service['metadata'].get('name', '')}"
    if not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0] if spec.get("clusterIPs") else cluster_address(key)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])
    _set_families(spec)
    if spec["type"] != "ClusterIP":
        for port in spec.get("ports", ()):
            port.setdefault("nodePort", _node_port(f"{key}/{port['protocol']}/{port['port']}"))


def cluster_address(key: str) -> str:
    """Derive an address in 10.96.0.0/16 from a service's namespace and name; nothing has to be remembered for it."""
    number = 256 + zlib.crc32(key.encode()) % (2**16 - 512)
    return f"10.96.{number >> 8}.{number & 255}"


def _node_port(key: str) -> int:
    return FIRST_NODE_PORT + zlib.crc32(key.encode()) % (LAST_NODE_PORT - FIRST_NODE_PORT + 1)


def _set_families(spec: Json) -> None:
    """Fill in the IP families; a headless service without selector gets both, as by the real server."""
    if spec["clusterIP"] == "None" and not spec.get("selector"):
        policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        families = spec.setdefault("ipFamilies", ["IPv4"])
        if policy != "SingleStack" and len(families) == 1:
            families.append(_FAMILIES.get(families[0], "IPv4"))
        return
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    spec.setdefault("ipFamilies", ["IPv4"])


def carry_over(old: Json, new: Json) -> None:
    """Keep addresses, families and node ports that an update leaves out."""
    was, spec = old["spec"], new["spec"]
    if "ExternalName" in (was["type"], spec["type"]):
        if spec["type"] != "ExternalName":
            allocate(new, Context("", new["metadata"].get("namespace", "")))
        return
    if "clusterIPs" not in spec and spec.get("clusterIP", was["clusterIP"]) == was["clusterIP"]:
        spec["clusterIPs"] = was["clusterIPs"]
    if not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0] if spec.get("clusterIPs") else was["clusterIP"]
    elif spec["clusterIP"] != spec.get("clusterIPs", [""])[0]:
        spec["clusterIPs"] = [spec["clusterIP"]]
    for field in ("ipFamilyPolicy", "ipFamilies", "healthCheckNodePort"):
        if field in was:
            spec.setdefault(field, was[field])
    if spec["type"] in ("NodePort", "LoadBalancer"):
        key = f"{new['metadata'].get('namespace', '')}/{new['metadata']['name']}"
        ports = {(port["protocol"], port["port"]): port.get("nodePort") for port in was.get("ports", ())}
        for port in spec.get("ports", ()):
            kept = ports.get((port["protocol"], port["port"]))
            port.setdefault("nodePort", kept or _node_port(f"{key}/{port['protocol']}/{port['port']}"))


def service_causes(service: Json) -> Iterator[Cause]:
    """Check a service, new or updated."""
    spec = service["spec"]
    kind, headless = spec["type"], spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        yield required("spec.ports")
    if headless and kind in ("LoadBalancer", "NodePort"):
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        yield from _external_name(spec)
    yield from _ports(spec)
    yield from labels(spec.get("selector", {}), "spec.selector")
    if (affinity := spec["sessionAffinity"]) not in ("ClientIP", "None"):
        yield not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    yield from _addresses(spec)
    if kind not in SERVICE_TYPES:
        yield not_supported("spec.type", kind, SERVICE_TYPES)
    if kind == "ClusterIP":
        for index, port in enumerate(spec.get("ports", ())):
            if port.get("nodePort"):
                yield forbidden_value(f"spec.ports[{index}].nodePort", "may not be used when `type` is 'ClusterIP'")
    yield from _duplicate_ports(spec)
    for field, values in (
        ("externalTrafficPolicy", ("Cluster", "Local")),
        ("internalTrafficPolicy", ("Cluster", "Local")),
    ):
        if (policy := spec.get(field)) is not None and policy not in values:
            yield not_supported(f"spec.{field}", policy, values)


def _external_name(spec: Json) -> Iterator[Cause]:
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field) or (field == "clusterIPs" and spec.get("clusterIP")):
            yield forbidden_value(f"spec.{field}", "may not be set for ExternalName services")
    if target := spec.get("externalName", "").removesuffix("."):
        yield from each("spec.externalName", target, names.subdomain)
    else:
        yield required("spec.externalName")


def _ports(spec: Json) -> Iterator[Cause]:
    seen: set[str] = set()
    several = len(spec.get("ports", ())) > 1
    for index, port in enumerate(spec.get("ports", ())):
        path = f"spec.ports[{index}]"
        name = port.get("name", "")
        if several and not name:
            yield required(f"{path}.name")
        elif name:
            yield from each(f"{path}.name", name, names.label)
            if name in seen:
                yield duplicate(f"{path}.name", name)
            seen.add(name)
        yield from each(f"{path}.port", port["port"], port_number)
        if port["protocol"] not in PROTOCOLS:
            yield not_supported(f"{path}.protocol", port["protocol"], PROTOCOLS)
        yield from number_or_name(port["targetPort"], f"{path}.targetPort")
        if protocol := port.get("appProtocol"):
            yield from each(f"{path}.appProtocol", protocol, names.qualified_name)


def _addresses(spec: Json) -> Iterator[Cause]:
    addresses, first = spec.get("clusterIPs", []), spec.get("clusterIP", "")
    if spec["type"] != "ExternalName" and addresses and first != addresses[0]:
        said = "first value must match `clusterIP`"
        yield invalid("spec.clusterIPs", addresses, said)
    for index, address in enumerate(addresses):
        if address != "None" and not _is_address(address):
            said = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            yield invalid(f"spec.clusterIPs[{index}]", address, said)


def _is_address(text: str) -> bool:
    parts = text.split(".")
    return ":" in text or (len(parts) == 4 and all(part.isdecimal() and int(part) < 256 for part in parts))


def _duplicate_ports(spec: Json) -> Iterator[Cause]:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(spec.get("ports", ())):
        key = (port["protocol"], port["port"])
        if key in seen:
            yield duplicate(f"spec.ports[{index}]", _go_port(*key))
        seen.add(key)


def _go_port(protocol: str, number: int) -> Json:
    """Return a port as the real server prints the duplicate of one."""
    return {"Name": "", "Protocol": protocol, "AppProtocol": None, "Port": number, "TargetPort": 0, "NodePort": 0}


def update_causes(old: Json, new: Json) -> Iterator[Cause]:
    """Check that an update keeps the address that the service has."""
    was, now = old["spec"], new["spec"]
    if "ExternalName" in (was["type"], now["type"]):
        return
    before, after = was.get("clusterIPs", []), now.get("clusterIPs", [])
    if before == ["None"] == after:
        return
    for index, address in enumerate(before):
        if index < len(after) and after[index] != address:
            yield invalid(f"spec.clusterIPs[{index}]", after, "may not change once set")


def service_warnings(service: Json) -> Iterator[str]:
    """Name settings that have no effect."""
    spec = service["spec"]
    if spec.get("clusterIP") == "None":
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if spec.get("externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec["sessionAffinity"] != "None":
            yield "spec.SessionAffinity is ignored for headless services"


SERVICE_RULES = BuiltinRules(
    "io.k8s.api.core.v1.Service",
    "v1",
    default=default_service,
    prepare=allocate,
    prepare_update=carry_over,
    initial_status=lambda service, context: {"loadBalancer": {}},
    validate=service_causes,
    validate_update=update_causes,
    warn=service_warnings,
)
