"""The parts of a pod, as stored, that a node needs; everything else of the object is left alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from math import ceil
from typing import Any

import msgspec

from training_api import quantity

Wire = Mapping[str, Any]
"""A JSON object as an API server gives it."""

Quantity = str | int | float


PODS = "pods"
"""The resource of which every pod takes one."""


class _Struct(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a pod."""


class KeyRef(_Struct, frozen=True):
    """A key of a config map or secret."""

    key: str
    name: str = ""
    optional: bool = False


class FieldRef(_Struct, frozen=True):
    """A field of the pod itself."""

    field_path: str


class ResourceRef(_Struct, frozen=True):
    """A resource limit or request of a container."""

    resource: str
    container_name: str = ""
    divisor: Quantity = "1"


class ValueFrom(_Struct, frozen=True):
    """Where the value of an environment variable comes from; exactly one is given."""

    field_ref: FieldRef | None = None
    resource_field_ref: ResourceRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class EnvVar(_Struct, frozen=True):
    """An environment variable of a container."""

    name: str
    value: str = ""
    value_from: ValueFrom | None = None


class ObjectRef(_Struct, frozen=True):
    """A config map or secret."""

    name: str = ""
    optional: bool = False


class EnvFrom(_Struct, frozen=True):
    """All keys of a config map or secret as environment variables."""

    prefix: str = ""
    config_map_ref: ObjectRef | None = None
    secret_ref: ObjectRef | None = None


class Port(_Struct, frozen=True):
    """A declared port of a container."""

    container_port: int
    name: str = ""
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class Resources(_Struct, frozen=True):
    """Requests and limits of a container."""

    limits: dict[str, Quantity] = {}
    requests: dict[str, Quantity] = {}


class VolumeMount(_Struct, frozen=True):
    """A place in a container where a volume appears."""

    name: str
    mount_path: str
    sub_path: str = ""
    sub_path_expr: str = ""
    read_only: bool = False


class Container(_Struct, frozen=True):
    """A container or init container."""

    name: str
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    ports: tuple[Port, ...] = ()
    resources: Resources = Resources()
    volume_mounts: tuple[VolumeMount, ...] = ()
    restart_policy: str = ""
    liveness_probe: Wire | None = None
    readiness_probe: Wire | None = None
    startup_probe: Wire | None = None
    lifecycle: Wire | None = None
    termination_message_path: str = "/dev/termination-log"
    termination_message_policy: str = "File"


class HostAlias(_Struct, frozen=True):
    """Further lines for the hosts file."""

    ip: str
    hostnames: tuple[str, ...] = ()


class PodSpec(_Struct, frozen=True):
    """What is to run."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[dict[str, Any], ...] = ()
    restart_policy: str = "Always"
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    service_account_name: str = ""
    automount_service_account_token: bool | None = None
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
    share_process_namespace: bool = False
    host_network: bool = False
    host_aliases: tuple[HostAlias, ...] = ()
    scheduling_gates: tuple[Wire, ...] = ()
    node_selector: dict[str, str] = {}
    affinity: Wire | None = None
    tolerations: tuple[Wire, ...] = ()
    priority: int = 0
    preemption_policy: str = ""
    overhead: dict[str, Quantity] = {}
    resources: Resources = Resources()


class OwnerReference(_Struct, frozen=True):
    """An owner of an object."""

    uid: str
    controller: bool = False
    api_version: str = ""
    kind: str = ""
    name: str = ""


class Metadata(_Struct, frozen=True):
    """Who a pod is."""

    name: str
    namespace: str
    uid: str
    resource_version: str = "0"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls it."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Pod(_Struct, frozen=True, dict=True):
    """A pod as a node sees it."""

    metadata: Metadata
    spec: PodSpec
    status: dict[str, Any] = {}
    stored: Wire = {}
    """The whole object."""

    @property
    def phase(self) -> str:
        """The stored phase."""
        return str(self.status.get("phase") or "Pending")

    @property
    def finished(self) -> bool:
        """Whether it has ended for good."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def hostname(self) -> str:
        """The host name of its containers: its name, cut to what a host name may be."""
        return self.spec.hostname or self.metadata.name[:63].rstrip("-.")

    @property
    def account(self) -> str:
        """The name of its service account."""
        return self.spec.service_account_name or "default"

    @property
    def scope(self) -> str:
        """Which pods can reach each other: those of one controlling owner, else those of the namespace without one."""
        controller = self.metadata.controller
        return controller.uid if controller else f"namespace/{self.metadata.namespace}"

    @property
    def containers(self) -> Sequence[Container]:
        """Init containers, then containers."""
        return (*self.spec.init_containers, *self.spec.containers)

    @cached_property
    def requests(self) -> Mapping[str, int]:
        """What it takes of its node, as `amounts`: the larger of its containers together, and of any init container.

        Sidecars count with the containers, and with the init containers after them. Resources of the pod itself count
        instead of the sum; its overhead is added (the scheduler's `PodRequests`).
        """
        running, sidecars, largest = Counter[str](), Counter[str](), Counter[str]()
        for container in self.spec.containers:
            running += _requests(container.resources)
        for container in self.spec.init_containers:
            if container.restart_policy == "Always":
                sidecars += _requests(container.resources)
                largest |= sidecars
            else:
                largest |= sidecars + _requests(container.resources)
        total = Counter({**((running + sidecars) | largest), **_requests(self.spec.resources)})
        return {**(total + Counter(amounts(self.spec.overhead))), PODS: 1}


def _requests(resources: Resources) -> Counter[str]:
    return Counter(amounts({**resources.limits, **resources.requests}))


def amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    """Quantities as a scheduler counts them: thousandths of processors, else whole units, rounded up."""
    return {name: _amount(name, str(text)) for name, text in quantities.items()}


@lru_cache(maxsize=4096)
def _amount(resource: str, text: str) -> int:
    return ceil(quantity.parse(text) * (1000 if resource == "cpu" else 1))


def parse_pod(stored: Wire) -> Pod:
    """Decode a stored pod; raises `ValueError` with the field that is wrong."""
    whole = _without_nulls(stored)
    return msgspec.convert({**whole, "stored": whole}, Pod)


def _without_nulls(value: Any) -> Any:
    """The value without null fields: the API convention makes them equal to absent ones."""
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
