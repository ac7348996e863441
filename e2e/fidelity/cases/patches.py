"""Patches as the server treats them: versions, kinds of patches, rejections."""

from __future__ import annotations

from e2e.fidelity.player import JSON_PATCH, STRATEGIC, Player
from e2e.support.objects import config_map
from e2e.support.widgets import widget


async def merge(api: Player) -> None:
    await api.post("configmaps", config_map("a", {"x": "1", "y": "2"}))
    await api.patch("configmaps/a", {"data": {"x": None, "z": "3"}})


async def json_patch(api: Player) -> None:
    await api.post("configmaps", config_map("a", {"x": "1"}))
    await api.patch("configmaps/a", [{"op": "add", "path": "/data/y", "value": "2"}], JSON_PATCH)
    await api.patch("configmaps/a", [{"op": "test", "path": "/data/y", "value": "3"}], JSON_PATCH)
    await api.patch("configmaps/a", [{"op": "remove", "path": "/data/absent"}], JSON_PATCH)


async def strategic(api: Player) -> None:
    await api.post("configmaps", config_map("a", finalizers=["example.com/one"]))
    await api.patch("configmaps/a", {"metadata": {"finalizers": ["example.com/two"]}}, STRATEGIC)
    await api.patch(
        "configmaps/a", {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/one"]}}, STRATEGIC
    )
    await api.patch("configmaps/a", {"metadata": {"finalizers": None}}, STRATEGIC)


async def strategic_is_not_for_widgets(api: Player) -> None:
    await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"spec": {"size": 2}}, STRATEGIC)


async def with_a_version(api: Player) -> None:
    created = await api.post("configmaps", config_map("a"))
    version = created.body["metadata"]["resourceVersion"]
    await api.patch("configmaps/a", {"metadata": {"resourceVersion": version}, "data": {"b": "2"}})
    await api.patch("configmaps/a", {"metadata": {"resourceVersion": version}, "data": {"b": "3"}})


async def with_another_uid(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.patch("configmaps/a", {"metadata": {"uid": "00000000-0000-4000-8000-000000000000"}})


async def of_the_name(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.patch("configmaps/a", {"metadata": {"name": "b"}})
    await api.patch("configmaps/a", {"metadata": {"namespace": "elsewhere"}})


async def of_the_kind(api: Player) -> None:
    await api.post("configmaps", config_map("a", {"a": "YQ=="}))
    await api.patch("configmaps/a", {"kind": "Secret"})
    await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"kind": "Gadget"})


async def of_absent(api: Player) -> None:
    await api.patch("configmaps/absent", {"data": {}})
    await api.patch("widgets/absent", {"spec": {}})


async def unknown_type(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.patch("configmaps/a", {"data": {}}, "application/json")
    await api.patch("configmaps/a", {"data": {}}, "text/plain")


async def unreadable(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.send("PATCH", "configmaps/a", b"[]", "application/merge-patch+json")
    await api.send("PATCH", "configmaps/a", b"{}", JSON_PATCH)


async def unknown_fields(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.patch("configmaps/a", {"surprise": 1}, fieldValidation="Strict")
    await api.patch("configmaps/a", {"surprise": 1}, fieldValidation="Warn")
    await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"spec": {"surprise": 1}}, fieldValidation="Strict")
    await api.patch("widgets/a", {"spec": {"surprise": 1}}, fieldValidation="Warn")


async def dry_run(api: Player) -> None:
    await api.post("configmaps", config_map("a"))
    await api.patch("configmaps/a", {"data": {"b": "2"}}, dryRun="All")
    await api.get("configmaps/a")


async def invalid_outcome(api: Player) -> None:
    await api.post("widgets", widget("a"))
    await api.patch("widgets/a", {"spec": {"size": 11}})
    await api.patch("widgets/a", {"spec": {"size": "big"}})
    await api.patch("widgets/a", {"metadata": {"labels": {"a": "b c"}}})
