"""The environment, command line and references of a container, as a kubelet works them out; no effects."""

from __future__ import annotations

import base64
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from training_api import quantity
from training_local.node.podspec import Container, EnvVar, Pod, ResourceRef, ValueFrom, Wire
from training_local.node.sandbox.client import SandboxError

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^)]*)\))")
_TAG = re.compile(r"(:[^:/@]+)?(@.+)?$")
_KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")

MAX_STRING = 128 * 1024
"""Bytes of one argument or variable, its end included (MAX_ARG_STRLEN)."""
MAX_TOTAL = 2 * 1024 * 1024
"""Bytes of all of them with a pointer to each: a quarter of the usual stack of 8 MiB."""
POINTER = 8

CONFIG_MAP = "configmap"
SECRET = "secret"

Key = tuple[str, str]
"""Kind (`configmap`, `secret`) and name of an object of the pod's namespace."""


class ConfigError(Exception):
    """A container cannot be configured; the text is what a kubelet says under `CreateContainerConfigError`."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a pod may ask about itself and its node."""

    pod: Pod
    node_name: str
    host_ip: str
    pod_ip: str
    capacity: Mapping[str, Fraction]
    objects: Mapping[Key, Mapping[str, bytes]]
    """The data of those config maps and secrets that exist."""


def data_of(stored: Wire, kind: str) -> Mapping[str, bytes]:
    """The entries of a config map or secret as bytes."""
    if kind == SECRET:
        return {key: base64.b64decode(value) for key, value in (stored.get("data") or {}).items()}
    text = {key: str(value).encode() for key, value in (stored.get("data") or {}).items()}
    return text | {key: base64.b64decode(value) for key, value in (stored.get("binaryData") or {}).items()}


def referenced(container: Container) -> Iterator[Key]:
    """The config maps and secrets that a container's environment needs."""
    for source in container.env_from:
        if source.config_map_ref:
            yield CONFIG_MAP, source.config_map_ref.name
        if source.secret_ref:
            yield SECRET, source.secret_ref.name
    for variable in container.env:
        if variable.value_from and variable.value_from.config_map_key_ref:
            yield CONFIG_MAP, variable.value_from.config_map_key_ref.name
        if variable.value_from and variable.value_from.secret_key_ref:
            yield SECRET, variable.value_from.secret_key_ref.name


def secret_values(container: Container, facts: Facts) -> set[str]:
    """The values that the container's environment has from secrets, which no message may contain."""
    named = {name for kind, name in referenced(container) if kind == SECRET}
    data = (facts.objects.get((SECRET, name)) or {} for name in named)
    return {value.decode(errors="replace") for each in data for value in each.values()}


class ArgumentListTooLong(SandboxError):
    """The kernel would not take arguments or variables (E2BIG); the text is as a container runtime has it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"exec: argument list too long: {what}")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by the variable's value and `$$` by `$`; references to unknown names stay as they are.

    Raises `ArgumentListTooLong` rather than to make a text that no process could be given.
    """
    pieces, at, size = [], 0, 0
    for reference in _REFERENCE.finditer(text):
        value = reference[1] or variables.get(reference[2], reference[0])
        size += len(value)
        if size > MAX_STRING:
            raise ArgumentListTooLong(f"with its references replaced, {text[:30]!r} has more than {MAX_STRING} bytes")
        pieces += [text[at : reference.start()], value]
        at = reference.end()
    return "".join([*pieces, text[at:]])


def check_size(arguments: Sequence[str], variables: Mapping[str, str]) -> None:
    """Raise `ArgumentListTooLong` for what the kernel would not take, by its reckoning."""
    strings = [*arguments, *(f"{name}={value}" for name, value in variables.items())]
    sizes = [len(each.encode(errors="surrogateescape")) + 1 for each in strings]
    for text, size in zip(strings, sizes, strict=True):
        if size > MAX_STRING:
            raise ArgumentListTooLong(f"{text[:30]!r} has {size} bytes, and {MAX_STRING} is the most")
    if (total := sum(sizes) + POINTER * len(sizes)) > MAX_TOTAL:
        raise ArgumentListTooLong(f"arguments and variables have {total} bytes, and {MAX_TOTAL} is the most")


def command_line(container: Container, entry_points: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> list[str]:
    """Command and arguments with their references replaced.

    Raises `ConfigError` if there is nothing to execute, `ArgumentListTooLong` if it is more than the kernel takes.
    """
    command = container.command or tuple(_entry_point(container.image, entry_points))
    if not command:
        raise ConfigError(
            f"container {container.name!r} has no command: images are not pulled here, so the entry point of "
            f"{container.image!r} is unknown; set `command` in the container, or name what takes its place: "
            f"--image-program {container.image}=COMMAND"
        )
    arguments = [expand(part, env) for part in (*command, *container.args)]
    check_size(arguments, env)
    return arguments


def _entry_point(image: str, entry_points: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """The command of the image as it is written, else that of its name without tag and digest."""
    name = _TAG.sub("", image)
    return entry_points.get(image) or entry_points.get(name, ())


def build(container: Container, facts: Facts, base: Mapping[str, str]) -> dict[str, str]:
    """The container's variables in their order of definition on top of `base`.

    Raises `ConfigError`, and `ArgumentListTooLong` as soon as there is more than the kernel takes.
    """
    variables: dict[str, str] = {}
    known, size = ChainMap(variables, dict(base)), 0
    for source in container.env_from:
        for kind, reference in ((CONFIG_MAP, source.config_map_ref), (SECRET, source.secret_ref)):
            if reference:
                data = _find(facts, kind, reference.name, optional=reference.optional)
                variables.update({source.prefix + key: value.decode() for key, value in (data or {}).items()})
    for variable in container.env:
        value = _value(variable, container, facts, known)
        if value is not None:
            variables[variable.name] = value
            size += len(value)
        if size > MAX_TOTAL:
            raise ArgumentListTooLong(f"the variables have more than {MAX_TOTAL} bytes")
    return {**base, **variables}


def _value(variable: EnvVar, container: Container, facts: Facts, known: Mapping[str, str]) -> str | None:
    if variable.value_from is None:
        return expand(variable.value, known)
    try:
        return _value_from(variable.value_from, container, facts)
    except ValueError as error:
        raise ConfigError(f"variable {variable.name} of container {container.name!r}: {error}") from error


def _value_from(source: ValueFrom, container: Container, facts: Facts) -> str | None:
    if source.field_ref:
        return field(source.field_ref.field_path, facts)
    if source.resource_field_ref:
        return resource_field(source.resource_field_ref, container, facts)
    for kind, reference in ((CONFIG_MAP, source.config_map_key_ref), (SECRET, source.secret_key_ref)):
        if reference:
            data = _find(facts, kind, reference.name, optional=reference.optional)
            if data is None or (reference.key not in data and reference.optional):
                return None
            if reference.key not in data:
                shown = "ConfigMap" if kind == CONFIG_MAP else "Secret"
                where = f"{facts.pod.metadata.namespace}/{reference.name}"
                raise ConfigError(f"couldn't find key {reference.key} in {shown} {where}")
            return data[reference.key].decode()
    raise ValueError("valueFrom names no supported source")


def _find(facts: Facts, kind: str, name: str, *, optional: bool) -> Mapping[str, bytes] | None:
    data = facts.objects.get((kind, name))
    if data is None and not optional:
        raise ConfigError(f'{kind} "{name}" not found')
    return data


def field(path: str, facts: Facts) -> str:
    """The value of a field of the pod as the downward API gives it; raises `ValueError` for an unsupported path."""
    metadata = facts.pod.metadata
    if keyed := _KEYED_FIELD.fullmatch(path):
        mapping = metadata.labels if keyed[1] == "labels" else metadata.annotations
        return mapping.get(keyed[2], "")
    values = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace,
        "metadata.uid": metadata.uid,
        "metadata.labels": _listing(metadata.labels),
        "metadata.annotations": _listing(metadata.annotations),
        "spec.nodeName": facts.node_name,
        "spec.serviceAccountName": facts.pod.account,
        "status.hostIP": facts.host_ip,
        "status.hostIPs": facts.host_ip,
        "status.podIP": facts.pod_ip,
        "status.podIPs": facts.pod_ip,
    }
    if path not in values:
        raise ValueError(f"field {path!r} is not supported by the downward API")
    return values[path]


def _listing(mapping: Mapping[str, str]) -> str:
    escaped = {
        key: value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for key, value in mapping.items()
    }
    return "\n".join(f'{key}="{value}"' for key, value in sorted(escaped.items()))


def resource_field(reference: ResourceRef, container: Container, facts: Facts) -> str:
    """A container's limit or request in units of the divisor; without one, what the node has (requests: 0)."""
    if reference.container_name:
        named = [c for c in facts.pod.containers if c.name == reference.container_name]
        if not named:
            raise ValueError(f"there is no container {reference.container_name!r}")
        container = named[0]
    kind, _, name = reference.resource.partition(".")
    if kind not in ("limits", "requests") or not name:
        raise ValueError(f"resource {reference.resource!r} is not of the form limits.cpu or requests.memory")
    limits, requests = container.resources.limits, container.resources.requests
    if kind == "limits":
        amount = quantity.parse(str(limits[name])) if name in limits else facts.capacity.get(name, Fraction(0))
    else:
        amount = quantity.parse(str(requests.get(name, limits.get(name, 0))))
    return str(ceil(amount / (quantity.parse(str(reference.divisor)) or 1)))
