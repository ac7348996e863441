"""Events in both of their groups."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.player import Player

MOMENT = "2024-01-02T03:04:05.678901Z"


def _about(api: Player, **fields: Any) -> dict[str, Any]:
    return {"kind": "Pod", "name": "p", "namespace": api.namespace, "apiVersion": "v1", **fields}


def _event(api: Player, name: str = "a", **fields: Any) -> dict[str, Any]:
    whole = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": _about(api),
        "reason": "Created",
        "message": "made",
        "type": "Normal",
        **fields,
    }
    return {key: value for key, value in whole.items() if value is not None}


def _new_event(api: Player, name: str = "b", **fields: Any) -> dict[str, Any]:
    whole = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": name},
        "eventTime": MOMENT,
        "regarding": _about(api),
        "reason": "Created",
        "action": "Creating",
        "note": "made",
        "type": "Normal",
        "reportingController": "example.com/me",
        "reportingInstance": "me-1",
        **fields,
    }
    return {key: value for key, value in whole.items() if value is not None}


def _collection(api: Player) -> str:
    return f"/apis/events.k8s.io/v1/namespaces/{api.namespace}/events"


async def of_the_core_group(api: Player) -> None:
    times: dict[str, Any] = {
        "firstTimestamp": "2024-01-02T03:04:05Z",
        "lastTimestamp": "2024-01-02T03:04:06Z",
        "count": 2,
    }
    await api.post("events", _event(api, source={"component": "me"}, **times))
    await api.get(f"{_collection(api)}/a")
    await api.post("events", _event(api, "minimal", reason=None, message=None, type=None))


async def of_the_new_group(api: Player) -> None:
    await api.post(_collection(api), _new_event(api))
    await api.get("events/b")


async def of_another_namespace(api: Player) -> None:
    await api.post("events", _event(api, involvedObject=_about(api, namespace="other")))
    await api.post("events", _event(api, involvedObject={"kind": "Node", "name": "n"}))


async def incomplete_new_events(api: Player) -> None:
    for field in ("eventTime", "reason", "action", "reportingController", "reportingInstance", "type"):
        without: dict[str, Any] = {field: None}
        await api.post(_collection(api), _new_event(api, **without))
    await api.post(_collection(api), _new_event(api, type="Strange"))
    await api.post(_collection(api), _new_event(api, note="x" * 1025))


async def selected_by_object(api: Player) -> None:
    await api.quietly("POST", "events", _event(api))
    await api.quietly("POST", "events", _event(api, "c", involvedObject=_about(api, name="q"), type="Warning"))
    await api.note_names("by name", "events", fieldSelector="involvedObject.name=q")
    await api.note_names("by type", "events", fieldSelector="type!=Normal,reason=Created")
