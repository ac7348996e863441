"""Namespaces: what a new one holds, and how one goes."""

from __future__ import annotations

from e2e.fidelity.player import Player
from e2e.support.objects import config_map


async def new_namespace(api: Player) -> None:
    await api.get(f"/api/v1/namespaces/{api.namespace}")
    await api.get("serviceaccounts/default")
    await api.get("configmaps/kube-root-ca.crt")


async def default_objects_come_back(api: Player) -> None:
    await api.delete("serviceaccounts/default")
    await api.delete("configmaps/kube-root-ca.crt")
    await api.until("serviceaccounts/default", lambda answer: answer.status == 200)
    await api.until("configmaps/kube-root-ca.crt", lambda answer: answer.status == 200)


async def deletion_takes_the_content(api: Player) -> None:
    await api.post("configmaps", config_map("a", finalizers=["example.com/hold"]))
    await api.delete(f"/api/v1/namespaces/{api.namespace}")
    await api.until("configmaps/a", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    await api.post("configmaps", config_map("b"))
    found = await api.quietly("GET", f"/api/v1/namespaces/{api.namespace}")
    api.note("phase", found.body["status"]["phase"])
    await api.patch("configmaps/a", {"metadata": {"finalizers": None}})
    await api.until_gone(f"/api/v1/namespaces/{api.namespace}")


async def immortal(api: Player) -> None:
    await api.delete("/api/v1/namespaces/default")
    await api.delete("/api/v1/namespaces/kube-system")


async def create_twice(api: Player) -> None:
    await api.post("/api/v1/namespaces", {"metadata": {"name": api.namespace}})


async def absent(api: Player) -> None:
    await api.get("/api/v1/namespaces/absent")
    await api.delete("/api/v1/namespaces/absent")


async def labels_of_a_namespace(api: Player) -> None:
    await api.patch(f"/api/v1/namespaces/{api.namespace}", {"metadata": {"labels": {"x": "y"}}})
    await api.patch(f"/api/v1/namespaces/{api.namespace}", {"metadata": {"labels": None}})


async def delete_twice(api: Player) -> None:
    await api.post("configmaps", config_map("a", finalizers=["example.com/hold"]))
    await api.delete(f"/api/v1/namespaces/{api.namespace}")
    await api.until("configmaps/a", lambda answer: "deletionTimestamp" in answer.body["metadata"])
    await api.until(f"/api/v1/namespaces/{api.namespace}", lambda answer: answer.body["status"].get("conditions"))
    found = await api.quietly("GET", f"/api/v1/namespaces/{api.namespace}")
    api.note("conditions", found.body["status"]["conditions"])
    again = await api.quietly("DELETE", f"/api/v1/namespaces/{api.namespace}")
    api.note("again", [again.status, again.body["kind"], again.body.get("message")])
    await api.patch("configmaps/a", {"metadata": {"finalizers": None}})
    await api.until_gone(f"/api/v1/namespaces/{api.namespace}")


async def finalize_by_hand(api: Player) -> None:
    created = await api.get(f"/api/v1/namespaces/{api.namespace}")
    await api.quietly("PUT", f"/api/v1/namespaces/{api.namespace}", {**created.body, "spec": {}})
    found = await api.quietly("GET", f"/api/v1/namespaces/{api.namespace}")
    api.note("finalizers after an update", found.body["spec"])


async def metadata_finalizer_of_a_namespace(api: Player) -> None:
    path = f"/api/v1/namespaces/{api.namespace}"
    await api.patch(path, {"metadata": {"finalizers": ["example.com/hold"]}})
    await api.quietly("DELETE", path)
    await api.until(path, lambda answer: not answer.body["spec"].get("finalizers"))
    await api.patch(path, {"metadata": {"finalizers": None}})
    await api.until_gone(path)
