"""Questions about oneself (`kubectl auth can-i`, `kubectl auth whoami`): answered at once, never stored.

There is one user, who may do everything.
"""

from __future__ import annotations

from collections.abc import Callable

from training_local.apiserver.errors import Json
from training_local.apiserver.resource_types import Admitted, Context, Decoded, ResourceType

USER = "local"
GROUPS = ("system:masters", "system:authenticated")


class _NoRules:
    """Rules of what is never stored."""

    def decode(self, obj: Json, *, keep_nulls: bool = False) -> Decoded:
        return Decoded(obj)

    def for_create(self, obj: Json, context: Context) -> Admitted:
        return Admitted(obj)

    def for_update(self, old: Json, new: Json, subresource: str, context: Context) -> Admitted:
        return Admitted(new)


def _access(review: Json) -> Json:
    return {"allowed": True}


def _rules(review: Json) -> Json:
    return {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def _user(review: Json) -> Json:
    return {"userInfo": {"username": USER, "groups": list(GROUPS)}}


def _type(group: str, kind: str, answer: Callable[[Json], Json]) -> ResourceType:
    def review(asked: Json) -> Json:
        head = {"kind": kind, "apiVersion": f"{group}/v1", "metadata": {"creationTimestamp": None}}
        spec = {"spec": asked["spec"]} if "spec" in asked else {}
        return {**head, **spec, "status": answer(asked)}

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
