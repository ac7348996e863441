"""A pod taken apart: every value of it under a path in which lists go by names and containers by what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from training_migration.rendering import RenderedPod

Json = dict[str, Any]
MAIN: Final = "main"
"""What the container that trains is called in paths, since its name differs."""

_KEYS: Final[Mapping[str, Callable[[Json], str]]] = {
    "env": lambda each: str(each["name"]),
    "ports": lambda each: f"{each.get('containerPort')}/{each.get('protocol') or 'TCP'}",
    "volumeMounts": lambda each: str(each.get("mountPath")),
    "volumeDevices": lambda each: str(each.get("devicePath")),
    "volumes": lambda each: str(each.get("name")),
    "imagePullSecrets": lambda each: str(each.get("name")),
    "hostAliases": lambda each: str(each.get("ip")),
    "items": lambda each: str(each.get("key") or each.get("path")),
}
"""Lists whose order says nothing -> what each entry is called."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value, with the path as the pod has it."""

    path: str
    """As in the pod, for people: `spec.containers[node].image`."""
    value: Any
    """A text, number, truth value, None, or an empty list or object."""


def leaves(pod: RenderedPod) -> dict[str, Leaf]:
    """All values of a pod by a path that is equal on both sides where they are for the same."""
    content: Json = dict(pod.pod)
    spec: Json = dict(content.pop("spec"))
    found: dict[str, Leaf] = {}
    for field in ("containers", "initContainers"):
        for position, container in enumerate(spec.pop(field, None) or ()):
            name = str(container.get("name", position))
            role = MAIN if name == pod.container and field == "containers" else name
            for path, value in _flat(container, ()):
                found[_joined(("containers", role), path)] = Leaf(f"spec.{field}[{name}]{_text(path)}", value)
            kind = _kind(field, container)
            found[f"containers[{role}].kind"] = Leaf(f"spec.{field}[{name}]", kind)
    for path, value in _flat({**content, "spec": spec}, ()):
        text = _text(path).lstrip(".")
        found[text] = Leaf(text, value)
    return found


def _kind(field: str, container: Json) -> str:
    if field == "containers":
        return "container"
    return "native sidecar" if container.get("restartPolicy") == "Always" else "init container"


Path = tuple[str, ...]


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
    """Of several entries with one name the last one counts, as it does for variables."""
    key = _KEYS.get(field)
    if key is None or not all(isinstance(each, dict) for each in entries):
        yield from ((str(position), each) for position, each in enumerate(entries))
    else:
        defaults = {"protocol": "TCP"} if field == "ports" else {}
        yield from {key(each): {**defaults, **each} for each in entries}.items()


def _joined(head: tuple[str, str], path: Path) -> str:
    return f"{head[0]}[{head[1]}]{_text(path)}"


def _text(path: Path) -> str:
    return "".join(part if part.startswith("[") else f".{part}" for part in path)
