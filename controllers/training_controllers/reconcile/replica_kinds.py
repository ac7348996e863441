"""Pods and services, the two kinds of objects that each replica has: what differs in creating and deleting them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from training_api.kinds import Job
from training_controllers.frameworks.base import Framework
from training_controllers.model.plan import NewPod, Slot
from training_controllers.model.records import PodRecord, ServiceRecord
from training_controllers.ports import Dependents, ObjectCounter, Ports
from training_controllers.reconcile.builders import build_pod, build_service

R = TypeVar("R", PodRecord, ServiceRecord)
N = TypeVar("N", NewPod, Slot)
"""A pod or service to be created, as in a plan."""


@dataclass(frozen=True, slots=True)
class ReplicaKind(Generic[R, N]):
    """One of the two kinds."""

    name: str
    objects: Dependents[R]
    build: Callable[[Job, Framework, N], Mapping[str, Any]]
    """The object, ready to be sent; raises `CannotBuild`."""
    created_event: Callable[[Slot, str], tuple[str, str]]
    """Reason and message of the event for the new object in a slot, by its name."""
    created: ObjectCounter
    create_failed: ObjectCounter | None = None
    deleted: ObjectCounter | None = None

    @property
    def noun(self) -> str:
        """The kind as written in sentences."""
        return self.name.lower()


def pod_kind(ports: Ports, framework: Framework) -> ReplicaKind[PodRecord, NewPod]:
    """Pods."""
    return ReplicaKind(
        "Pod",
        ports.pods,
        build_pod,
        framework.pod_created,
        ObjectCounter.PODS_CREATED,
        deleted=ObjectCounter.PODS_DELETED,
    )


def service_created(_slot: Slot, name: str) -> tuple[str, str]:
    """Reason and message of the event for a new service."""
    return "SuccessfulCreateService", f"Created service: {name}"


def service_kind(ports: Ports) -> ReplicaKind[ServiceRecord, Slot]:
    """Services."""
    return ReplicaKind(
        "Service",
        ports.services,
        build_service,
        service_created,
        ObjectCounter.SERVICES_CREATED,
        create_failed=ObjectCounter.SERVICES_FAILED,
    )
