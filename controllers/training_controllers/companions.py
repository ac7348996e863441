"""Objects beside pods and services that a job controls: which sorts there are, and what one looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

AUTOSCALING = "autoscaling/v2"
RBAC = "rbac.authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class CompanionSort:
    """A kind of such objects, and what the engine does with them."""

    kind: str
    api_version: str
    content: str = ""
    """The field that follows the job; empty for objects that stay as they were created."""
    label: str = ""
    """A label that all of them have, so that only those are watched; empty if there is none."""
    temporary: bool = False
    """Whether they exist only while the job is active; the others go with the job."""
    shared: bool = False
    """Whether one that somebody else controls does as well."""
    merged: bool = False
    """Whether others write there, too: then only fields of ours that differ are sent, as a patch."""
    phased: bool = False
    """Whether decisions depend on the phase in the status."""
    announced: bool = False
    """Whether events tell of the deletion."""


AUTOSCALER: Final = CompanionSort("HorizontalPodAutoscaler", AUTOSCALING, "spec", temporary=True)
CONFIG_MAP: Final = CompanionSort("ConfigMap", "v1", "data", label="app")
SERVICE_ACCOUNT: Final = CompanionSort("ServiceAccount", "v1", label="app", shared=True)
ROLE: Final = CompanionSort("Role", RBAC, "rules", label="app")
ROLE_BINDING: Final = CompanionSort("RoleBinding", RBAC, label="app")
POD_GROUP: Final = CompanionSort(
    "PodGroup", "scheduling.volcano.sh/v1beta1", "spec", temporary=True, merged=True, phased=True, announced=True
)
COSCHEDULING_POD_GROUP: Final = replace(POD_GROUP, api_version="scheduling.x-k8s.io/v1alpha1")

SORTS: Final[Mapping[str, CompanionSort]] = MappingProxyType(
    {sort.kind: sort for sort in (AUTOSCALER, CONFIG_MAP, SERVICE_ACCOUNT, ROLE, ROLE_BINDING, POD_GROUP)}
)
"""Every sort by its kind; the two sorts of PodGroups differ in nothing but their API."""


@dataclass(frozen=True, slots=True)
class Companion:
    """An object that a job should have."""

    sort: CompanionSort
    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Everything of the object beside version, kind and metadata."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Given to the object when it is created, and left to others from then on."""

    @property
    def content(self) -> Any:
        """The part that follows the job; None for objects that stay as they were created."""
        return self.fields[self.sort.content] if self.sort.content else None
