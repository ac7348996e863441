"""Garbage collection: background, foreground, orphans."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player
from e2e.support.objects import config_map, owned_by
from e2e.support.widgets import widget


async def _family(api: Player, *, blocks: bool = False) -> dict[str, Any]:
    owner = await api.quietly("POST", "widgets", widget("owner"))
    await api.quietly("POST", "configmaps", config_map("child", **owned_by(owner.body, blocks=blocks)))
    await _until_collector_knows(api)
    body: dict[str, Any] = owner.body
    return body


async def _until_collector_knows(api: Player) -> None:
    """Wait until the garbage collector has seen the config maps so far: it sees them in order, so one after them goes.

    Before that, what becomes of a child depends on which of its two watches is faster: an owner that goes without it
    leaves it to be collected, even where it was to be orphaned.
    """
    nobody = {"apiVersion": "fidelity.example.com/v1", "kind": "Widget", "metadata": {"name": "nobody", "uid": "-"}}
    await api.quietly("POST", "configmaps", config_map("probe", **owned_by(nobody)))
    await api.until_gone("configmaps/probe")


async def background(api: Player) -> None:
    await _family(api)
    await api.delete("widgets/owner", {"propagationPolicy": "Background"})
    await api.get("widgets/owner")
    await api.until_gone("configmaps/child")


async def background_is_the_default(api: Player) -> None:
    await _family(api)
    await api.delete("widgets/owner")
    await api.until_gone("configmaps/child")


async def foreground(api: Player) -> None:
    await _family(api, blocks=True)
    await api.delete("widgets/owner", {"propagationPolicy": "Foreground"})
    await api.until_gone("configmaps/child")
    await api.until_gone("widgets/owner")


async def foreground_waits_for_blocking_dependents(api: Player) -> None:
    owner = await api.quietly("POST", "widgets", widget("owner"))
    meta = {**owned_by(owner.body, blocks=True), "finalizers": ["example.com/hold"]}
    await api.quietly("POST", "configmaps", config_map("child", **meta))
    await _until_collector_knows(api)
    await api.delete("widgets/owner", {"propagationPolicy": "Foreground"})
    await api.until("configmaps/child", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    await api.get("widgets/owner")
    await api.get("configmaps/child")
    await api.patch("configmaps/child", {"metadata": {"finalizers": None}})
    await api.until_gone("widgets/owner")


async def foreground_does_not_wait_for_others(api: Player) -> None:
    owner = await api.quietly("POST", "widgets", widget("owner"))
    meta = {**owned_by(owner.body), "finalizers": ["example.com/hold"]}
    await api.quietly("POST", "configmaps", config_map("child", **meta))
    await api.delete("widgets/owner", {"propagationPolicy": "Foreground"})
    await api.until_gone("widgets/owner")
    await api.until("configmaps/child", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    await api.patch("configmaps/child", {"metadata": {"finalizers": None}})
    await api.until_gone("configmaps/child")


async def orphans(api: Player) -> None:
    await _family(api)
    await api.delete("widgets/owner", {"propagationPolicy": "Orphan"})
    await api.until_gone("widgets/owner")
    await api.until("configmaps/child", lambda answer: "ownerReferences" not in answer.body["metadata"])
    await api.get("configmaps/child")


async def orphan_dependents_of_old_clients(api: Player) -> None:
    await _family(api)
    await api.delete("widgets/owner", {"orphanDependents": True})
    await api.until_gone("widgets/owner")
    await api.get("configmaps/child")


async def born_without_an_owner(api: Player) -> None:
    owner = await api.quietly("POST", "widgets", widget("owner"))
    await api.quietly("DELETE", "widgets/owner")
    await api.quietly("POST", "configmaps", config_map("child", **owned_by(owner.body)))
    await api.until_gone("configmaps/child")


async def owner_of_another_uid(api: Player) -> None:
    owner = await api.quietly("POST", "widgets", widget("owner"))
    owner.body["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
    await api.quietly("POST", "configmaps", config_map("child", **owned_by(owner.body)))
    await api.until_gone("configmaps/child")


async def one_of_two_owners_goes(api: Player) -> None:
    first = await api.quietly("POST", "widgets", widget("first"))
    second = await api.quietly("POST", "widgets", widget("second"))
    both = owned_by(first.body)["ownerReferences"] + owned_by(second.body)["ownerReferences"]
    await api.quietly("POST", "configmaps", config_map("child", ownerReferences=both))
    await api.delete("widgets/first")
    await api.until("configmaps/child", lambda answer: len(answer.body["metadata"]["ownerReferences"]) == 1)
    await api.get("configmaps/child")
    await api.delete("widgets/second")
    await api.until_gone("configmaps/child")


async def three_generations(api: Player) -> None:
    grand = await api.quietly("POST", "widgets", widget("grand"))
    parent = widget("parent")
    parent["metadata"].update(owned_by(grand.body, blocks=True))
    parent = (await api.quietly("POST", "widgets", parent)).body
    await api.quietly("POST", "configmaps", config_map("child", **owned_by(parent, blocks=True)))
    await _until_collector_knows(api)
    await api.delete("widgets/grand", {"propagationPolicy": "Foreground"})
    await api.until_gone("widgets/grand")
    await api.get("widgets/parent")
    await api.get("configmaps/child")
