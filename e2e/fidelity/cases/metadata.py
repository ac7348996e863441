"""Names, labels, annotations, finalizers and owner references."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.objects import config_map
from e2e.fidelity.player import Player
from e2e.fidelity.widgets import widget


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
    await api.post(roles, {"metadata": {"name": "Any:thing goes"}, "rules": []})
    await api.post(roles, {"metadata": {"name": "a/b"}, "rules": []})
    await api.post(roles, {"metadata": {"name": "a%b"}, "rules": []})


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
    await _refused(api, annotations={"a": "x" * 300_000})


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
    empty = {"labels": {}, "annotations": {}, "finalizers": [], "ownerReferences": []}
    await api.post("configmaps", config_map("a", **empty))
    body = widget("a")
    body["metadata"].update(empty)
    await api.post("widgets", body)


async def names_in_bodies_of_the_wrong_type(api: Player) -> None:
    await api.post("configmaps", {"metadata": {"name": 1}})
    await api.post("configmaps", {"metadata": "a"})
    await api.post("widgets", {**widget("a"), "metadata": {"name": 1}})
