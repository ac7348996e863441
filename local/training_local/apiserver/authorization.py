"""Who may do what: roles and their bindings (RBAC), worked out without effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from training_local.apiserver.attributes import Attributes
from training_local.apiserver.errors import Json, denied, not_found
from training_local.apiserver.users import MASTERS, User

GROUP: Final = "rbac.authorization.k8s.io"

Listing = Callable[[str, str], Sequence[Json]]
"""Plural and namespace ("" for objects of the cluster) -> the stored roles or bindings."""

_EVERYTHING: Final[Sequence[Json]] = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)
_PATHS = "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"
_FOR_ALL_USERS: Final[Sequence[Json]] = (
    {"verbs": ["get"], "nonResourceURLs": _PATHS.split()},
    {
        "verbs": ["create"],
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    },
    {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
)
"""What `system:discovery` and `system:basic-user` of the real server allow."""
_BUILTIN_ROLES: Final = {"cluster-admin": _EVERYTHING}


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether something is allowed, and what could not be looked at on the way."""

    allowed: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Rights:
    """What one user may do."""

    user: User
    stored: Listing

    def decide(self, asked: Attributes) -> Decision:
        """Return whether the user may do what is asked."""
        problems: list[str] = []
        if any(permits(rule, asked) for rule in self.rules(asked.namespace, problems)):
            return Decision(True)
        if not problems:
            return Decision(False)
        return Decision(False, f"RBAC: {problems[0] if len(problems) == 1 else '[' + ', '.join(problems) + ']'}")

    def require(self, asked: Attributes) -> None:
        """Raise a 403 in the words of the real server unless the user may do what is asked."""
        decision = self.decide(asked)
        if decision.allowed:
            return
        if asked.path:
            what = f'{asked.verb} path "{asked.path}"'
        else:
            where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
            what = f'{asked.verb} resource "{asked.qualified}" in API group "{asked.group}" {where}'
        why = f'User "{self.user.name}" cannot {what}'
        raise denied(asked.group, asked.resource, asked.name, f"{why}: {decision.problem}" if decision.problem else why)

    def rules(self, namespace: str, problems: list[str]) -> Iterator[Json]:
        """Yield every rule for the user in a namespace; references to roles that are not there join `problems`."""
        if MASTERS in self.user.groups:
            yield from _EVERYTHING
            return
        yield from _FOR_ALL_USERS
        for binding in self.stored("clusterrolebindings", ""):
            if self._is_bound(binding):
                yield from self._role(binding["roleRef"], "", problems)
        for binding in self.stored("rolebindings", namespace) if namespace else ():
            if self._is_bound(binding):
                yield from self._role(binding["roleRef"], namespace, problems)

    def _is_bound(self, binding: Json) -> bool:
        namespace = binding["metadata"].get("namespace", "")
        return any(_is(subject, self.user, namespace) for subject in binding.get("subjects") or ())

    def _role(self, reference: Json, namespace: str, problems: list[str]) -> Sequence[Json]:
        kind, name = reference["kind"], reference["name"]
        plural, namespace = ("roles", namespace) if kind == "Role" else ("clusterroles", "")
        for role in self.stored(plural, namespace):
            if role["metadata"]["name"] == name:
                return role.get("rules") or ()
        if kind == "ClusterRole" and name in _BUILTIN_ROLES:
            return _BUILTIN_ROLES[name]
        problems.append(not_found(GROUP, kind.lower(), name).message)
        return ()


def _is(subject: Json, user: User, namespace: str) -> bool:
    kind, name = subject["kind"], subject["name"]
    if kind == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return name in user.groups if kind == "Group" else name == user.name


def permits(rule: Json, asked: Attributes) -> bool:
    """Return whether a rule of a role allows what is asked."""
    if not _lists(rule, "verbs", asked.verb):
        return False
    if asked.path:
        return any(_covers(url, asked.path) for url in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    resources = rule.get("resources") or ()
    return (
        _lists(rule, "apiGroups", asked.group)
        and (
            _lists(rule, "resources", asked.qualified)
            or (asked.subresource != "" and f"*/{asked.subresource}" in resources)
        )
        and (not names or asked.name in names)
    )


def _lists(rule: Json, key: str, wanted: str) -> bool:
    values = rule.get(key) or ()
    return "*" in values or wanted in values


def _covers(url: str, path: str) -> bool:
    return path.startswith(url[:-1]) if url.endswith("*") else path == url
