"""Create, get, replace and their rejections."""

from __future__ import annotations

from e2e.fidelity.player import Player
from e2e.support.objects import Json, config_map, pod
from e2e.support.widgets import widget


async def create_and_get(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.get("configmaps/a")


async def create_without_kind(api: Player) -> None:
    await api.post("configmaps", {"metadata": {"name": "a"}, "data": {"x": "y"}})


async def create_widget_without_kind(api: Player) -> None:
    await api.post("widgets", {"metadata": {"name": "a"}, "spec": {"size": 1}})


async def create_twice(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.post("configmaps", config_map("a"))
    await api.post("widgets", widget("a"))
    await api.post("widgets", widget("a"))


async def create_with_generated_name(api: Player) -> None:
    await api.post("configmaps", {"metadata": {"generateName": "generated-"}})


async def create_without_name(api: Player) -> None:
    await api.post("configmaps", {"metadata": {}})
    await api.post("configmaps", {})


async def create_in_another_namespace_than_the_url_says(api: Player) -> None:
    await api.post("configmaps", config_map("a", namespace="elsewhere"))


async def create_in_an_absent_namespace(api: Player) -> None:
    await api.post("/api/v1/namespaces/absent/configmaps", config_map("a"))


async def create_across_all_namespaces(api: Player) -> None:
    await api.post("/api/v1/configmaps", config_map("a"))


async def create_with_what_the_server_owns(api: Player) -> None:
    owned: Json = {"uid": "mine", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7, "selfLink": "/x"}
    await api.post("configmaps", config_map("a", **owned))
    await api.post("configmaps", config_map("b", deletionTimestamp="2020-01-01T00:00:00Z"))


async def create_with_a_version(api: Player) -> None:
    await api.post("configmaps", config_map("a", resourceVersion="5"))


async def create_of_the_wrong_kind(api: Player) -> None:
    await api.post("configmaps", pod("a"))
    await api.post("widgets", config_map("a"))


async def create_of_an_unknown_version(api: Player) -> None:
    await api.post("configmaps", {**config_map("a"), "apiVersion": "v2"})
    await api.post("widgets", {"apiVersion": "fidelity.example.com/v2", "kind": "Widget", "metadata": {"name": "a"}})


async def create_with_unknown_fields(api: Player) -> None:
    await api.post("configmaps", {**config_map("a"), "surprise": 1}, fieldValidation="Strict")
    await api.post("configmaps", {**config_map("b"), "surprise": 1}, fieldValidation="Warn")
    await api.post("configmaps", {**config_map("c"), "surprise": 1}, fieldValidation="Ignore")
    await api.post("configmaps", {**config_map("d"), "surprise": 1})


async def create_widgets_with_unknown_fields(api: Player) -> None:
    await api.post("widgets", widget("a", surprise=1), fieldValidation="Strict")
    await api.post("widgets", widget("b", surprise=1), fieldValidation="Warn")
    await api.post("widgets", widget("c", surprise=1), fieldValidation="Ignore")


async def create_with_unknown_metadata(api: Player) -> None:
    await api.post("configmaps", config_map("a", surprise=1), fieldValidation="Strict")
    body = widget("a")
    body["metadata"]["surprise"] = 1
    await api.post("widgets", body, fieldValidation="Strict")


async def create_with_unknown_field_validation(api: Player) -> None:
    await api.post("configmaps", config_map("a"), fieldValidation="Sometimes")


async def create_as_a_dry_run(api: Player) -> None:
    await api.post("configmaps", config_map("a"), dryRun="All")
    await api.get("configmaps/a")
    await api.post("configmaps", config_map("a"), dryRun="Some")


async def create_generation(api: Player) -> None:
    await api.post("widgets", widget("a"))
    await api.post("pods", pod("a"))


async def get_absent(api: Player) -> None:
    await api.get("configmaps/absent")
    await api.get("widgets/absent")


async def get_from_an_absent_namespace(api: Player) -> None:
    await api.get("/api/v1/namespaces/absent/configmaps/a")
    await api.get("/api/v1/namespaces/absent/configmaps")


async def replace(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", {**created.body, "data": {"b": "2"}})
    await api.get("configmaps/a")


async def replace_without_change(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", created.body)


async def replace_without_version(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", config_map("a", {"b": "2"}))


async def replace_widget_without_version(api: Player) -> None:
    await api.post("widgets", widget("a"))
    await api.put("widgets/a", widget("a", size=2))


async def replace_stale(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", {**created.body, "data": {"b": "2"}})
    await api.put("configmaps/a", {**created.body, "data": {"b": "3"}})


async def replace_stale_widget(api: Player) -> None:
    created = await api.post("widgets", widget("a"))
    await api.put("widgets/a", {**created.body, "spec": {"size": 2}})
    await api.put("widgets/a", {**created.body, "spec": {"size": 3}})


async def replace_with_another_uid(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", config_map("a", uid="00000000-0000-4000-8000-000000000000"))


async def replace_absent(api: Player) -> None:
    await api.put("configmaps/absent", config_map("absent"))
    await api.put("widgets/absent", widget("absent"))


async def replace_under_another_name(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", config_map("b"))
    await api.put("configmaps/a", {"data": {}})


async def replace_immutable_metadata(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    meta = {**created.body["metadata"], "creationTimestamp": "2020-01-01T00:00:00Z"}
    await api.put("configmaps/a", {**created.body, "metadata": meta})


async def replace_as_a_dry_run(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    await api.put("configmaps/a", {**created.body, "data": {"b": "2"}}, dryRun="All")
    await api.get("configmaps/a")


async def replace_absent_lease_creates_it(api: Player) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases/a"
    lease = {"metadata": {"name": "a"}, "spec": {"holderIdentity": "me"}}
    await api.put(path, lease)
    await api.put(path, lease)


async def generation_counts_changes_of_the_spec(api: Player) -> None:
    await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"metadata": {"labels": {"x": "y"}}})
    await api.patch("widgets/a", {"spec": {"size": 2}})
    await api.patch("widgets/a/status", {"status": {"phase": "Grown"}})
    await api.patch("widgets/a", {"spec": {"size": 2}})


async def generation_is_the_servers(api: Player) -> None:
    created = await api.post("widgets", widget("a"))
    meta = {**created.body["metadata"], "generation": 9}
    await api.put("widgets/a", {**created.body, "metadata": meta})


async def unsupported_methods(api: Player) -> None:
    await api.send("PUT", "configmaps", config_map("a"))
    await api.send("PATCH", "configmaps", {}, "application/merge-patch+json")
    await api.send("POST", "configmaps/a", config_map("a"))


async def unknown_paths(api: Player) -> None:
    await api.get("surprises")
    await api.get("/apis/fidelity.example.com/v1/surprises")
    await api.get("/apis/surprise.example.com/v1/things")
    await api.get("/surprise")
    await api.get("configmaps/a/surprise")


async def unreadable_bodies(api: Player) -> None:
    await api.send("POST", "configmaps", b"[1]")
    await api.send("POST", "configmaps", b"x", content_type="text/plain")
    await api.send("POST", "widgets", b"x", content_type="text/plain")


async def body_above_the_limit(api: Player) -> None:
    await api.post("configmaps", config_map("a", {"x": "y" * (4 * 1024 * 1024)}))
