"""A pod taken apart: every value of it under a path in which lists go by names and containers by what they are for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

from training_migration.rendering import RenderedPod

Json = dict[str, Any]
CONTAINERS: Final = "containers"
MAIN: Final = "@"
"""What the container that trains is called in paths, since its name differs; no other one can have this name."""

_KEYS: Final[Mapping[str, Callable[[Json], str]]] = {
    "env": lambda each: str(each["name"]),
    "ports": lambda each: f"{each.get('containerPort')}/{each.get('protocol') or 'TCP'}",
    "volumeMounts": lambda each: str(each.get("mountPath")),
    "volumeDevices": lambda each: str(each.get("devicePath")),
    "volumes": lambda each: str(each.get("name")),
    "imagePullSecrets": lambda each: str(each.get("name")),
    "hostAliases": lambda each: str(each.get("ip")),
    "items": lambda each: str(each.get("path")),
}
"""Lists whose order says nothing -> what each entry is called."""


class Leaf(NamedTuple):
    """One value, with the path as the pod has it."""

    path: str
    """As in the pod, for users: `spec.containers[node].image`."""
    value: Any
    """A text, number, truth value, None, or an empty list or object."""
    entries: tuple[str, ...] = ()
    """The entries of lists around it, the outermost first, in the form of the path that is equal on both sides."""


@dataclass(frozen=True)
class PodValues:
    """All values of a pod."""

    by_path: Mapping[str, Leaf]
    """By a path that is equal on both sides where values are for the same."""
    called: Callable[[str], str] = str
    """Replaces the names of pods in a text by what these are called on both sides."""

    @cached_property
    def entries(self) -> Mapping[str, Sequence[str]]:
        """All entries of lists, and the paths of the values in each."""
        found: dict[str, list[str]] = {}
        for path, leaf in self.by_path.items():
            for entry in leaf.entries:
                found.setdefault(entry, []).append(path)
        return found


def leaves(pod: RenderedPod, called: Callable[[str], str] = str) -> PodValues:
    """Take a pod apart. Variables with a number that JobSet or the Job gave the pod have it as their value."""
    found: dict[str, Leaf] = {}
    for field, role, container in _containers(pod):
        part = _Part(f"{CONTAINERS}[{role}]", f"spec.{field}[{container.get('name', role)}]", found)
        part.take(_with_numbers(container, pod.pod), part.path, (part.path,))
        found[f"{part.path}.kind"] = Leaf(part.own, _kind(field, container), (part.path,))
    rest = _Part("", "", found)
    spec = {key: each for key, each in pod.pod["spec"].items() if key not in ("containers", "initContainers")}
    for key, value in {**pod.pod, "spec": spec}.items():
        rest.take(value, key, ())
    return PodValues(found, called)


def without_equal(pod: RenderedPod, partner: RenderedPod) -> RenderedPod:
    """The pod without the fields that its partner has as well, and without what is compared as a process."""
    theirs = {(field, role): container for field, role, container in _containers(partner)}
    spec = _apart(pod.pod["spec"], partner.pod["spec"])
    spec |= {field: [] for field in ("containers", "initContainers")}
    for field, role, container in _containers(pod):
        own = _apart(container, theirs.get((field, role), {}))
        spec[field].append({key: each for key, each in own.items() if role != MAIN or key not in _OF_PROCESS})
    given = partner.pod["metadata"]
    metadata = {key: _apart(each, given.get(key) or {}) for key, each in pod.pod["metadata"].items() if key in _MAPS}
    return replace(pod, pod={"metadata": metadata, "spec": spec})


_MAPS: Final = ("labels", "annotations")
_OF_PROCESS: Final = ("env", "command", "args")
_NEEDED: Final = ("name", "image")
"""By these containers are distinguished, and what is not said about pulling images."""


def _containers(pod: RenderedPod) -> Iterator[tuple[str, str, Json]]:
    """Each with its field and what it is called on both sides."""
    for field in ("containers", "initContainers"):
        for position, container in enumerate(pod.pod["spec"].get(field) or ()):
            name = str(container.get("name", position))
            yield field, MAIN if name == pod.container and field == "containers" else name, container


def _apart(fields: Json, others: Json) -> Json:
    return {key: each for key, each in fields.items() if key in _NEEDED or key not in others or others[key] != each}


class _Part(NamedTuple):
    """A part of a pod that goes by another name in the paths of both sides than in the pod."""

    path: str
    own: str
    """As the pod has it."""
    found: dict[str, Leaf]

    def take(self, value: Any, path: str, entries: tuple[str, ...], field: str = "") -> None:
        """Every leaf below a value; what lists go by stands in brackets."""
        if isinstance(value, dict) and value:
            for key, each in value.items():
                if each is not None:
                    self.take(each, f"{path}.{key}", entries, key)
        elif isinstance(value, list) and value:
            for key, each in _named(field, value):
                entry = f"{path}[{key}]"
                self.take(each, entry, (*entries, entry))
        else:
            self.found[path] = Leaf(self.own + path[len(self.path) :], value, entries)


_COUNTED: Final = re.compile(
    r"metadata\.(labels|annotations)\['((?:batch\.kubernetes\.io|jobset\.sigs\.k8s\.io)/[^']+)'\]"
)


def _with_numbers(container: Json, pod: Json) -> Json:
    """The container with what JobSet and Jobs call the pod in place of references to that."""
    if not container.get("env"):
        return container
    return {**container, "env": [_with_number(each, pod) for each in container["env"]]}


def _with_number(variable: Json, pod: Json) -> Json:
    path = str(((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", ""))
    match = _COUNTED.fullmatch(path)
    value = (pod["metadata"].get(match[1]) or {}).get(match[2]) if match else None
    return variable if value is None else {"name": variable["name"], "value": value}


def _kind(field: str, container: Json) -> str:
    if field == "containers":
        return "container"
    return "native sidecar" if container.get("restartPolicy") == "Always" else "init container"


def _named(field: str, entries: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Entries by name where each has its own, else by position; of several variables of one name the last counts."""
    key = _KEYS.get(field)
    if key is not None and all(isinstance(each, dict) for each in entries):
        defaults = {"protocol": "TCP"} if field == "ports" else {}
        named = {key(each): {**defaults, **each} for each in entries}
        if len(named) == len(entries) or field == "env":
            yield from named.items()
            return
    yield from ((str(position), each) for position, each in enumerate(entries))
