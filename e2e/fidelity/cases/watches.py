"""Watches: what is sent first, what follows, when they end."""

from __future__ import annotations

from e2e.fidelity.player import MERGE, Player
from e2e.support.objects import config_map, pod
from e2e.support.widgets import widget


async def _version(api: Player) -> str:
    listed = await api.quietly("GET", "widgets")
    return str(listed.body["metadata"]["resourceVersion"])


async def life_of_an_object(api: Player) -> None:
    async with api.watch("widgets", resourceVersion=await _version(api)) as events:
        await api.post("widgets", widget("a"))
        await api.patch("widgets/a", {"spec": {"size": 2}})
        await api.delete("widgets/a")
        await events.take(3)


async def starts_with_what_exists(api: Player) -> None:
    await api.post("widgets", widget("b"))
    await api.post("widgets", widget("a"))
    async with api.watch("widgets") as events:
        await events.take(2)
    async with api.watch("widgets", resourceVersion="0") as events:
        await events.take(2)


async def goes_on_from_a_version(api: Player) -> None:
    first = await api.post("widgets", widget("a"))
    await api.post("widgets", widget("b"))
    await api.delete("widgets/a")
    async with api.watch("widgets", resourceVersion=first.body["metadata"]["resourceVersion"]) as events:
        await events.take(2)


async def initial_events_end_with_a_bookmark(api: Player) -> None:
    await api.post("widgets", widget("a"))
    options = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    async with api.watch("widgets", **options) as events:
        found = await events.take(1)
        end = await events.take(1)
        api.note("ends with", end[0]["object"]["metadata"].get("annotations"))
        api.note("kind", end[0]["object"]["kind"])
        await api.post("widgets", widget("b"))
        await events.take(1)
        assert found


async def initial_events_from_a_version(api: Player) -> None:
    first = await api.post("configmaps", config_map("a"))
    version = first.body["metadata"]["resourceVersion"]
    options = {"sendInitialEvents": "true", "allowWatchBookmarks": "true", "resourceVersionMatch": "NotOlderThan"}
    async with api.watch("configmaps", resourceVersion=version, fieldSelector="metadata.name=a", **options) as events:
        await events.take(1)


async def no_initial_events_asked_for(api: Player) -> None:
    await api.post("widgets", widget("a"))
    options = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
    async with api.watch("widgets", **options) as events:
        await api.post("widgets", widget("b"))
        await events.take(1)


async def initial_events_need_a_match(api: Player) -> None:
    await api.rejected_watch("widgets", sendInitialEvents="true")
    await api.rejected_watch("widgets", sendInitialEvents="true", resourceVersionMatch="Exact")
    await api.rejected_watch("widgets", resourceVersionMatch="NotOlderThan")
    await api.rejected_watch("widgets", sendInitialEvents="true", resourceVersionMatch="NotOlderThan")


async def selected_by_label(api: Player) -> None:
    version = await _version(api)
    async with api.watch("widgets", resourceVersion=version, labelSelector="seen=yes") as events:
        await api.post("widgets", widget("never"))
        await api.post("widgets", widget("a"))
        await api.patch("widgets/a", {"metadata": {"labels": {"seen": "yes"}}})
        await api.patch("widgets/a", {"spec": {"size": 2}})
        await api.patch("widgets/a", {"metadata": {"labels": {"seen": "no"}}})
        await api.patch("widgets/a", {"spec": {"size": 3}})
        await api.patch("widgets/a", {"metadata": {"labels": {"seen": "yes"}}})
        await api.delete("widgets/a")
        await events.take(5)


async def selected_by_field(api: Player) -> None:
    listed = await api.quietly("GET", "pods")
    version = listed.body["metadata"]["resourceVersion"]
    async with api.watch("pods", resourceVersion=version, fieldSelector="status.phase=Running") as events:
        await api.quietly("POST", "pods", pod("a"))
        await api.quietly("PATCH", "pods/a/status", {"status": {"phase": "Running"}}, MERGE)
        await api.quietly("PATCH", "pods/a/status", {"status": {"phase": "Succeeded"}}, MERGE)
        for event in await events.take(2):
            api.note(event["type"], event["object"]["status"]["phase"])


async def selected_by_name(api: Player) -> None:
    version = await _version(api)
    async with api.watch("widgets", resourceVersion=version, fieldSelector="metadata.name=b") as events:
        await api.post("widgets", widget("a"))
        await api.post("widgets", widget("b"))
        await events.take(1)


async def ends_after_its_time(api: Player) -> None:
    async with api.watch("widgets", resourceVersion=await _version(api), timeoutSeconds="1") as events:
        await events.end()


async def bad_parameters(api: Player) -> None:
    await api.rejected_watch("widgets", resourceVersion="x")
    await api.rejected_watch("widgets", timeoutSeconds="x")
    await api.rejected_watch("widgets", labelSelector="a in b")
    await api.rejected_watch("pods", fieldSelector="spec.surprise=b")


async def no_event_without_a_change(api: Player) -> None:
    created = await api.post("widgets", widget("a"))
    async with api.watch("widgets", resourceVersion=created.body["metadata"]["resourceVersion"]) as events:
        await api.patch("widgets/a", {"spec": {"size": 1}})
        await api.patch("widgets/a", {"spec": {"size": 4}})
        await events.take(1)
