"""Reading and extending pod specs. What does not change is not copied: all pods share the parts of their template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from training_api.kinds import Job
from training_api.problems import Problem, ProblemKind

LONGEST_VARIABLE: Final = 32 * 4096
"""Bytes of one environment variable with its name and the byte that ends it (execve(2): MAX_ARG_STRLEN)."""

PodSpec = Mapping[str, Any]
Container = Mapping[str, Any]


class CannotBuild(Exception):
    """An object of the job cannot be built from its spec; the text is the reason, and part of an event."""


def env(name: str, value: object) -> dict[str, str]:
    """One environment variable."""
    return {"name": name, "value": str(value)}


def too_long_for_env(path: str, name: str, size: int) -> Iterator[Problem]:
    """The problem of a variable whose value would have `size` bytes, if no program could be started with it."""
    whole = len(name) + len("=") + size + 1
    if whole > LONGEST_VARIABLE:
        text = f"{name} lists every replica and would have {whole} bytes; an environment variable on Linux has at "
        text += f"most {LONGEST_VARIABLE}: use fewer replicas"
        yield Problem(path, ProblemKind.FORBIDDEN, text)


def env_from_field(name: str, path: str) -> dict[str, Any]:
    """An environment variable that Kubernetes fills from a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def with_env(spec: PodSpec, variables: Sequence[Mapping[str, Any]], *, only: str | None = None) -> PodSpec:
    """Append `variables` to those of every regular container, or of the first one named `only`.

    Of two variables of one name Kubernetes takes the last.
    """
    containers: list[Container] = list(spec.get("containers") or ())
    for position, container in enumerate(containers):
        if only is None or container.get("name") == only:
            containers[position] = {**container, "env": [*(container.get("env") or ()), *variables]}
            if only is not None:
                break
    return {**spec, "containers": containers}


def with_init_containers(spec: PodSpec, containers: Sequence[Container]) -> PodSpec:
    """Append `containers` to the init containers."""
    return {**spec, "initContainers": [*(spec.get("initContainers") or ()), *containers]}


def container_named(template: Mapping[str, Any], name: str) -> Container | None:
    """The first regular container of this name in a pod template."""
    for container in (template.get("spec") or {}).get("containers") or ():
        if container.get("name") == name:
            found: Container = container
            return found
    return None


def port_of(job: Job, replica_type: str) -> int | None:
    """Number of the port with the kind's port name in the kind's container of a type; None if there is none."""
    replica = job.replicas.get(replica_type)
    container = container_named(replica.template, job.info.container) if replica else None
    for port in (container or {}).get("ports") or ():
        if port.get("name") == job.info.port_name:
            return number_of(port)
    return None


def number_of(port: Mapping[str, Any]) -> int:
    """The number of a container port; raises `CannotBuild` where there is none."""
    number = port.get("containerPort")
    if not isinstance(number, int):
        raise CannotBuild(f"container port {port.get('name', '')!r} has no number")
    return number
