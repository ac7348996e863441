"""Questions about oneself (`kubectl auth can-i`, `kubectl auth whoami`): answered at once, never stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from training_local.apiserver.attributes import Attributes
from training_local.apiserver.authorization import Rights
from training_local.apiserver.errors import Json, bad_request, json_kind
from training_local.apiserver.resource_types import NoRules, ResourceType, Review


@dataclass(frozen=True, slots=True)
class _Struct:
    """A type of Go: its name, and its fields; those of which nothing is said are strings."""

    name: str
    fields: Mapping[str, _Struct | None]

    def check(self, kind: str, path: str, value: Any) -> None:
        """Reject a value that does not fit, in the words of Go's decoder."""
        for field, struct in self.fields.items():
            found, place = value.get(field), f"{path}.{field}".removeprefix(".")
            if found is None:
                continue
            if not isinstance(found, str if struct is None else dict):
                raise bad_request(
                    f'{kind} in version "v1" cannot be handled as a {kind}: json: cannot unmarshal {json_kind(found)} '
                    f"into Go struct field {self.name}.{place} of type {f'v1.{struct.name}' if struct else 'string'}"
                )
            if struct:
                struct.check(kind, place, found)


_NON_RESOURCE = _Struct("NonResourceAttributes", dict.fromkeys(("path", "verb")))
_RESOURCE = _Struct(
    "ResourceAttributes",
    dict.fromkeys(("namespace", "verb", "group", "version", "resource", "subresource", "name")),
)
_ASKED = {"resourceAttributes": _RESOURCE, "nonResourceAttributes": _NON_RESOURCE}
_SPECS: Mapping[str, Mapping[str, _Struct | None]] = {
    "SelfSubjectReview": {},
    "SelfSubjectAccessReview": {"spec": _Struct("SelfSubjectAccessReviewSpec", _ASKED)},
    "SelfSubjectRulesReview": {"spec": _Struct("SelfSubjectRulesReviewSpec", {"namespace": None})},
}


def _access(review: Json, rights: Rights) -> Json:
    decision = rights.decide(_asked(review.get("spec") or {}))
    return {"allowed": decision.allowed, **({"reason": decision.problem} if decision.problem else {})}


def _asked(spec: Json) -> Attributes:
    if path := spec.get("nonResourceAttributes"):
        return Attributes(path.get("verb") or "", path=path.get("path") or "")
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(**{field: (spec.get("resourceAttributes") or {}).get(field) or "" for field in fields})


def _rules(review: Json, rights: Rights) -> Json:
    if not (namespace := (review.get("spec") or {}).get("namespace")):
        raise bad_request("no namespace on request")
    rules = [_shown(rule) for rule in rights.rules(namespace, [])]
    return {
        "resourceRules": [rule for rule in rules if "nonResourceURLs" not in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }


def _shown(rule: Json) -> Json:
    return {key: value for key, value in rule.items() if value}


def _user(review: Json, rights: Rights) -> Json:
    return {"userInfo": {"username": rights.user.name, "groups": list(rights.user.groups)}}


def _type(group: str, kind: str, answer: Review) -> ResourceType:
    def review(asked: Json, rights: Rights) -> Json:
        _Struct(kind, _SPECS[kind]).check(kind, "", asked)
        head = {"kind": kind, "apiVersion": f"{group}/v1", "metadata": {"creationTimestamp": None}}
        spec = {"spec": asked["spec"]} if "spec" in asked else {}
        return {**head, **spec, "status": answer(asked, rights)}

    return ResourceType(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        rules=NoRules(),
        namespaced=False,
        verbs=frozenset({"create"}),
        review=review,
    )


AUTHENTICATION = (_type("authentication.k8s.io", "SelfSubjectReview", _user),)
AUTHORIZATION = (
    _type("authorization.k8s.io", "SelfSubjectAccessReview", _access),
    _type("authorization.k8s.io", "SelfSubjectRulesReview", _rules),
)
