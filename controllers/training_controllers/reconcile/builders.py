"""Building the objects of a job, ready to be sent; they share with the job's template whatever does not change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from training_api.constants import (
    ATTEMPT_ANNOTATION,
    BACKOFF_LEVEL_ANNOTATION,
    JOB_ROLE_LABEL,
    MASTER_ROLE,
    RESTARTS_ANNOTATION,
)
from training_api.kinds import Job
from training_api.models.common import RestartPolicy
from training_controllers.frameworks.base import Framework
from training_controllers.gang.schedulers import gang_of
from training_controllers.model.annotations import restarts_together
from training_controllers.model.names import owner_reference, replica_labels, replica_name
from training_controllers.model.owned_objects import OwnedObject, RandomBytes
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.pod_spec import CannotBuild, container_named, number_of


def build_pod(job: Job, framework: Framework, new_pod: NewPod) -> dict[str, Any]:
    """The pod for a slot, ready to be sent; raises `CannotBuild`. Its parts are shared: nothing may change them."""
    slot = new_pod.slot
    replica = job.replicas[slot.replica_type]
    template = replica.template.get("metadata") or {}
    labels = {**(template.get("labels") or {}), **replica_labels(job, slot)}
    if framework.is_master(job, slot):
        labels[JOB_ROLE_LABEL] = MASTER_ROLE
    gang = gang_of(job, framework.gang)
    if gang is not None:
        labels |= gang.labels(job, slot)
    metadata = {
        "name": replica_name(job, slot),
        "namespace": job.metadata.namespace,
        "labels": labels,
        "ownerReferences": [owner_reference(job)],
    }
    annotations = _annotations(template.get("annotations") or {}, new_pod)
    if gang is not None:
        annotations |= gang.annotations(job, slot)
    if annotations:
        metadata["annotations"] = annotations
    if template.get("finalizers"):
        metadata["finalizers"] = template["finalizers"]
    spec = framework.pod_spec(job, slot)
    if gang is not None:
        spec = {**spec, "schedulerName": spec.get("schedulerName") or gang.name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec, "restartPolicy": _restart_policy(job, replica.restart_policy)},
    }


def _annotations(template: Mapping[str, str], new_pod: NewPod) -> dict[str, str]:
    """Those of the template, the restart history of the slot if there is one (K-03), and the attempt if any."""
    history, attempt = new_pod.history, new_pod.attempt
    ours = {RESTARTS_ANNOTATION: history.restarts or None, BACKOFF_LEVEL_ANNOTATION: history.backoff_level or None}
    ours[ATTEMPT_ANNOTATION] = attempt
    kept = {key: value for key, value in template.items() if key not in ours}
    return {**kept, **{key: str(value) for key, value in ours.items() if value is not None}}


def _restart_policy(job: Job, policy: RestartPolicy | None) -> str:
    """The policy for the kubelet: replicas with `ExitCode` are restarted by the engine, never in place (E-029).

    Nor are those with `OnFailure` that restart together: the kubelet would start one container among the others'
    survivors. `Always` stays: such a replica starts again after success, too, and that is the kubelet's to do.
    """
    if policy in (None, RestartPolicy.EXIT_CODE) or (policy == RestartPolicy.ON_FAILURE and restarts_together(job)):
        return RestartPolicy.NEVER.value
    return policy.value


def build_service(job: Job, framework: Framework, slot: Slot) -> dict[str, Any]:
    """The service that gives a replica its name in the cluster, ready to be sent; raises `CannotBuild`."""
    container = container_named(job.replicas[slot.replica_type].template, job.info.container)
    if container is None:
        raise CannotBuild("failed to find the port")
    labels = replica_labels(job, slot)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": replica_name(job, slot),
            "namespace": job.metadata.namespace,
            "labels": labels,
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {
            "clusterIP": "None",
            # Peers look each other up while they start, before any of them is ready (K-31).
            "publishNotReadyAddresses": not framework.publish_when_ready(job, slot),
            "selector": labels,
            "ports": service_ports(container.get("ports") or ()),
        },
    }


def service_ports(container_ports: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One port for each number and protocol, all of them named as a service with several ports requires (K-29)."""
    names: dict[tuple[int, str], str] = {}
    for port in container_ports:
        key = (number_of(port), port.get("protocol") or "TCP")
        names[key] = names.get(key) or port.get("name") or ""
    names_taken = set(names.values())
    return [
        {"name": name or _free_name(number, protocol, names_taken), "port": number, "protocol": protocol}
        for (number, protocol), name in names.items()
    ]


def _free_name(number: int, protocol: str, names_taken: set[str]) -> str:
    name = f"{protocol.lower()}-{number}"
    while name in names_taken:
        name += "x"
    return name


def build_owned_object(job: Job, owned: OwnedObject, random_bytes: RandomBytes) -> dict[str, Any]:
    """The object, ready to be sent; what is generated is different each time."""
    metadata: dict[str, Any] = {
        "name": owned.name,
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(job)],
    }
    if owned.kind.label:
        metadata["labels"] = {owned.kind.label: job.metadata.name}
    if owned.annotations:
        metadata["annotations"] = dict(owned.annotations)
    kind, fields = owned.kind, owned.fields
    if kind.merged:
        fields = {**fields, kind.content: {key: has for key, has in owned.content.items() if has is not None}}
    generated = owned.generate(random_bytes) if owned.generate is not None else {}
    return {"apiVersion": kind.api_version, "kind": kind.name, "metadata": metadata, **fields, **generated}
