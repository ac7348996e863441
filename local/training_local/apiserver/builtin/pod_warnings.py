"""What the server finds strange about a pod, but allows."""

from __future__ import annotations

from collections.abc import Iterator

from training_api import quantity
from training_local.apiserver import names
from training_local.apiserver.errors import Json

WHOLE_BYTES = ("memory", "ephemeral-storage")


def pod_warnings(pod: Json) -> Iterator[str]:
    """Name what is strange, in the real server's words."""
    name = pod["metadata"].get("name", "")
    if complaints := names.label(name):
        said = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: {said}: [{' '.join(complaints)}]"
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(pod["spec"].get(kind) or ()):
            path = f"spec.{kind}[{index}]"
            yield from _fractions(container, path)
            yield from _hidden_variables(container, path)


def _fractions(container: Json, path: str) -> Iterator[str]:
    for kind in ("limits", "requests"):
        for name, amount in container["resources"].get(kind, {}).items():
            if name in WHOLE_BYTES and quantity.parse(amount).denominator != 1:
                said = f'fractional byte value "{amount}" is invalid, must be an integer'
                yield f"{path}.resources.{kind}[{name}]: {said}"


def _hidden_variables(container: Json, path: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env", ())):
        if (name := variable["name"]) in seen and f"$({name})" not in variable.get("value", ""):
            said = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{index}]: {said}"
        seen.add(name)
