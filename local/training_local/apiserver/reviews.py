"""Questions about oneself (`kubectl auth can-i`, `kubectl auth whoami`): answered at once, never stored."""

from __future__ import annotations

from training_local.apiserver.attributes import Attributes
from training_local.apiserver.authorization import Rights
from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import Admitted, Context, Decoded, ResourceType, Review


class _NoRules:
    """Rules of what is never stored."""

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        return Decoded(obj)

    def for_create(self, obj: Json, context: Context) -> Admitted:
        return Admitted(obj)

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        return Admitted(new)


def _access(review: Json, rights: Rights) -> Json:
    decision = rights.decide(_asked(review.get("spec") or {}))
    return {"allowed": decision.allowed, **({"reason": decision.problem} if decision.problem else {})}


def _asked(spec: Json) -> Attributes:
    if path := spec.get("nonResourceAttributes"):
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(**{field: (spec.get("resourceAttributes") or {}).get(field, "") for field in fields})


def _rules(review: Json, rights: Rights) -> Json:
    rules = [_shown(rule) for rule in rights.rules((review.get("spec") or {}).get("namespace", ""), [])]
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
        head = {"kind": kind, "apiVersion": f"{group}/v1", "metadata": {"creationTimestamp": None}}
        spec = {"spec": asked["spec"]} if "spec" in asked else {}
        return {**head, **spec, "status": answer(asked, rights)}

    return ResourceType(
        group=group,
        version="v1",
        kind=kind,
        plural=f"{kind.lower()}s",
        singular=kind.lower(),
        rules=_NoRules(),
        namespaced=False,
        verbs=frozenset({"create"}),
        review=review,
    )


AUTHENTICATION = (_type("authentication.k8s.io", "SelfSubjectReview", _user),)
AUTHORIZATION = (
    _type("authorization.k8s.io", "SelfSubjectAccessReview", _access),
    _type("authorization.k8s.io", "SelfSubjectRulesReview", _rules),
)
