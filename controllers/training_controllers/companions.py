"""Objects beside pods and services that a job controls: which sorts there are, and what one looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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


AUTOSCALER: Final = CompanionSort("HorizontalPodAutoscaler", AUTOSCALING, "spec", temporary=True)
CONFIG_MAP: Final = CompanionSort("ConfigMap", "v1", "data", label="app")
SERVICE_ACCOUNT: Final = CompanionSort("ServiceAccount", "v1", label="app", shared=True)
ROLE: Final = CompanionSort("Role", RBAC, "rules", label="app")
ROLE_BINDING: Final = CompanionSort("RoleBinding", RBAC, label="app")

SORTS: Final[Mapping[str, CompanionSort]] = MappingProxyType(
    {sort.kind: sort for sort in (AUTOSCALER, CONFIG_MAP, SERVICE_ACCOUNT, ROLE, ROLE_BINDING)}
)
"""Every sort by its kind."""


@dataclass(frozen=True, slots=True)
class Companion:
    """An object that a job should have."""

    sort: CompanionSort
    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Everything of the object beside version, kind and metadata."""
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> Any:
        """The part that follows the job; None for objects that stay as they were created."""
        return self.fields[self.sort.content] if self.sort.content else None
