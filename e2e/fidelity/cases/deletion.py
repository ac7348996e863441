"""Deletion: preconditions, finalizers, grace."""

from __future__ import annotations

from e2e.fidelity.player import Player
from e2e.support.objects import Json, config_map, pod
from e2e.support.widgets import widget

HELD: Json = {"finalizers": ["example.com/hold"]}


def _held_widget(name: str) -> dict[str, object]:
    body = widget(name)
    body["metadata"].update(HELD)
    return body


async def answers(api: Player) -> None:
    await api.quietly("POST", "configmaps", config_map("a"))
    await api.delete("configmaps/a")
    await api.quietly("POST", "widgets", widget("a"))
    await api.delete("widgets/a")
    await api.quietly("POST", "pods", pod("a"))
    await api.delete("pods/a")
    await api.quietly("POST", "services", {"metadata": {"name": "a"}, "spec": {"clusterIP": "None"}})
    await api.delete("services/a")
    await api.quietly("POST", "secrets", {"metadata": {"name": "a"}})
    await api.delete("secrets/a")
    await api.quietly("POST", "serviceaccounts", {"metadata": {"name": "a"}})
    await api.delete("serviceaccounts/a")


async def absent(api: Player) -> None:
    await api.delete("configmaps/absent")
    await api.delete("widgets/absent")


async def precondition_uid(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    await api.delete("configmaps/a", {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}})
    await api.delete("configmaps/a", {"preconditions": {"uid": created.body["metadata"]["uid"]}})


async def precondition_version(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    changed = await api.patch("configmaps/a", {"data": {"b": "2"}})
    await api.delete(
        "configmaps/a", {"preconditions": {"resourceVersion": created.body["metadata"]["resourceVersion"]}}
    )
    await api.delete(
        "configmaps/a", {"preconditions": {"resourceVersion": changed.body["metadata"]["resourceVersion"]}}
    )


async def dry_run(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.delete("configmaps/a", {"dryRun": ["All"]})
    await api.get("configmaps/a")
    await api.delete("configmaps/a", dryRun="All")
    await api.get("configmaps/a")


async def bad_options(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.delete("configmaps/a", {"propagationPolicy": "Sideways"})
    await api.delete("configmaps/a", {"propagationPolicy": "Orphan", "orphanDependents": True})
    await api.delete("configmaps/a", {"gracePeriodSeconds": "soon"})
    await api.delete("configmaps/a", propagationPolicy="Sideways")


async def finalizer_holds(api: Player) -> None:
    await api.post("configmaps", config_map("a", **HELD))
    await api.delete("configmaps/a")
    await api.delete("configmaps/a")
    await api.patch("configmaps/a", {"data": {"b": "2"}})
    await api.patch("configmaps/a", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
    await api.patch("configmaps/a", {"metadata": {"finalizers": None}})
    await api.get("configmaps/a")


async def finalizer_holds_a_widget(api: Player) -> None:
    await api.post("widgets", _held_widget("a"))
    await api.delete("widgets/a")
    await api.patch("widgets/a", {"spec": {"size": 2}})
    await api.patch("widgets/a/status", {"status": {"phase": "Going"}})
    await api.patch("widgets/a", {"metadata": {"finalizers": None}})
    await api.get("widgets/a")


async def last_finalizer_by_replacing(api: Player) -> None:
    await api.post("widgets", _held_widget("a"))
    await api.delete("widgets/a")
    held = await api.get("widgets/a")
    meta = {name: value for name, value in held.body["metadata"].items() if name != "finalizers"}
    await api.put("widgets/a", {**held.body, "metadata": meta})
    await api.get("widgets/a")


async def deletion_seen_by_watches(api: Player) -> None:
    created = await api.post("widgets", _held_widget("a"))
    async with api.watch("widgets", resourceVersion=created.body["metadata"]["resourceVersion"]) as events:
        await api.delete("widgets/a")
        await api.patch("widgets/a", {"metadata": {"finalizers": None}})
        await events.take(2)


async def unbound_pod_goes_at_once(api: Player) -> None:
    created = await api.post("pods", pod("a"))
    async with api.watch("pods", resourceVersion=created.body["metadata"]["resourceVersion"]) as events:
        await api.delete("pods/a")
        await api.get("pods/a")
        await events.take(1)


async def bound_pod_has_grace(api: Player) -> None:
    created = await api.post("pods", pod("a", node="n1"))
    async with api.watch("pods", resourceVersion=created.body["metadata"]["resourceVersion"]) as events:
        await api.delete("pods/a")
        await api.get("pods/a")
        await api.delete("pods/a", {"gracePeriodSeconds": 60})
        await api.delete("pods/a", {"gracePeriodSeconds": 5})
        await api.delete("pods/a", {"gracePeriodSeconds": 0})
        await api.get("pods/a")
        await events.take(3)


async def grace_of_the_pod_itself(api: Player) -> None:
    await api.post("pods", pod("a", node="n1", terminationGracePeriodSeconds=7))
    await api.delete("pods/a")
    await api.delete("pods/a", gracePeriodSeconds="0")


async def grace_of_one_second(api: Player) -> None:
    await api.post("pods", pod("a", node="n1"))
    await api.delete("pods/a", {"gracePeriodSeconds": -1})
    await api.delete("pods/a", {"gracePeriodSeconds": 0})


async def finished_pod_goes_at_once(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a", node="n1"))
    await api.quietly("PATCH", "pods/a/status", {"status": {"phase": "Succeeded"}}, "application/merge-patch+json")
    await api.delete("pods/a")
    await api.get("pods/a")


async def grace_and_finalizer(api: Player) -> None:
    await api.post("pods", pod("a", node="n1", meta=HELD))
    await api.delete("pods/a")
    await api.delete("pods/a", {"gracePeriodSeconds": 0})
    await api.get("pods/a")
    await api.patch("pods/a", {"metadata": {"finalizers": None}})
    await api.get("pods/a")


async def finalizer_removed_before_grace_is_over(api: Player) -> None:
    await api.post("pods", pod("a", node="n1", meta=HELD))
    await api.delete("pods/a")
    await api.patch("pods/a", {"metadata": {"finalizers": None}})
    await api.get("pods/a")
    await api.delete("pods/a", {"gracePeriodSeconds": 0})


async def unbound_pod_with_finalizer(api: Player) -> None:
    await api.post("pods", pod("a", meta=HELD))
    await api.delete("pods/a")
    await api.patch("pods/a", {"metadata": {"finalizers": None}})
    await api.get("pods/a")


async def collection(api: Player) -> None:
    for name in ("a", "b"):
        await api.quietly("POST", "widgets", widget(name))
    await api.delete("widgets")
    await api.get("widgets")


async def collection_by_label(api: Player) -> None:
    await api.quietly("POST", "configmaps", config_map("a", labels={"x": "y"}))
    await api.quietly("POST", "configmaps", config_map("b"))
    await api.delete("configmaps", labelSelector="x=y")
    await api.get("configmaps/a")
    await api.get("configmaps/b")


async def collection_of_pods(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.quietly("POST", "pods", pod("b", node="n1"))
    await api.delete("pods")
    await api.get("pods")
    await api.quietly("DELETE", "pods/b", {"gracePeriodSeconds": 0})
