"""Status, scale, log, eviction, binding."""

from __future__ import annotations

from e2e.fidelity.player import JSON_PATCH, Player
from e2e.support.objects import pod
from e2e.support.widgets import widget


async def status_is_kept_apart(api: Player) -> None:
    created = await api.post("widgets", {**widget("a"), "status": {"phase": "Early"}})
    await api.put("widgets/a", {**created.body, "status": {"phase": "Wrong"}})
    await api.patch("widgets/a", {"status": {"phase": "Wrong"}})
    await api.get("widgets/a/status")


async def status_changes_alone(api: Player) -> None:
    created = await api.post("widgets", widget("a"))
    meta = {**created.body["metadata"], "labels": {"not": "changed"}}
    changed = {**created.body, "metadata": meta, "spec": {"size": 9}, "status": {"phase": "Grown"}}
    await api.put("widgets/a/status", changed)
    await api.get("widgets/a")


async def status_of_pods(api: Player) -> None:
    await api.post("pods", pod("a"))
    await api.patch("pods/a/status", {"status": {"phase": "Running", "podIP": "10.0.0.1"}})
    await api.patch("pods/a", {"status": {"phase": "Failed"}})


async def stale_status(api: Player) -> None:
    created = await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"spec": {"size": 2}})
    await api.put("widgets/a/status", {**created.body, "status": {"phase": "Late"}})
    version = created.body["metadata"]["resourceVersion"]
    await api.patch("widgets/a/status", {"metadata": {"resourceVersion": version}, "status": {"phase": "Late"}})


async def status_of_absent(api: Player) -> None:
    await api.get("widgets/absent/status")
    await api.patch("widgets/absent/status", {"status": {}})


async def scale(api: Player) -> None:
    await api.post("widgets", widget("a", replicas=3))
    await api.quietly(
        "PATCH", "widgets/a/status", {"status": {"replicas": 2, "selector": "x=y"}}, "application/merge-patch+json"
    )
    found = await api.get("widgets/a/scale")
    await api.put("widgets/a/scale", {**found.body, "spec": {"replicas": 5}})
    await api.get("widgets/a")


async def scale_by_patch(api: Player) -> None:
    await api.post("widgets", widget("a", replicas=3))
    await api.patch("widgets/a/scale", {"spec": {"replicas": 4}})
    await api.patch("widgets/a/scale", [{"op": "replace", "path": "/spec/replicas", "value": 2}], JSON_PATCH)
    await api.get("widgets/a")


async def scale_without_replicas(api: Player) -> None:
    await api.post("widgets", widget("a"))
    await api.get("widgets/a/scale")
    await api.patch("widgets/a/scale", {"spec": {"replicas": 1}})
    await api.patch("widgets/a/scale", {"spec": {"replicas": 0}})


async def bad_scales(api: Player) -> None:
    await api.post("widgets", widget("a", replicas=3))
    await api.patch("widgets/a/scale", {"spec": {"replicas": -1}})
    await api.patch("widgets/a/scale", {"spec": {"replicas": "x"}})
    await api.get("widgets/absent/scale")
    await api.send("DELETE", "widgets/a/scale")


async def stale_scale(api: Player) -> None:
    await api.post("widgets", widget("a", replicas=3))
    found = await api.get("widgets/a/scale")
    await api.patch("widgets/a", {"spec": {"size": 2}})
    await api.put("widgets/a/scale", {**found.body, "spec": {"replicas": 5}})


async def log_of_a_pod_without_node(api: Player) -> None:
    two = [{"name": "one", "image": "busybox:1"}, {"name": "two", "image": "busybox:1"}]
    await api.quietly("POST", "pods", pod("a"))
    await api.quietly("POST", "pods", pod("b", containers=two))
    await api.get("pods/a/log")
    await api.get("pods/b/log")
    await api.get("pods/a/log", container="absent")
    await api.get("pods/absent/log")


async def eviction(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": api.namespace}}
    await api.post("pods/a/eviction", body)
    await api.get("pods/a")
    await api.post("pods/a/eviction", body)


async def binding(api: Player) -> None:
    await api.quietly("POST", "pods", pod("a"))
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}
    await api.post("pods/a/binding", body)
    await api.get("pods/a")
    await api.post("pods/a/binding", body)
    await api.post("pods/absent/binding", body)
    await api.quietly("DELETE", "pods/a", {"gracePeriodSeconds": 0})
