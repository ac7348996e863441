"""Reading the configuration in the body of an apply patch, which is YAML or JSON."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import yaml

from training_local.apiserver.errors import Json, bad_request

ALIAS_LIMIT = 1_000_000
"""Values that a document may have when its aliases are written out."""


DEPTH_LIMIT = 100
"""Levels that a document may have; the reader of YAML would crash on too many, and walks over values are recursive."""


class _Repeated(ValueError):
    """A key stands in an object twice."""


def read_config(body: bytes) -> tuple[Json, list[str]]:
    """Return the configuration that a patch applies, and the keys that stand in it twice; raises a 400."""
    try:
        config, repeated = json.loads(body, object_pairs_hook=_unique), list[str]()
    except (ValueError, RecursionError):
        config, repeated = _read_yaml(body)
    if config is None:
        config = {}
    if _is_deeper(config, DEPTH_LIMIT):
        raise bad_request(_TOO_DEEP)
    if not isinstance(config, dict):
        raise bad_request(f"error decoding YAML: expected an object, got {type(config).__name__}")
    try:
        # What JSON does not know, such as dates and sets, is gone after this.
        return msgspec.json.decode(msgspec.json.encode(config), type=Json), repeated
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise bad_request(f"error decoding YAML: {error}") from error


_TOO_DEEP = f"error decoding YAML: exceeded max depth of {DEPTH_LIMIT}"


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, (dict, list)):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Repeated  # the reader of YAML reports the line
    return found


class _Loader(yaml.CSafeLoader):
    """Reads YAML as the real server does: moments stay text; notes keys that stand in a mapping twice."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.repeated: list[str] = []


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Json:
    loader.flatten_mapping(node)
    found: Json = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, (dict, list)):
            raise yaml.YAMLError("invalid map key")
        name = key if isinstance(key, str) else json.dumps(key)
        if name in found:
            loader.repeated.append(f"line {key_node.start_mark.line + 1}: key {json.dumps(name)} already set in map")
        found[name] = loader.construct_object(value_node, deep=True)
    return found


def _text(loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)


def _read_yaml(body: bytes) -> tuple[Any, list[str]]:
    try:
        _check_depth(body)
        loader = _Loader(body)
        try:
            config = loader.get_single_data()
        finally:
            loader.dispose()
        if b"*" in body and _size(config, {}) > ALIAS_LIMIT:
            raise bad_request("error decoding YAML: yaml: document contains excessive aliasing")
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise bad_request(f"error decoding YAML: {error}") from error
    return config, loader.repeated


def _check_depth(body: bytes) -> None:
    depth = 0
    for event in yaml.parse(body, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH_LIMIT:
            raise bad_request(_TOO_DEEP)


def _size(value: Any, known: dict[int, int]) -> int:
    """Return how many values there are with aliases written out; endless ones raise a RecursionError."""
    if not isinstance(value, (dict, list)):
        return 1
    if (size := known.get(id(value))) is None:
        inner = value.values() if isinstance(value, dict) else value
        size = known[id(value)] = 1 + sum(_size(each, known) for each in inner)
    return size
