"""Strategic merge patches of builtin objects."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import STRATEGIC, Player
from e2e.support.objects import config_map, pod


def _service() -> dict[str, Any]:
    ports = [{"port": number, "name": f"p{number}"} for number in (80, 81, 82)]
    spec = {"clusterIP": "None", "selector": {"a": "1", "b": "2"}, "ports": ports}
    meta = {"name": "s", "labels": {"x": "1", "y": "2"}, "finalizers": ["example.com/a", "example.com/b"]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec}


async def _patched(api: Player, *patches: dict[str, Any]) -> None:
    await api.quietly("POST", "services", _service())
    for patch in patches:
        await api.patch("services/s", patch, STRATEGIC)
    await api.quietly("PATCH", "services/s", {"metadata": {"finalizers": None}}, "application/merge-patch+json")


async def maps_merge(api: Player) -> None:
    await _patched(api, {"metadata": {"labels": {"x": None, "z": "3"}}, "spec": {"selector": {"a": "9"}}})


async def lists_merge_by_key(api: Player) -> None:
    await _patched(api, {"spec": {"ports": [{"port": 81, "name": "changed"}, {"port": 90, "name": "new"}]}})


async def elements_are_deleted(api: Player) -> None:
    await _patched(api, {"spec": {"ports": [{"$patch": "delete", "port": 80}]}})


async def lists_are_replaced(api: Player) -> None:
    await _patched(api, {"spec": {"ports": [{"$patch": "replace"}, {"port": 99}]}})


async def maps_are_replaced(api: Player) -> None:
    await _patched(api, {"metadata": {"labels": {"$patch": "replace", "only": "me"}}})


async def maps_are_deleted(api: Player) -> None:
    await _patched(api, {"metadata": {"labels": {"$patch": "delete"}}})


async def elements_are_ordered(api: Player) -> None:
    order = [{"port": 82}, {"port": 70}, {"port": 80}]
    ports = [{"port": 70, "name": "p70"}]
    await _patched(api, {"spec": {"$setElementOrder/ports": order, "ports": ports}})


async def elements_are_ordered_only(api: Player) -> None:
    await _patched(api, {"spec": {"$setElementOrder/ports": [{"port": 82}, {"port": 81}, {"port": 80}]}})


async def primitive_lists_merge(api: Player) -> None:
    await _patched(api, {"metadata": {"finalizers": ["example.com/c"]}})


async def primitives_are_deleted(api: Player) -> None:
    await _patched(api, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}})


async def atomic_lists_are_replaced(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    command = {"spec": {"containers": [{"name": "main", "image": "x:1", "command": ["a", "b"]}]}}
    # The sentence ends with a difference as Go shows it.
    answer = await api.quietly("PATCH", "pods/a", command, STRATEGIC, dryRun="All")
    api.note("refused", [answer.status, answer.body["message"].partition("\n")[0]])


async def labels_of_pods(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a", {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}, STRATEGIC)


async def status_lists_merge(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    ready = {"type": "Ready", "status": "False"}
    await api.patch("pods/a/status", {"status": {"conditions": [ready]}}, STRATEGIC)
    scheduled = {"type": "PodScheduled", "status": "True"}
    changed = {"type": "Ready", "status": "True"}
    await api.patch("pods/a/status", {"status": {"conditions": [scheduled, changed]}}, STRATEGIC)


async def keys_keep_what_is_retained(api: Player) -> None:
    await _patched(api, {"metadata": {"labels": {"$retainKeys": ["y", "z"], "z": "3"}}})


async def unknown_directives(api: Player) -> None:
    await _patched(api, {"metadata": {"labels": {"$patch": "surprise"}}})


async def elements_without_key(api: Player) -> None:
    await _patched(api, {"spec": {"ports": [{"name": "nameless"}]}})


async def owner_references(api: Player) -> None:
    for name in ("o", "q"):
        await api.quietly("POST", "configmaps", config_map(name))
    uids = {name: (await api.quietly("GET", f"configmaps/{name}")).body["metadata"]["uid"] for name in ("o", "q")}
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": uids["o"]}
    other = {**owner, "name": "q", "uid": uids["q"]}
    await _patched(
        api,
        {"metadata": {"ownerReferences": [owner]}},
        {"metadata": {"ownerReferences": [other, {**owner, "blockOwnerDeletion": True}]}},
    )


async def of_custom_resources(api: Player) -> None:
    await api.patch("widgets/a", {"spec": {"size": 2}}, STRATEGIC)
