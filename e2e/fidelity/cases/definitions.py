"""The life of custom resource definitions."""

from __future__ import annotations

import copy
from typing import Any

from e2e.fidelity.player import Player
from e2e.support.widgets import WIDGETS

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def _gadgets(group: str) -> dict[str, Any]:
    definition = copy.deepcopy(WIDGETS)
    definition["metadata"]["name"] = f"gadgets.{group}"
    definition["spec"]["group"] = group
    definition["spec"]["names"] = {"kind": "Gadget", "plural": "gadgets"}
    return definition


def _established(answer: Any) -> bool:
    conditions = answer.body.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


async def life(api: Player) -> None:
    group = "life.fidelity.example.com"
    objects = f"/apis/{group}/v1/namespaces/{api.namespace}/gadgets"
    await api.get(objects)
    await api.quietly("POST", DEFINITIONS, _gadgets(group))
    await api.until(f"{DEFINITIONS}/gadgets.{group}", _established)
    await api.until(objects, lambda answer: answer.status == 200)
    found = await api.quietly("GET", f"{DEFINITIONS}/gadgets.{group}")
    api.note("status", found.body["status"])
    api.note("finalizers", found.body["metadata"].get("finalizers"))
    api.note("names", found.body["spec"]["names"])
    await api.post(
        objects, {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    )
    deleted = await api.quietly("DELETE", f"{DEFINITIONS}/gadgets.{group}")
    api.note("deleted", [deleted.body["metadata"].get("finalizers"), deleted.body["status"]["conditions"]])
    await api.until_gone(f"{DEFINITIONS}/gadgets.{group}")
    await api.until_gone(objects)
    await api.get(objects)


async def deletion_waits_for_finalizers_of_objects(api: Player) -> None:
    group = "held.fidelity.example.com"
    objects = f"/apis/{group}/v1/namespaces/{api.namespace}/gadgets"
    await api.quietly("POST", DEFINITIONS, _gadgets(group))
    await api.until(objects, lambda answer: answer.status == 200)
    meta = {"name": "a", "finalizers": ["example.com/hold"]}
    await api.post(objects, {"apiVersion": f"{group}/v1", "kind": "Gadget", "metadata": meta, "spec": {"size": 1}})
    await api.quietly("DELETE", f"{DEFINITIONS}/gadgets.{group}")
    await api.until(f"{objects}/a", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    found = await api.quietly("GET", f"{DEFINITIONS}/gadgets.{group}")
    api.note("still there", "deletionTimestamp" in found.body["metadata"])
    await api.quietly("PATCH", f"{objects}/a", {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    await api.until_gone(f"{DEFINITIONS}/gadgets.{group}")


async def create_twice(api: Player) -> None:
    await api.post(DEFINITIONS, WIDGETS)
