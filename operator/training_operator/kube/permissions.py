"""Missing RBAC permissions: which one a rejection names, and which of our manifests grants it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import GROUP
from training_controllers.frameworks.plugins import plugins

_PATTERNS: Final = (
    re.compile(r' cannot (?P<verb>\w+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'),
    # RBAC escalation check: the operator grants something to launchers of MPIJobs, so it must have that itself.
    re.compile(
        r'not currently held:\s*\{APIGroups:\["(?P<group>[^"]*)"\], Resources:\["(?P<resource>[^"]+)"\], '
        r'(?:ResourceNames:\[[^\]]*\], )?Verbs:\["(?P<verb>\w+)"'
    ),
)
"""How the API server's RBAC words a rejection; quotas, policies and namespaces that end word theirs otherwise."""

_BASE: Final = "deploy/base/permissions.yaml"
_MPI: Final = "deploy/base/permissions-mpi.yaml"
_MANIFESTS: Final[Mapping[tuple[str, str], str]] = {
    ("coordination.k8s.io", "leases"): "deploy/base/permissions-lease.yaml",
    ("", "configmaps"): _MPI,
    ("", "serviceaccounts"): _MPI,
    ("", "pods/exec"): _MPI,
    ("rbac.authorization.k8s.io", "roles"): _MPI,
    ("rbac.authorization.k8s.io", "rolebindings"): _MPI,
    ("", "secrets"): "deploy/components/mpi-ssh or deploy/mpi-ssh-namespace",
    ("", "nodes"): "deploy/components/lost-nodes",
    ("scheduling.volcano.sh", "podgroups"): "deploy/components/volcano",
    ("scheduling.x-k8s.io", "podgroups"): "deploy/components/scheduler-plugins",
    ("scheduling.k8s.io", "priorityclasses"): "deploy/components/volcano or deploy/components/scheduler-plugins",
}
"""Where a permission is granted, by group and resource; all others are in the first of our manifests."""


@dataclass(frozen=True, slots=True)
class Permission:
    """A verb on a resource, as a role grants it."""

    verb: str
    resource: str
    """With its subresource, if it is about one."""
    group: str

    @property
    def manifest(self) -> str:
        """The file or component of ours that grants it, or the command that prints what does."""
        if package := _packages().get(self.resource.partition("/")[0]) if self.group == GROUP else "":
            return f"the output of `training-operator rbac --with {package}`"
        return _MANIFESTS.get((self.group, self.resource), _BASE)


def missing_permission(rejection: str) -> Permission | None:
    """Return the permission that a rejected request lacked; None if that is not the reason."""
    for pattern in _PATTERNS:
        if found := pattern.search(rejection):
            return Permission(found["verb"], found["resource"], found["group"])
    return None


def _packages() -> Mapping[str, str]:
    """The packages of kinds that are not ours, by the resources of the kinds."""
    return {each.framework.info.plural: each.package for each in plugins().found}


class MissingPermissions:
    """Logs each missing permission once, and what to apply."""

    def __init__(self, log: Any) -> None:
        self._log = log
        self._logged: set[Permission] = set()

    def denied(self, rejection: str) -> bool:
        """Take note of a rejection; return whether it is for want of a permission."""
        permission = missing_permission(rejection)
        if permission is not None and permission not in self._logged:
            self._logged.add(permission)
            self._log.error(
                "a permission is missing: retrying until it is granted",
                verb=permission.verb,
                resource=permission.resource,
                group=permission.group,
                apply=permission.manifest,
                error=rejection,
            )
        return permission is not None
