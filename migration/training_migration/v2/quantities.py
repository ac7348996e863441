"""Quantities in pods, in the form in which Kubernetes writes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

from training_api.quantity import amount, canonical
from training_controllers.gang.resources import Amounts, pod_requests

Json = dict[str, Any]


def write_canonically(pod_spec: Json) -> None:
    """Change `4` and `1000m` into the form that is stored, wherever a pod states quantities."""
    for container in containers_of(pod_spec):
        write_resources(container.get("resources"))
        for variable in container.get("env") or ():
            _field((variable.get("valueFrom") or {}).get("resourceFieldRef"), "divisor")
    write_resources(pod_spec.get("resources"))
    for name, stated in (pod_spec.get("overhead") or {}).items():
        pod_spec["overhead"][name] = canonical(str(stated))
    for volume in pod_spec.get("volumes") or ():
        _field(volume.get("emptyDir"), "sizeLimit")


def containers_of(pod_spec: Json) -> Iterator[Json]:
    """All containers, those that initialise first."""
    yield from pod_spec.get("initContainers") or ()
    yield from pod_spec.get("containers") or ()


def units(resources: Json, block: str, word: str) -> int:
    """How much is stated of the first resource whose name has the word in it, rounded up; 0 for none."""
    stated = next((text for name, text in (resources.get(block) or {}).items() if word in name.lower()), "0")
    return ceil(amount(str(stated)).value)


def requests(pod_spec: Json) -> Amounts:
    """What a pod of a template requests; unlike in a running pod, limits do not stand in for requests."""
    return pod_requests(_without_limits(pod_spec))


def _without_limits(pod_spec: Json) -> Json:
    spec = {**pod_spec, "resources": {"requests": (pod_spec.get("resources") or {}).get("requests")}}
    for kind in ("initContainers", "containers"):
        spec[kind] = [
            {**each, "resources": {"requests": (each.get("resources") or {}).get("requests")}}
            for each in pod_spec.get(kind) or ()
        ]
    return spec


def write_resources(resources: Json | None) -> None:
    """Change requests and limits into the form that is stored."""
    for block in ("limits", "requests"):
        stated: Mapping[str, Any] = (resources or {}).get(block) or {}
        if resources is not None and stated:
            resources[block] = {name: canonical(str(text)) for name, text in stated.items()}


def _field(holder: Json | None, name: str) -> None:
    if holder is not None and holder.get(name) is not None:
        holder[name] = canonical(str(holder[name]))
