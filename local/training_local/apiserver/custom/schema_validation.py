"""Validation of custom resources against their schemas, with the real server's causes.

Of an update only what differs from the stored object is checked ("ratcheting", Kubernetes 1.33): an object that was
allowed once can still be changed elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import re2

from training_local.apiserver.custom.formats import FORMATS
from training_local.apiserver.custom.structural import Structural
from training_local.apiserver.errors import (
    Cause,
    Json,
    duplicate,
    invalid,
    not_supported,
    quoted,
    required,
    type_invalid,
)

NAME = "metadata.name"


def schema_causes(level: Structural, value: Any, old: Any = None, path: str = "") -> Iterator[Cause]:
    """Check a value against a schema; `old` is the stored value, `None` where nothing comparable is stored."""
    if old is not None and old == value:
        return
    yield from _own_causes(level.schema, value, path)
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, inner in value.items():
            known = level.properties.get(key, level.additional)
            if known is not None:
                here = f"{path}.{key}" if path else key
                yield from schema_causes(known, inner, before.get(key), here)
        for key in level.schema.get("required", ()):
            if key not in value:
                yield required(f"{path}.{key}" if path else key)
    elif isinstance(value, list) and level.items is not None:
        earlier = keyed_items(level, old)
        for index, item in enumerate(value):
            before_item = earlier.get(item_key(level, item))
            yield from schema_causes(level.items, item, before_item, f"{path}[{index}]")


def keyed_items(level: Structural, items: Any) -> dict[Any, Any]:
    """Return the items of a list of the type `map` by their keys; items of other lists have no keys."""
    if not isinstance(items, list) or level.schema.get("x-kubernetes-list-type") != "map":
        return {}
    return {item_key(level, item): item for item in items}


def item_key(level: Structural, item: Any) -> Any:
    """Return the key of an item in a list of the type `map`."""
    keys = level.schema.get("x-kubernetes-list-map-keys", ())
    return tuple(quoted(item.get(key)) for key in keys) if isinstance(item, dict) else None


def _own_causes(schema: Json, value: Any, path: str) -> Iterator[Cause]:
    found, wanted = json_type(value), _types(schema)
    if wanted and found not in wanted and not _acceptable(schema, value, found, wanted):
        said = f'{path} in body must be of type {",".join(wanted)}: "{found}"'
        yield type_invalid(path, found, said)
        if found != "number":
            return
    if value is None:
        return
    if isinstance(value, str):
        yield from _text_causes(schema, value, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _number_causes(schema, value, path)
    elif isinstance(value, list):
        yield from _list_causes(schema, value, path)
    elif isinstance(value, dict):
        yield from _object_causes(schema, value, path)
    if (allowed := schema.get("enum")) is not None and value not in allowed:
        yield not_supported(path, value, [each if isinstance(each, str) else quoted(each) for each in allowed])
    for kind in ("allOf", "anyOf", "oneOf", "not"):
        if kind in schema:
            yield from _combined_causes(kind, schema[kind], value, path)


def json_type(value: Any) -> str:
    """Return the JSON type of a value; whole numbers are `integer`."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _types(schema: Json) -> Sequence[str]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def _acceptable(schema: Json, value: Any, found: str, wanted: Sequence[str]) -> bool:
    if found == "null":
        return bool(schema.get("nullable"))
    if "number" in wanted:
        return found == "integer"
    return "integer" in wanted and found == "number" and float(value).is_integer()


def _text_causes(schema: Json, text: str, path: str) -> Iterator[Cause]:
    if (limit := schema.get("maxLength")) is not None and len(text) > limit:
        said = f"Too long: may not be more than {limit} byte{'' if limit == 1 else 's'}"
        yield Cause("FieldValueTooLong", said, path)
    if (limit := schema.get("minLength")) is not None and len(text) < limit:
        yield invalid(path, text, f"{path} in body should be at least {limit} chars long")
    if (pattern := schema.get("pattern")) is not None and not compiled(pattern).search(text):
        yield invalid(path, text, f"{path} in body should match '{pattern}'")
    check = FORMATS.get(schema.get("format", "").replace("-", ""))
    if check is not None and not check(text):
        yield type_invalid(path, text, f"{path} in body must be of type {schema['format']}: {quoted(text)}")


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> Any:
    """Return the expression that a pattern means to RE2, the real server's engine; its time is linear in the text.

    Raises ValueError with the reason if it means nothing.
    """
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0]
        raise ValueError(reason.decode() if isinstance(reason, bytes) else reason) from None


def _number_causes(schema: Json, number: float, path: str) -> Iterator[Cause]:
    shown = f"{path} in body should be"
    if (limit := schema.get("maximum")) is not None:
        exclusive = schema.get("exclusiveMaximum")
        if number > limit or (exclusive and number == limit):
            yield invalid(path, number, f"{shown} less than{'' if exclusive else ' or equal to'} {limit:g}")
    if (limit := schema.get("minimum")) is not None:
        exclusive = schema.get("exclusiveMinimum")
        if number < limit or (exclusive and number == limit):
            yield invalid(path, number, f"{shown} greater than{'' if exclusive else ' or equal to'} {limit:g}")
    if (step := schema.get("multipleOf")) and not math.isclose(number / step, round(number / step), abs_tol=1e-9):
        yield invalid(path, number, f"{shown} a multiple of {step:g}")


def _too_many(path: str, actual: int, limit: int) -> Cause:
    said = f"Too many: {actual}: must have at most {limit} item{'' if limit == 1 else 's'}"
    return Cause("FieldValueTooMany", said, path)


def _list_causes(schema: Json, items: list[Any], path: str) -> Iterator[Cause]:
    if (limit := schema.get("maxItems")) is not None and len(items) > limit:
        yield _too_many(path, len(items), limit)
    if (limit := schema.get("minItems")) is not None and len(items) < limit:
        yield invalid(path, len(items), f"{path} in body should have at least {limit} items")
    if schema.get("uniqueItems") and len({quoted(item) for item in items}) < len(items):
        yield invalid(path, items, f"{path} in body shouldn't contain duplicates")


def _object_causes(schema: Json, value: Json, path: str) -> Iterator[Cause]:
    if (limit := schema.get("maxProperties")) is not None and len(value) > limit:
        yield _too_many(path, len(value), limit)
    if (limit := schema.get("minProperties")) is not None and len(value) < limit:
        yield invalid(path, len(value), f"{path} in body should have at least {limit} properties")


def _combined_causes(kind: str, schemas: Any, value: Any, path: str) -> Iterator[Cause]:
    """Check the logical combinations; the real server reports them without a field."""
    results = [list(_loose_causes(each, value, path)) for each in (schemas if kind != "not" else [schemas])]
    holding = sum(not result for result in results)
    said = ""
    if kind == "anyOf" and not holding:
        said = "must validate at least one schema (anyOf)"
    elif kind == "oneOf" and holding != 1:
        found = f"Found {holding} valid alternatives" if holding else "Found none valid"
        said = f"must validate one and only one schema (oneOf). {found}"
    elif kind == "allOf" and holding < len(results):
        said = f"must validate all the schemas (allOf){'' if holding else '. None validated'}"
    elif kind == "not" and holding:
        said = "must not validate the schema (not)"
    if said:
        yield Cause("FieldValueInvalid", f'Invalid value: "": "{path}" {said}', "<nil>")
        if kind == "allOf":
            yield from (cause for result in results for cause in result)
        elif kind != "not" and not holding:
            yield from min(results, key=len)


def _loose_causes(schema: Json, value: Any, path: str) -> Iterator[Cause]:
    """Check against a schema within a combination, which may speak of parts only."""
    yield from _own_causes(schema, value, path)
    if isinstance(value, dict):
        for key, inner in schema.get("properties", {}).items():
            if key in value:
                yield from _loose_causes(inner, value[key], f"{path}.{key}" if path else key)
        for key in schema.get("required", ()):
            if key not in value:
                yield required(f"{path}.{key}" if path else key)
    elif isinstance(value, list) and isinstance(inner := schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _loose_causes(inner, item, f"{path}[{index}]")


def uniqueness_causes(level: Structural, value: Any, path: str = "") -> Iterator[Cause]:
    """Check that lists of the types `set` and `map` hold nothing twice."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if (known := level.properties.get(key)) is not None:
                yield from uniqueness_causes(known, inner, f"{path}.{key}" if path else key)
            elif level.additional is not None:
                yield from uniqueness_causes(level.additional, inner, f"{path}[{key}]")
    elif isinstance(value, list):
        yield from _repeated(level.schema, value, path)
        if level.items is not None:
            for index, item in enumerate(value):
                yield from uniqueness_causes(level.items, item, f"{path}[{index}]")


def _repeated(schema: Json, items: list[Any], path: str) -> Iterator[Cause]:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in ("set", "map"):
        return
    key: Callable[[Any], Any] = (lambda item: item) if kind == "set" else _map_key(schema)
    seen: dict[str, int] = {}
    for index, item in enumerate(items):
        shown = key(item)
        times = seen[quoted(shown)] = seen.get(quoted(shown), 0) + 1
        if times == 2:
            yield duplicate(f"{path}[{index}]", shown)


def _map_key(schema: Json) -> Callable[[Any], Json]:
    keys = sorted(schema.get("x-kubernetes-list-map-keys", ()))
    return lambda item: {key: item[key] for key in keys if isinstance(item, dict) and key in item}
