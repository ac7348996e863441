"""Custom kinds that cases define for themselves."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player

GROUP = "schemas.fidelity.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(kind: str, spec: dict[str, Any], **version: Any) -> dict[str, Any]:
    """A definition of a namespaced kind whose spec has the schema `spec`."""
    plural = f"{kind.lower()}s"
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        },
    }


def resource(kind: str, name: str = "a", **spec: Any) -> dict[str, Any]:
    """A custom resource."""
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


async def define(api: Player, kind: str, spec: dict[str, Any], **version: Any) -> str:
    """Define a kind whose spec has a schema, unless it is defined already; return the path of its collection."""
    return await define_whole(api, definition(kind, spec, **version))


async def define_whole(api: Player, whole: dict[str, Any]) -> str:
    """Create a definition unless there is one of its name; return the path of the collection."""
    plural = whole["spec"]["names"]["plural"]
    collection = f"/apis/{GROUP}/v1/namespaces/{api.namespace}/{plural}"
    answer = await api.quietly("POST", DEFINITIONS, whole)
    assert answer.status in (201, 409), answer.body["message"]
    await api.until(collection, lambda answer: answer.status == 200)
    return collection
