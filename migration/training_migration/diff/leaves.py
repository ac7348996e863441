"""A pod taken apart: every value of it under a path in which lists go by names and containers by what they are for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from training_migration.rendering import RenderedPod

Json = dict[str, Any]
Path = tuple[str, ...]
CONTAINERS: Final = "containers"
_ROOTS: Final = frozenset({CONTAINERS, "apiVersion", "kind", "metadata", "spec", "status"})
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


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value, with the path as the pod has it."""

    path: str
    """As in the pod, for people: `spec.containers[node].image`."""
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
    content: Json = dict(pod.pod)
    spec: Json = dict(content.pop("spec"))
    found: dict[str, Leaf] = {}
    for field in ("containers", "initContainers"):
        for position, container in enumerate(spec.pop(field, None) or ()):
            name = str(container.get("name", position))
            role = MAIN if name == pod.container and field == "containers" else name
            place, own = (CONTAINERS, f"[{role}]"), f"spec.{field}[{name}]"
            for path, value in _flat(_with_numbers(container, pod.pod), ()):
                found[_text((*place, *path))] = Leaf(own + _text(path), value, _entries((*place, *path)))
            found[_text((*place, "kind"))] = Leaf(own, _kind(field, container), _entries(place))
    for path, value in _flat({**content, "spec": spec}, ()):
        found[_text(path)] = Leaf(_text(path), value, _entries(path))
    return PodValues(found, called)


@lru_cache(maxsize=16_384)
def _entries(path: Path) -> tuple[str, ...]:
    return tuple(_text(path[: number + 1]) for number, part in enumerate(path) if part.startswith("["))


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


def _flat(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every leaf below a value; keys of lists stand in brackets."""
    match value:
        case dict() if value:
            for key, each in value.items():
                if each is not None:
                    yield from _flat(each, (*path, key))
        case list() if value:
            for key, each in _named(path[-1] if path else "", value):
                yield from _flat(each, (*path, f"[{key}]"))
        case _:
            yield path, value


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


@lru_cache(maxsize=16_384)
def _text(path: Path) -> str:
    """`spec.volumes[data].name`; below a container it begins with a dot."""
    text = "".join(part if part.startswith("[") else f".{part}" for part in path)
    return text.lstrip(".") if path and path[0] in _ROOTS else text
