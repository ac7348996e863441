"""Roles and their bindings: defaults and validation. `authorization` enforces them."""

from __future__ import annotations

from collections.abc import Iterator

from training_local.apiserver import names
from training_local.apiserver.authorization import GROUP
from training_local.apiserver.builtin.container_validation import each
from training_local.apiserver.builtin.rules import BuiltinRules
from training_local.apiserver.errors import Cause, Json, invalid, not_supported, required


def _role_causes(role: Json) -> Iterator[Cause]:
    namespaced = role["kind"] == "Role"
    for index, rule in enumerate(role.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            yield required(f"{path}.verbs", "verbs must contain at least one value")
        if urls := rule.get("nonResourceURLs"):
            if namespaced:
                yield invalid(f"{path}.nonResourceURLs", urls, "namespaced rules cannot apply to non-resource URLs")
            if any(rule.get(field) for field in ("apiGroups", "resources", "resourceNames")):
                said = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", urls, said)
            continue
        if not rule.get("apiGroups"):
            yield required(f"{path}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{path}.resources", "resource rules must supply at least one resource")


def default_binding(binding: Json) -> None:
    """Fill in the API groups of the role and of users and groups."""
    if not binding["roleRef"].get("apiGroup"):
        binding["roleRef"]["apiGroup"] = GROUP
    for subject in binding.get("subjects", ()):
        if subject["kind"] in ("User", "Group"):
            subject.setdefault("apiGroup", GROUP)


def _binding_causes(binding: Json) -> Iterator[Cause]:
    namespaced = binding["kind"] == "RoleBinding"
    role = binding["roleRef"]
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role["apiGroup"] != GROUP:
        yield not_supported("roleRef.apiGroup", role["apiGroup"], (GROUP,))
    if role["kind"] not in kinds:
        yield not_supported("roleRef.kind", role["kind"], kinds)
    if not role["name"]:
        yield required("roleRef.name")
    else:
        yield from each("roleRef.name", role["name"], names.path_segment)
    for index, subject in enumerate(binding.get("subjects", ())):
        yield from _subject_causes(subject, namespaced, f"subjects[{index}]")


def _subject_causes(subject: Json, namespaced: bool, path: str) -> Iterator[Cause]:
    kind, name, group = subject["kind"], subject["name"], subject.get("apiGroup", "")
    if not name:
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if name:
            yield from each(f"{path}.name", name, names.subdomain)
        if group:
            yield not_supported(f"{path}.apiGroup", group, ("",))
        if not namespaced and not subject.get("namespace"):
            yield required(f"{path}.namespace")
    elif kind not in ("User", "Group"):
        yield not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))
    elif group != GROUP:
        yield not_supported(f"{path}.apiGroup", group, (GROUP,))


def _binding_update_causes(old: Json, new: Json) -> Iterator[Cause]:
    if old["roleRef"] != new["roleRef"]:
        role = {"APIGroup": new["roleRef"]["apiGroup"], "Kind": new["roleRef"]["kind"], "Name": new["roleRef"]["name"]}
        yield invalid("roleRef", role, "cannot change roleRef")


def role_rules(kind: str) -> BuiltinRules:
    """Return the rules of Role or ClusterRole."""
    return BuiltinRules(f"io.k8s.api.rbac.v1.{kind}", "v1", validate=_role_causes, has_status=False)


def binding_rules(kind: str) -> BuiltinRules:
    """Return the rules of RoleBinding or ClusterRoleBinding."""
    return BuiltinRules(
        f"io.k8s.api.rbac.v1.{kind}",
        "v1",
        default=default_binding,
        validate=_binding_causes,
        validate_update=_binding_update_causes,
        has_status=False,
    )
