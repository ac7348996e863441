"""What the kubelet makes of a pod: the environment and the command line of the process that trains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil
from typing import Any, Final

from training_api.quantity import amount
from training_migration.rendering import RenderedPod

Json = dict[str, Any]

_REFERENCE: Final = re.compile(r"\$\$|\$\(([^)]*)\)")
_KEYED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def environment(pod: RenderedPod, known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables of the container that trains, in order, with their references to each other resolved.

    What only a running pod knows is taken from `known`, by field path (`status.podIP`), and stands in angle brackets
    where it is not known; so do values from Secrets and ConfigMaps. Variables of `envFrom` and of Services are missing.
    """
    container = training_container(pod)
    result: dict[str, str] = {}
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source is None:
            result[variable["name"]] = expanded(str(variable.get("value") or ""), result)
        else:
            result[variable["name"]] = _from(source, pod.pod, container, known or {})
    return result


def command_line(pod: RenderedPod, variables: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Command and arguments of the container that trains, with references to variables resolved; empty: the image's.

    `variables` are those of its environment, where that is at hand.
    """
    container, variables = training_container(pod), environment(pod) if variables is None else variables
    command, arguments = (
        [expanded(str(word), variables) for word in container.get(name) or ()] for name in ("command", "args")
    )
    return command, arguments


def training_container(pod: RenderedPod) -> Json:
    """The container that trains."""
    container: Json = next(each for each in pod.pod["spec"]["containers"] if each["name"] == pod.container)
    return container


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value, `$$` by a dollar; unknown names stay (Kubernetes: "dependent variables")."""
    return _REFERENCE.sub(lambda found: "$" if found[1] is None else variables.get(found[1], found[0]), text)


def _from(source: Json, pod: Json, container: Json, known: Mapping[str, str]) -> str:
    if reference := source.get("fieldRef"):
        path: str = reference["fieldPath"]
        return known[path] if path in known else _field(path, pod)
    if reference := source.get("resourceFieldRef"):
        return known.get(reference["resource"]) or _resource(reference, pod, container)
    kind = next(iter(source), "nothing")
    other: Json = source.get(kind) or {}
    return f"<{kind} {other.get('name', '')}/{other.get('key', '')}>"


def _field(path: str, pod: Json) -> str:
    """A field of the pod; annotations and labels that are not there are empty."""
    metadata = pod["metadata"]
    if keyed := _KEYED.fullmatch(path):
        return str((metadata.get(keyed[1]) or {}).get(keyed[2], ""))
    simple = {
        "metadata.name": metadata.get("name"),
        "metadata.namespace": metadata.get("namespace"),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName") or "default",
    }
    return str(simple.get(path) or f"<{path}>")


def _resource(reference: Json, pod: Json, container: Json) -> str:
    """A request or limit in units of the divisor, rounded up; without one the node decides."""
    every = [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]
    wanted = reference.get("containerName") or container["name"]
    holder = next((each for each in every if each["name"] == wanted), container)
    block, _, name = reference["resource"].partition(".")
    stated = ((holder.get("resources") or {}).get(block) or {}).get(name)
    divisor = amount(str(reference.get("divisor") or "1")).value or 1
    return f"<{reference['resource']}>" if stated is None else str(ceil(amount(str(stated)).value / divisor))
