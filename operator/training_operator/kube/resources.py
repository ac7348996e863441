"""The resources that the operator works with: names, paths, and how an object becomes a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Generic, Protocol, TypeVar
from urllib.parse import quote

from training_api.constants import GROUP, VERSION
from training_api.kinds import KindInfo
from training_controllers.model.owned_objects import OwnedKind
from training_controllers.model.records import JobRecord, OwnedRecord, Owner
from training_operator.kube import decoders


class Cacheable(Protocol):
    """What a cache has to know of a record."""

    @property
    def namespace(self) -> str:
        """The namespace of the object."""
        ...

    @property
    def name(self) -> str:
        """The name of the object."""
        ...

    @property
    def uid(self) -> str:
        """The uid of the object."""
        ...

    @property
    def version(self) -> str:
        """The resource version of the object."""
        ...

    @property
    def owner(self) -> Owner | None:
        """The controller of the object."""
        ...


R = TypeVar("R", bound=Cacheable)


@dataclass(frozen=True, slots=True)
class Resource(Generic[R]):
    """One namespaced resource: the only source of its paths, and its decoder."""

    group: str
    version: str
    plural: str
    kind: str
    decode: Callable[[bytes], R]
    """JSON of one object -> record; raises `msgspec.MsgspecError` for an object that cannot be understood."""

    @property
    def qualified(self) -> str:
        """The name with its group: `pods`, `pytorchjobs.kubeflow.org`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of an object, of its subresource, or without a name of a collection ("" = everywhere)."""
        path = _collection(self.group, self.version, self.plural, namespace)
        if name:
            path += f"/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


@lru_cache(maxsize=1024)
def _collection(group: str, version: str, plural: str, namespace: str) -> str:
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return f"{root}/namespaces/{quote(namespace, safe='')}/{plural}" if namespace else f"{root}/{plural}"


PODS: Final = Resource("", "v1", "pods", "Pod", decoders.pod)
SERVICES: Final = Resource("", "v1", "services", "Service", decoders.service)
EVENTS: Final = Resource("", "v1", "events", "Event", decoders.event)
NODES: Final = Resource("", "v1", "nodes", "Node", decoders.node)
PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", decoders.priority_class
)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", decoders.lease)


def owned_resource(kind: OwnedKind) -> Resource[OwnedRecord]:
    """Return the resource of a kind of owned objects."""
    group, _, version = kind.api_version.rpartition("/")
    return Resource(group, version, f"{kind.name.lower()}s", kind.name, partial(decoders.owned, kind))


def jobs(info: KindInfo) -> Resource[JobRecord]:
    """Return the resource of a job kind."""
    return Resource(GROUP, VERSION, info.plural, info.kind, decoders.job)
