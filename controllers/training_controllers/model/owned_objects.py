"""Objects next to pods and services that a job owns: which kinds there are, and what such an object contains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from training_api.constants import EXTENSION_PREFIX

RandomBytes = Callable[[int], bytes]
"""Returns the requested number of unpredictable bytes."""
AUTOSCALING = "autoscaling/v2"
RBAC = "rbac.authorization.k8s.io/v1"
MPI_NETWORK_LABEL: Final = EXTENSION_PREFIX + "mpi-network"
"""On the service by which the pods of an MPIJob find each other, so that no other service is watched for it."""


@dataclass(frozen=True, slots=True)
class OwnedKind:
    """A kind of such objects, and what the engine does with them."""

    name: str
    api_version: str
    content: str = ""
    """The field that depends on the job; empty for objects that stay as they were created."""
    label: str = ""
    """A label that all of them get, with the job's name, so that only those are watched; empty if there is none."""
    temporary: bool = False
    """Whether they exist only while the job is active; the others go with the job."""
    needs: str = ""
    """The kind of an object of the same name without which none of this kind is created."""
    grants: bool = False
    """Whether it grants something on pods: then it follows them as long as it exists, not only while the job runs."""
    optional: bool = False
    """Whether pods are created without it."""
    watched: bool = True
    """Whether the operator watches them; others are created once and never read, which saves a permission."""
    advice: str = ""
    """What to do if they cannot be created; only of kinds that pods wait for. Appended to the server's message."""
    gates: bool = False
    """Whether the job does not start before they are there."""
    merged: bool = False
    """Whether others write there, too: then only our fields that differ are sent, as a patch."""
    phased: bool = False
    """Whether decisions depend on the phase in the status."""
    emits_deletion_events: bool = False
    """Whether the deletion emits events."""

    @property
    def needed(self) -> bool:
        """Whether no pod is created while the job does not have its own; what gates the start has rules of its own."""
        return not self.optional and not self.gates


AUTOSCALER: Final = OwnedKind("HorizontalPodAutoscaler", AUTOSCALING, "spec", temporary=True, optional=True)
CONFIG_MAP: Final = OwnedKind("ConfigMap", "v1", "data", label="app")
SERVICE_ACCOUNT: Final = OwnedKind("ServiceAccount", "v1", label="app")
ROLE: Final = OwnedKind("Role", RBAC, "rules", label="app", grants=True)
ROLE_BINDING: Final = OwnedKind("RoleBinding", RBAC, label="app", needs=ROLE.name)
POD_GROUP: Final = OwnedKind(
    "PodGroup",
    "scheduling.volcano.sh/v1beta1",
    "spec",
    temporary=True,
    gates=True,
    merged=True,
    phased=True,
    emits_deletion_events=True,
)
COSCHEDULING_POD_GROUP: Final = replace(POD_GROUP, api_version="scheduling.x-k8s.io/v1alpha1")

NETWORK: Final = OwnedKind("Service", "v1", label=MPI_NETWORK_LABEL, temporary=True)
KEYS: Final = OwnedKind(
    "Secret",
    "v1",
    watched=False,
    advice="MPI over SSH needs permission to create Secrets: deploy/components/mpi-ssh grants it in the "
    "operator's namespace, deploy/mpi-ssh-namespace in another one",
)

OWNED_KINDS: Final[Mapping[str, OwnedKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (AUTOSCALER, CONFIG_MAP, SERVICE_ACCOUNT, ROLE, ROLE_BINDING, POD_GROUP, NETWORK, KEYS)
    }
)
"""All of them by name; the PodGroups of the two schedulers differ only in their API version."""


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One rule of a role."""

    group: str
    resource: str
    """With its subresource, if it is about one."""
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """An object that a job is to own."""

    kind: OwnedKind
    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """The object without version, kind and metadata."""
    generate: Callable[[RandomBytes], Mapping[str, Any]] | None = None
    """Makes further, secret fields when the object is created: keys."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Set when the object is created, not reconciled later."""
    shared: bool = False
    """Whether an object that another client controls does as well."""
    existing_only: bool = False
    """Whether it is kept as it should be if it is there, and not created."""

    @property
    def content(self) -> Any:
        """The part that depends on the job; None for objects that stay as they were created."""
        return self.fields[self.kind.content] if self.kind.content else None
