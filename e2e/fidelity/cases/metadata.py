"""Names, labels, annotations, finalizers and owner references."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player
from e2e.support.objects import Json, config_map, pod
from e2e.support.widgets import widget

RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


async def _refused(api: Player, **meta: Any) -> None:
    """Send the metadata with an object of a builtin and of a custom type."""
    await api.post("configmaps", {"metadata": {"name": "a", **meta}})
    body = widget("a")
    body["metadata"].update(meta)
    await api.post("widgets", body)


async def bad_names(api: Player) -> None:
    await _refused(api, name="Upper")
    await _refused(api, name="end-")
    await _refused(api, name="under_score")
    await _refused(api, name="x" * 254)
    await _refused(api, name="a..b")


async def bad_generated_names(api: Player) -> None:
    await api.post("configmaps", {"metadata": {"generateName": "Upper"}})


async def names_of_services(api: Player) -> None:
    spec = {"ports": [{"port": 80}], "clusterIP": "None"}
    await api.post("services", {"metadata": {"name": "1a"}, "spec": spec})
    await api.post("services", {"metadata": {"name": "x" * 64}, "spec": spec})


async def names_of_namespaces(api: Player) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": "a.b"}})


async def names_of_roles(api: Player) -> None:
    roles = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{api.namespace}/roles"
    await api.post(roles, {"metadata": {"name": "Any:thing goes"}, "rules": [RULE]})
    await api.post(roles, {"metadata": {"name": "a/b"}, "rules": [RULE]})
    await api.post(roles, {"metadata": {"name": "a%b"}, "rules": [RULE]})


async def bad_label_keys(api: Player) -> None:
    await _refused(api, labels={"a b": "x"})
    await _refused(api, labels={"": "x"})
    await _refused(api, labels={"/x": "x"})
    await _refused(api, labels={"a/b/c": "x"})
    await _refused(api, labels={"Upper/x": "x"})
    await _refused(api, labels={"x" * 64: "x"})


async def bad_label_values(api: Player) -> None:
    await _refused(api, labels={"a": "b c"})
    await _refused(api, labels={"a": "-"})
    await _refused(api, labels={"a": "x" * 64})


async def labels_of_the_wrong_type(api: Player) -> None:
    await _refused(api, labels={"a": 1})
    await _refused(api, labels=["a"])
    await _refused(api, labels="a")
    await _refused(api, annotations={"a": True})


async def bad_annotations(api: Player) -> None:
    await _refused(api, annotations={"a b": "x"})
    await api.post("configmaps", config_map("a", annotations={"a": "x" * 300_000}))


async def bad_finalizers(api: Player) -> None:
    await _refused(api, finalizers=["plain"])
    await _refused(api, finalizers=["a b"])
    await _refused(api, finalizers=[1])


async def bad_owners(api: Player) -> None:
    await _refused(api, ownerReferences=[{}])
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y", "controller": True}
    await _refused(api, ownerReferences=[whole, {**whole, "name": "z", "uid": "w"}])
    await _refused(api, ownerReferences=[{**whole, "apiVersion": "a/b/c"}])


async def empty_collections_vanish(api: Player) -> None:
    empty: Json = {"labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}
    await api.post("configmaps", config_map("a", **empty))
    body = widget("a")
    body["metadata"].update(empty)
    await api.post("widgets", body)


async def names_in_bodies_of_the_wrong_type(api: Player) -> None:
    await api.post("configmaps", {"metadata": {"name": 1}})
    await api.post("configmaps", {"metadata": "a"})
    await api.post("widgets", {**widget("a"), "metadata": {"name": 1}})


async def bad_labels_in_updates(api: Player) -> None:
    bad = {"metadata": {"labels": {"a": "b c"}}}
    await api.quietly("POST", "configmaps", config_map("a"))
    await api.patch("configmaps/a", bad)
    await api.quietly("POST", "widgets", widget("a"))
    await api.patch("widgets/a", bad)
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a", bad)
    await api.quietly("POST", "secrets", {"metadata": {"name": "a"}})
    await api.patch("secrets/a", bad)
    await api.quietly("POST", "services", {"metadata": {"name": "a"}, "spec": {"clusterIP": "None"}})
    await api.patch("services/a", bad)


async def uids_in_updates(api: Player) -> None:
    other = {"metadata": {"uid": "00000000-0000-4000-8000-000000000000"}}
    await api.quietly("POST", "widgets", widget("a"))
    await api.patch("widgets/a", other)
    await api.quietly("POST", "pods", pod("a"))
    await api.patch("pods/a", other)


async def timestamps_in_updates(api: Player) -> None:
    early = "2020-01-01T00:00:00Z"
    await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"metadata": {"creationTimestamp": early}})
    await api.patch("widgets/a", {"metadata": {"deletionTimestamp": early}})
    await api.post("configmaps", config_map("a"))
    await api.patch("configmaps/a", {"metadata": {"deletionTimestamp": early}})
    await api.patch("configmaps/a", {"metadata": {"deletionGracePeriodSeconds": 5}})


async def metadata_of_deleted_objects(api: Player) -> None:
    held = {"finalizers": ["example.com/hold"]}
    body = widget("a")
    body["metadata"].update(held)
    await api.post("widgets", body)
    await api.delete("widgets/a")
    await api.patch("widgets/a", {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}})
    await api.patch("widgets/a", {"metadata": {"deletionTimestamp": None, "deletionGracePeriodSeconds": None}})
    await api.patch("widgets/a", {"metadata": {"deletionGracePeriodSeconds": 5}})
    await api.patch("widgets/a", {"metadata": {"finalizers": None}})


async def generated_name_in_updates(api: Player) -> None:
    created = await api.post("configmaps", {"metadata": {"generateName": "generated-"}})
    name = created.body["metadata"]["name"]
    await api.quietly("PUT", f"configmaps/{name}", config_map(name))
    found = await api.quietly("GET", f"configmaps/{name}")
    api.note("still generated", found.body["metadata"].get("generateName"))
