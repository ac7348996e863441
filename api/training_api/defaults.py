"""Defaults of a job. They exist in memory only and are never written into the stored spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from training_api.kinds import Job, KindInfo
from training_api.models.common import PodTemplate, ReplicaSpec, ReplicaSpecs


def with_defaults(job: Job) -> Job:
    """The job with canonical replica types in processing order and all defaults but one applied.

    `cleanPodPolicy` stays absent where it is absent, because a job that exceeds a limit treats an explicit `None`
    differently (K-18); everywhere else absent means `None`.
    The input is not changed, and what is not changed is shared with the result.
    """
    replicas = {
        replica_type: _with_replica_defaults(job.info, replica_type, spec)
        for replica_type, spec in canonical_replicas(job.info, job.spec.replica_specs).items()
    }
    spec = job.spec.model_copy(update={"replica_specs": replicas})
    return replace(job, spec=spec.with_kind_defaults())


def canonical_replicas(info: KindInfo, replicas: ReplicaSpecs) -> ReplicaSpecs:
    """The replica map under canonical names in processing order, unknown types last.

    Where a type is there twice, the spelling that is not canonical wins, the first one if there are several, as in v1.
    """
    known: ReplicaSpecs = {}
    for canonical in info.replica_types:
        spellings = [name for name in replicas if info.canonical_type(name) == canonical]
        if spellings:
            known[canonical] = replicas[next((name for name in spellings if name != canonical), canonical)]
    unknown = {name: spec for name, spec in replicas.items() if info.canonical_type(name) not in known}
    return known | unknown


def _with_replica_defaults(info: KindInfo, replica_type: str, spec: ReplicaSpec) -> ReplicaSpec:
    return spec.model_copy(
        update={
            "replicas": info.default_count(replica_type) if spec.replicas is None else spec.replicas,
            "restart_policy": spec.restart_policy or info.restart_policy,
            "template": _with_default_port(info, spec.template) if info.services else spec.template,
        }
    )


def _with_default_port(info: KindInfo, template: PodTemplate) -> PodTemplate:
    """Append the kind's port to the container that needs it: the one of the fixed name, else the first."""
    pod: Mapping[str, Any] = template.get("spec") or {}
    containers: list[dict[str, Any]] = list(pod.get("containers") or ())
    if not containers:
        return template
    position = next((i for i, c in enumerate(containers) if c.get("name") == info.container), 0)
    container = containers[position]
    ports = container.get("ports") or ()
    if any(port.get("name") == info.port_name for port in ports):
        return template
    port = {"name": info.port_name, "containerPort": info.port}
    containers[position] = {**container, "ports": [*ports, port]}
    return {**template, "spec": {**pod, "containers": containers}}
