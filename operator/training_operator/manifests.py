"""What has to be applied for a kind: its CRD, and the roles that let the operator serve it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from training_api.constants import GROUP
from training_controllers.frameworks.base import Framework
from training_controllers.frameworks.plugins import plugins
from training_controllers.frameworks.registry import frameworks
from training_controllers.model.owned_objects import OwnedKind, PolicyRule
from training_operator.kube.resources import owned_resource

OPERATOR: Final = "training-operator"
"""Name of the operator's account, and how the names of its roles begin."""
RBAC_GROUP: Final = "rbac.authorization.k8s.io"

COMMON: Final = (
    PolicyRule("", "pods", ("create", "delete", "get", "list", "watch")),
    PolicyRule("", "services", ("create", "delete", "deletecollection", "get", "list", "watch")),
    PolicyRule("", "events", ("create", "patch")),
)
"""What the operator needs for every kind; the permission for the lease is one of its namespace."""

Object = dict[str, Any]


class UnknownPackage(LookupError):
    """A package has no framework that could be used; the text is one sentence for the user."""


def of_packages(packages: Sequence[str]) -> list[Framework]:
    """The frameworks of these packages; of none, the six built-in ones. Raises `UnknownPackage`."""
    if not packages:
        added = {each.framework.info.kind for each in plugins().found}
        return [framework for kind, framework in frameworks().items() if kind not in added]
    return [framework for package in packages for framework in _of_package(package)]


def _of_package(package: str) -> list[Framework]:
    known = plugins()
    found = [each.framework for each in known.found if _normalized(each.package) == _normalized(package)]
    if not found:
        there = ", ".join(dict.fromkeys(each.package for each in known.found)) or "none"
        why = f"{package} is not an installed package with a framework; installed are: {there}"
        raise UnknownPackage("; ".join([why, *known.problems]))
    return found


def _normalized(package: str) -> str:
    """Spellings of one distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", package).lower()


def rules_of(framework: Framework) -> Iterator[PolicyRule]:
    """What the operator needs for one kind next to what it needs for all; only the user writes a job's spec."""
    plural = framework.info.plural
    yield PolicyRule(GROUP, plural, ("delete", "list", "watch"))
    yield PolicyRule(GROUP, f"{plural}/status", ("patch",))
    yield PolicyRule(GROUP, f"{plural}/finalizers", ("update",))
    for kind in framework.owned_kinds:
        if not kind.advice:  # such a permission is optional: the advice says how to grant it
            resource = owned_resource(kind)
            yield PolicyRule(resource.group, resource.plural, tuple(sorted(_verbs(kind))))
    yield from framework.permissions


def _verbs(kind: OwnedKind) -> Iterator[str]:
    yield "create"
    if kind.watched:
        yield from ("get", "list", "watch")
    if kind.content:
        yield "patch" if kind.merged else "update"
    if kind.temporary:
        yield "delete"


def roles(packages: Sequence[str], account: str, namespace: str = "") -> list[Object]:
    """The roles for the kinds of these packages (of none, for the six), bound to the operator's account.

    `account` is the namespace of the account, `namespace` the only one in which the roles grant anything; empty: all.
    """
    chosen = of_packages(packages)
    if not packages:
        every = [*COMMON, *(rule for framework in chosen for rule in rules_of(framework))]
        return [*_granted(OPERATOR, every, account, namespace)]
    named = ((f"{OPERATOR}-{framework.info.plural}", rules_of(framework)) for framework in chosen)
    return [each for name, rules in named for each in _granted(name, rules, account, namespace)]


def _granted(name: str, rules: Iterable[PolicyRule], account: str, namespace: str) -> Iterator[Object]:
    kind = "Role" if namespace else "ClusterRole"
    yield {**_head(kind, name, namespace), "rules": [_wire(rule) for rule in dict.fromkeys(rules)]}
    subject = {"kind": "ServiceAccount", "name": OPERATOR, "namespace": account}
    role = {"apiGroup": RBAC_GROUP, "kind": kind, "name": name}
    yield {**_head(f"{kind}Binding", name, namespace), "roleRef": role, "subjects": [subject]}


def _head(kind: str, name: str, namespace: str) -> Object:
    placed = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **placed, "labels": {"app": OPERATOR}}
    return {"apiVersion": f"{RBAC_GROUP}/v1", "kind": kind, "metadata": metadata}


def _wire(rule: PolicyRule) -> Mapping[str, Sequence[str]]:
    return {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": [*rule.verbs]}
