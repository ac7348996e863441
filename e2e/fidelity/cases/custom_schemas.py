"""Custom resources and their schemas: pruning, defaults, rejections."""

from __future__ import annotations

import asyncio
from typing import Any

from e2e.fidelity.kinds import DEFINITIONS, GROUP, define, resource
from e2e.fidelity.player import Player

_POINT = {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}
_PROPERTIES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 2, "maxLength": 4, "pattern": "^[a-z]+$"},
    "whole": {"type": "integer", "minimum": 1, "maximum": 3, "multipleOf": 1},
    "part": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "exclusiveMaximum": True, "maximum": 1},
    "flag": {"type": "boolean"},
    "choice": {"type": "string", "enum": ["one", "two"]},
    "number": {"type": "integer", "enum": [1, 2]},
    "list": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
    "map": {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": "string"}},
    "points": {"type": "array", "items": _POINT},
    "namedPoints": {"type": "object", "additionalProperties": _POINT},
    "either": {"x-kubernetes-int-or-string": True},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    "keyed": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
        "items": {
            "type": "object",
            "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string", "default": "B"}, "c": {"type": "string"}},
        },
    },
    "nullable": {"type": "string", "nullable": True},
    "moment": {"type": "string", "format": "date-time"},
    "bytes": {"type": "string", "format": "byte"},
    "address": {"type": "string", "format": "ipv4"},
    "small": {"type": "integer", "format": "int32"},
    "withDefault": {
        "type": "object",
        "default": {"a": "A"},
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 5}},
    },
    "withNullDefault": {"type": "string", "nullable": True, "default": "set"},
    "inner": {"type": "object", "properties": {"b": {"type": "integer", "default": 7}}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"k": {"type": "integer"}}},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "embedded": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
    },
    "one": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "some": {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "no": {"type": "object", "properties": {"a": {"type": "string"}}, "not": {"required": ["a"]}},
}


async def _sample(api: Player, **spec: Any) -> None:
    collection = await define(api, "Sample", {"type": "object", "properties": _PROPERTIES})
    await api.post(collection, resource("Sample", **spec), dryRun="All")


async def fields_are_defaulted(api: Player) -> None:
    await _sample(api)
    await _sample(api, inner={}, withDefault={}, keyed=[{"a": "x"}])
    await _sample(api, withDefault=None, inner=None, withNullDefault=None)


async def fields_are_pruned(api: Player) -> None:
    points = [{"x": 1, "z": 2}]
    await _sample(api, surprise=1, points=points, free={"k": 1, "more": {"a": 1}}, any={"a": [1]})
    embedded = {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": {"a": "b", "c": 1}, "other": 1}
    await _sample(api, embedded=embedded)
    await _sample(api, namedPoints={"p": {"x": 1, "z": 2}}, map={"a": "b"})


async def unknown_fields(api: Player) -> None:
    collection = await define(api, "Sample", {"type": "object", "properties": _PROPERTIES})
    made = resource("Sample", points=[{"x": 1, "z": 2}], namedPoints={"p": {"x": 1, "z": 2}}, surprise=1)
    made["more"] = {}
    await api.post(collection, made, fieldValidation="Strict")
    await api.post(collection, made, fieldValidation="Warn", dryRun="All")


async def nulls(api: Player) -> None:
    await _sample(api, text=None, nullable=None, map={"a": None})
    await _sample(api, points=[None])
    await _sample(api, list=[None])


async def wrong_types(api: Player) -> None:
    for name, value in {
        "text": 1,
        "whole": "1",
        "part": "x",
        "flag": "true",
        "list": {},
        "map": [],
        "points": [1],
        "either": True,
        "namedPoints": {"p": []},
        "nullable": 3,
        "inner": "x",
    }.items():
        await _sample(api, **{name: value})
    await _sample(api, whole=1.5)
    await _sample(api, whole=2.0)
    await _sample(api, map={"a": 1})


async def texts(api: Player) -> None:
    for text in ("a", "abcde", "AB", "éé"):
        await _sample(api, text=text)


async def numbers(api: Player) -> None:
    await _sample(api, whole=0)
    await _sample(api, whole=4)
    await _sample(api, part=0)
    await _sample(api, part=1)
    await _sample(api, part=0.5, small=2**40)


async def enumerations(api: Player) -> None:
    await _sample(api, choice="three")
    await _sample(api, number=3)


async def sizes(api: Player) -> None:
    await _sample(api, list=[])
    await _sample(api, list=["a", "b", "c"])
    await _sample(api, map={})
    await _sample(api, map={"a": "1", "b": "2", "c": "3"})


async def required_fields(api: Player) -> None:
    await _sample(api, points=[{"y": 1}])
    await _sample(api, namedPoints={"p": {}})


async def either_number_or_text(api: Player) -> None:
    await _sample(api, either=1)
    await _sample(api, either="1")
    await _sample(api, either=[])


async def lists_without_repetition(api: Player) -> None:
    await _sample(api, set=["a", "b", "a"])
    await _sample(api, keyed=[{"a": "x"}, {"a": "x", "b": "B"}])
    await _sample(api, keyed=[{"a": "x"}, {"a": "x", "b": "C"}])


async def formats(api: Player) -> None:
    await _sample(api, moment="yesterday")
    await _sample(api, moment="2024-01-01T00:00:00Z", bytes="YQ==", address="1.2.3.4")
    await _sample(api, bytes="??")
    await _sample(api, address="1.2.3")


async def combinations(api: Player) -> None:
    await _sample(api, one={})
    await _sample(api, one={"a": "1", "b": "2"})
    await _sample(api, some={})
    await _sample(api, no={"a": "1"})
    await _sample(api, one={"a": "1"}, some={"b": "2"}, no={})


async def metadata(api: Player) -> None:
    collection = await define(api, "Sample", {"type": "object", "properties": _PROPERTIES})
    made = resource("Sample", "A_b")
    await api.post(collection, made)
    made["metadata"] = {"name": "a", "labels": {"a b": "c"}}
    await api.post(collection, made)
    await api.post(collection, {**resource("Sample"), "kind": "Other"})
    await api.post(collection, {**resource("Sample"), "apiVersion": "v1"})


async def what_was_wrong_before_may_stay(api: Player) -> None:
    loose = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    collection = await define(api, "Hardened", loose)
    await api.quietly("POST", collection, resource("Hardened", a="too long", b="x"))
    hard = {
        "op": "add",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maxLength",
        "value": 3,
    }
    path = f"{DEFINITIONS}/hardeneds.{GROUP}"
    await api.quietly("PATCH", path, [hard], "application/json-patch+json")
    # The new schema is in force when a new object is rejected.
    for _ in range(100):
        answer = await api.quietly("POST", collection, resource("Hardened", "c", a="too long"), dryRun="All")
        if answer.status == 422:
            break
        await asyncio.sleep(0.05)
    await api.patch(f"{collection}/a", {"spec": {"b": "y"}})
    await api.patch(f"{collection}/a", {"spec": {"a": "longer still"}})
    await api.quietly("DELETE", path)
    await api.until_gone(path)
