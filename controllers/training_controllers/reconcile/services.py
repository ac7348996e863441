"""Building the headless service of a replica (K-29, K-31)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from training_api.kinds import Job
from training_controllers.frameworks.base import Framework
from training_controllers.model.names import owner_reference, replica_labels, replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild, container_named, number_of


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
