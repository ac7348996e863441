"""CEL rules of custom resources."""

from __future__ import annotations

from typing import Any

from e2e.fidelity.kinds import DEFINITIONS, define, define_whole, definition, resource
from e2e.fidelity.player import Player

_ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string", "maxLength": 20}, "size": {"type": "integer"}},
    "x-kubernetes-validations": [
        {"rule": "!has(self.size) || self.size > 0", "message": "size must be positive", "fieldPath": ".size"},
        {"rule": "self.name != 'bad'", "reason": "FieldValueForbidden", "message": "no bad names"},
        {
            "rule": "!has(oldSelf.size) || !has(self.size) || self.size >= oldSelf.size",
            "messageExpression": "'may not shrink: ' + self.name",
        },
    ],
}
_SPEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "fixed": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
        "low": {"type": "integer"},
        "high": {"type": "integer"},
        "ratio": {"type": "number", "x-kubernetes-validations": [{"rule": "self > 0.5"}]},
        "items": {
            "type": "array",
            "maxItems": 10,
            "items": _ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "byName": {
            "type": "object",
            "maxProperties": 5,
            "additionalProperties": {
                "type": "object",
                "properties": {"count": {"type": "integer"}},
                "x-kubernetes-validations": [
                    {"rule": "has(self.count)", "reason": "FieldValueRequired", "message": "count?"}
                ],
            },
            "x-kubernetes-validations": [
                {
                    "rule": "self.all(key, key.startsWith('k'))",
                    "messageExpression": "'wrong key ' + self.filter(key, !key.startsWith('k'))[0]",
                }
            ],
        },
        "plain": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 9}},
        "port": {
            "x-kubernetes-int-or-string": True,
            "x-kubernetes-validations": [{"rule": "self == 80 || self == 'web'"}],
        },
        "pattern": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self.matches('^a+$')"}]},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high", "message": "low must not be above high"},
        {"rule": "!has(self.plain) || self.plain.exists_one(x, x == 'a')"},
        {"rule": "!has(self.plain) || size(self.plain) < 4", "message": "  three at most  ", "fieldPath": ".plain"},
    ],
}


async def _rules(api: Player, **spec: Any) -> None:
    collection = await define(api, "Ruled", _SPEC)
    await api.post(collection, resource("Ruled", **spec), dryRun="All")


async def hold(api: Player) -> None:
    items = [{"name": "a", "size": 1}, {"name": "b"}]
    by_name = {"k1": {"count": 1}}
    await _rules(api, low=1, high=2, items=items, byName=by_name, plain=["a", "b"], port="web", ratio=1, pattern="aa")


async def with_fixed_messages(api: Player) -> None:
    await _rules(api, low=3, high=2)


async def without_message(api: Player) -> None:
    await _rules(api, plain=["b"])


async def with_several_broken(api: Player) -> None:
    await _rules(api, plain=["a", "a", "b", "c"])


async def with_reasons_and_paths(api: Player) -> None:
    await _rules(api, items=[{"name": "a", "size": 0}, {"name": "bad"}])


async def of_maps(api: Player) -> None:
    await _rules(api, byName={"x": {"count": 1}})
    await _rules(api, byName={"k": {}})


async def of_scalars(api: Player) -> None:
    await _rules(api, ratio=0)
    await _rules(api, port=81)
    await _rules(api, port="other")
    await _rules(api, pattern="b")


async def wait_for_a_sound_object(api: Player) -> None:
    await _rules(api, low="x", high=2, plain=["b"])
    await _rules(api, items=[{"size": 0}])


async def about_changes(api: Player) -> None:
    collection = await define(api, "Ruled", _SPEC)
    items = [{"name": "a", "size": 3}, {"name": "b", "size": 3}]
    await api.quietly("POST", collection, resource("Ruled", fixed="x", items=items, low=1))
    await api.patch(f"{collection}/a", {"spec": {"fixed": "y"}})
    await api.patch(f"{collection}/a", {"spec": {"items": [{"name": "b", "size": 4}, {"name": "a", "size": 2}]}})
    await api.patch(f"{collection}/a", {"spec": {"fixed": None, "items": None}})
    await api.patch(f"{collection}/a", {"spec": {"fixed": "z"}})


async def about_the_name(api: Player) -> None:
    whole = definition("Named", {"type": "object"})
    schema = whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    name = {"type": "string", "maxLength": 99}
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": name}}
    schema["x-kubernetes-validations"] = [
        {"rule": "self.metadata.name.size() < 5", "message": "short names only", "fieldPath": ".metadata.name"},
        {"rule": "self.kind == 'Named'"},
    ]
    collection = await define_whole(api, whole)
    await api.post(collection, resource("Named", "long-name"))
    await api.post(collection, resource("Named", "ok"))


async def with_paths_that_lead_nowhere(api: Player) -> None:
    rule = {"rule": "true", "message": "m"}
    for path in (".a", ".b", "a", ".a.b", ".m['k']", ".m.k", ".l[0]"):
        properties = {
            "a": {"type": "string"},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "l": {"type": "array", "items": {"type": "string"}},
        }
        spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [{**rule, "fieldPath": path}]}
        await api.post(DEFINITIONS, definition("Lost", spec), dryRun="All")


async def of_broken_definitions(api: Player) -> None:
    for rule in ("self.size >", "self.a &&", ""):
        spec = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}
        answer = await api.quietly("POST", DEFINITIONS, definition("Broken", spec))
        causes = answer.body.get("details", {}).get("causes", [])
        api.note(rule, [answer.status, sorted({cause["field"] for cause in causes})])
