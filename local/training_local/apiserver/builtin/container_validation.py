"""Checks of the containers of a pod, in the real server's order and words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from training_api import quantity
from training_local.apiserver import names
from training_local.apiserver.builtin.syntax import data_key, environment_name, no_back_steps, port_name, port_number
from training_local.apiserver.errors import (
    Cause,
    Json,
    duplicate,
    forbidden_value,
    invalid,
    not_found_value,
    not_supported,
    required,
)

PROTOCOLS = ("SCTP", "TCP", "UDP")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
"""Fields of the pod that an environment variable may take its value from, besides labels and annotations by key."""
_KEYED_FIELDS = ("metadata.annotations", "metadata.labels")
_KNOWN_FIELDS = (*ENV_FIELDS, *_KEYED_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase")
ENV_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
STANDARD_RESOURCES = ("cpu", "memory", "ephemeral-storage")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_NUMBERS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_NOT_NEGATIVE = "must be greater than or equal to 0"
_SIDECARS_ONLY = "may not be set for init containers without restartPolicy=Always"


def each(path: str, text: Any, check: Callable[[Any], list[str]]) -> list[Cause]:
    """Turn the complaints of a check into causes."""
    return [invalid(path, text, said) for said in check(text)]


def containers(listed: Sequence[Json] | None, volumes: Collection[str], path: str) -> Iterator[Cause]:
    """Check the regular containers of a pod."""
    if not listed:
        yield required(path)
        return
    seen: set[str] = set()
    for index, container in enumerate(listed):
        here = f"{path}[{index}]"
        yield from _common(container, volumes, here)
        if (name := container["name"]) in seen:
            yield duplicate(f"{here}.name", name)
        seen.add(name)
        yield from _lifecycle(container, here)
    yield from _host_port_conflicts(listed, path)


def init_containers(spec: Json, volumes: Collection[str], path: str) -> Iterator[Cause]:
    """Check the init containers of a pod; those with `restartPolicy: Always` are sidecars."""
    seen = {container["name"] for container in spec.get("containers") or ()}
    for index, container in enumerate(spec.get("initContainers", ())):
        here = f"{path}[{index}]"
        yield from _common(container, volumes, here)
        if (name := container["name"]) in seen:
            yield duplicate(f"{here}.name", name)
        elif name:
            seen.add(name)
        if container.get("restartPolicy") == "Always":
            yield from _lifecycle(container, here)
        else:
            for field in ("lifecycle", *_PROBES):
                if field in container:
                    yield forbidden_value(f"{here}.{field}", _SIDECARS_ONLY)


def _common(container: Json, volumes: Collection[str], path: str) -> Iterator[Cause]:
    if not (name := container["name"]):
        yield required(f"{path}.name")
    else:
        yield from each(f"{path}.name", name, names.label)
    if not container.get("image"):
        yield required(f"{path}.image")
    if (policy := container["terminationMessagePolicy"]) not in ("File", "FallbackToLogsOnError"):
        yield not_supported(f"{path}.terminationMessagePolicy", policy, ("File", "FallbackToLogsOnError"))
    yield from _ports(container.get("ports", ()), f"{path}.ports")
    for index, variable in enumerate(container.get("env", ())):
        yield from _variable(variable, f"{path}.env[{index}]")
    for index, source in enumerate(container.get("envFrom", ())):
        yield from _variables_from(source, f"{path}.envFrom", index)
    yield from _mounts(container.get("volumeMounts", ()), volumes, f"{path}.volumeMounts")
    if (policy := container["imagePullPolicy"]) not in PULL_POLICIES:
        yield not_supported(f"{path}.imagePullPolicy", policy, PULL_POLICIES)
    yield from resources(container["resources"], f"{path}.resources")


def _ports(listed: Sequence[Json], path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, port in enumerate(listed):
        here = f"{path}[{index}]"
        if name := port.get("name"):
            if complaints := port_name(name):
                yield from (invalid(f"{here}.name", name, said) for said in complaints)
            elif name in seen:
                yield duplicate(f"{here}.name", name)
            seen.add(name)
        if not (number := port["containerPort"]):
            yield required(f"{here}.containerPort")
        else:
            yield from each(f"{here}.containerPort", number, port_number)
        if number := port.get("hostPort"):
            yield from each(f"{here}.hostPort", number, port_number)
        if port["protocol"] not in PROTOCOLS:
            yield not_supported(f"{here}.protocol", port["protocol"], PROTOCOLS)


def _variable(variable: Json, path: str) -> Iterator[Cause]:
    if not (name := variable["name"]):
        yield required(f"{path}.name")
    else:
        yield from each(f"{path}.name", name, environment_name)
    if (source := variable.get("valueFrom")) is not None:
        yield from _source(source, bool(variable.get("value")), f"{path}.valueFrom")


def _source(source: Json, has_value: bool, path: str) -> Iterator[Cause]:
    if (field := source.get("fieldRef")) is not None:
        yield from field_reference(field, ENV_FIELDS, f"{path}.fieldRef")
    if (resource := source.get("resourceFieldRef")) is not None:
        yield from _resource_reference(resource, f"{path}.resourceFieldRef")
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if (key := source.get(kind)) is not None:
            yield from _key_reference(key, f"{path}.{kind}")
    if not source:
        said = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        yield invalid(path, "", said)
    elif has_value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def field_reference(field: Json, allowed: Sequence[str], path: str) -> Iterator[Cause]:
    """Check a reference to a field of the pod."""
    if not (named := field["fieldPath"]):
        yield required(f"{path}.fieldPath")
        return
    name, bracket, subscript = named.partition("['")
    why = ""
    if field.get("apiVersion") != "v1":
        why = f"unsupported pod version: {field.get('apiVersion')}"
    elif bracket and named.endswith("']"):
        if name in _KEYED_FIELDS:
            yield from each(path, subscript.removesuffix("']"), names.qualified_name)
        else:
            why = f"field label does not support subscript: {named}"
    elif named not in _KNOWN_FIELDS:
        why = f"field label not supported: {named}"
    elif named not in allowed:
        yield not_supported(f"{path}.fieldPath", named, allowed)
    if why:
        yield invalid(f"{path}.fieldPath", named, f"error converting fieldPath: {why}")


def _resource_reference(resource: Json, path: str) -> Iterator[Cause]:
    if not (named := resource["resource"]):
        yield required(f"{path}.resource")
    elif named not in ENV_RESOURCES and not named.startswith(("limits.hugepages-", "requests.hugepages-")):
        yield not_supported(f"{path}.resource", named, ENV_RESOURCES)


def _key_reference(reference: Json, path: str) -> Iterator[Cause]:
    if not (name := reference.get("name")) and path.endswith("secretKeyRef"):
        yield required(f"{path}.name")
    else:
        yield from each(f"{path}.name", name or "", names.subdomain)
    if not (key := reference["key"]):
        yield required(f"{path}.key")
    else:
        yield from each(f"{path}.key", key, data_key)


def _variables_from(source: Json, path: str, index: int) -> Iterator[Cause]:
    if prefix := source.get("prefix"):
        yield from each(f"{path}[{index}].prefix", prefix, environment_name)
    kinds = [kind for kind in ("configMapRef", "secretRef") if kind in source]
    for kind in kinds:
        if not source[kind].get("name"):
            yield required(f"{path}[{index}].{kind}.name")
    if not kinds:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _mounts(listed: Sequence[Json], volumes: Collection[str], path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, mount in enumerate(listed):
        here = f"{path}[{index}]"
        if not mount["name"]:
            yield required(f"{here}.name")
        if mount["name"] not in volumes:
            yield not_found_value(f"{here}.name", mount["name"])
        if not (target := mount["mountPath"]):
            yield required(f"{here}.mountPath")
        if target in taken:
            yield invalid(f"{here}.mountPath", target, "must be unique")
        taken.add(target)
        for field in ("subPath", "subPathExpr"):
            if below := mount.get(field):
                if below.startswith("/"):
                    yield invalid(f"{path}.{field}", below, "must be a relative path")
                yield from each(f"{path}.{field}", below, no_back_steps)


def resources(wanted: Json, path: str) -> Iterator[Cause]:
    """Check requests and limits: known names, no negative amounts, requests not above limits."""
    limits, requests = wanted.get("limits", {}), wanted.get("requests", {})
    for field, listed in (("limits", limits), ("requests", requests)):
        for name, amount in listed.items():
            here = f"{path}.{field}[{name}]"
            yield from _resource_name(name, here)
            if amount.startswith("-"):
                yield invalid(here, amount, _NOT_NEGATIVE)
            if "/" in name and quantity.parse(amount).denominator != 1:
                yield invalid(here, amount, "must be an integer")
    for name, amount in requests.items():
        if (limit := limits.get(name)) is None:
            if "/" in name:
                yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif "/" in name and amount != limit:
            yield invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}")
        elif amount != limit and quantity.parse(amount) > quantity.parse(limit):
            yield invalid(f"{path}.requests", amount, f"must be less than or equal to {name} limit of {limit}")


def _resource_name(name: str, path: str) -> Iterator[Cause]:
    if complaints := names.qualified_name(name):
        yield from (invalid(path, name, said) for said in complaints)
        if "/" in name:
            yield invalid(path, name, "doesn't follow extended resource name standard")
    elif "/" not in name and name not in STANDARD_RESOURCES and not name.startswith("hugepages-"):
        yield invalid(path, name, "must be a standard resource type or fully qualified")
        yield invalid(path, name, "must be a standard resource for containers")


def _lifecycle(container: Json, path: str) -> Iterator[Cause]:
    for field, handler in container.get("lifecycle", {}).items():
        if isinstance(handler, dict):
            yield from _handler(handler, f"{path}.lifecycle.{field}")
    for field in _PROBES:
        if (probe := container.get(field)) is not None:
            yield from _probe(probe, field != "readinessProbe", f"{path}.{field}")


def _probe(probe: Json, once: bool, path: str) -> Iterator[Cause]:
    yield from _handler(probe, path)
    for field in _PROBE_NUMBERS:
        if (number := probe.get(field, 0)) < 0:
            yield invalid(f"{path}.{field}", number, _NOT_NEGATIVE)
    if (grace := probe.get("terminationGracePeriodSeconds")) is not None and grace <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if once and probe["successThreshold"] != 1:
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _handler(handler: Json, path: str) -> Iterator[Cause]:
    kinds = [kind for kind in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if kind in handler]
    if not kinds:
        yield required(path, "must specify a handler type")
        return
    yield from (forbidden_value(f"{path}.{kind}", "may not specify more than 1 handler type") for kind in kinds[1:])
    first = handler[kinds[0]]
    if kinds[0] == "exec" and not first.get("command"):
        yield required(f"{path}.exec.command")
    if kinds[0] in ("httpGet", "tcpSocket", "grpc"):
        yield from number_or_name(first["port"], f"{path}.{kinds[0]}.port")
    if kinds[0] == "httpGet" and first["scheme"] not in ("HTTP", "HTTPS"):
        yield not_supported(f"{path}.httpGet.scheme", first["scheme"], ("HTTP", "HTTPS"))


def number_or_name(port: int | str, path: str) -> list[Cause]:
    """Check a port given by number or by name."""
    return each(path, port, port_number if isinstance(port, int) else port_name)


def _host_port_conflicts(listed: Sequence[Json], path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, container in enumerate(listed):
        for number, port in enumerate(container.get("ports", ())):
            if host := port.get("hostPort"):
                shown = f"{port['protocol']}/{port.get('hostIP', '')}/{host}"
                if shown in taken:
                    yield duplicate(f"{path}[{index}].ports[{number}].hostPort", shown)
                taken.add(shown)
