"""OpenAPI version 2: schemas in the smaller language that it has, and the document in protobuf.

`kubectl` before 1.30 reads nothing but protobuf. The numbers come from `github.com/google/gnostic-models`,
openapiv2/OpenAPIv2.proto; only the messages that the document uses are here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from training_local.apiserver.errors import Json

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
ACCEPTED = (PROTOBUF, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
"""How clients ask for protobuf; the server answers with the first."""
_NOT_IN_VERSION_2 = ("allOf", "anyOf", "oneOf", "not", "default", "nullable")
_OPEN = "x-kubernetes-preserve-unknown-fields"


def simplified(schema: Json) -> Json:
    """Return a version 3 schema as version 2 can say it, by the rules of the real server.

    What may hold anything loses its type, because clients cannot cope with "anything" beside properties or items.
    """
    kept = {key: value for key, value in schema.items() if key not in _NOT_IN_VERSION_2}
    if schema.get("nullable") or schema.get(_OPEN):
        kept.pop("items", None)
        kept.pop("properties", None)
    free = schema.get("nullable") or schema.get("x-kubernetes-int-or-string")
    if free or (schema.get(_OPEN) and schema.get("type") == "object") or ("items" not in kept and _is_array(schema)):
        kept.pop("type", None)
    if "type" not in schema and "oneOf" in schema and not free:
        kept["type"] = "string"  # quantities, and numbers that may be names
    if "properties" in kept:
        nullable = {name for name, inner in kept["properties"].items() if inner.get("nullable")}
        if required := [name for name in kept.pop("required", ()) if name not in nullable]:
            kept["required"] = required
        kept["properties"] = {name: simplified(inner) for name, inner in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(kept.get(key), dict):
            kept[key] = simplified(kept[key])
    return kept


def _is_array(schema: Json) -> bool:
    return schema.get("type") == "array"


class _Field(NamedTuple):
    number: int
    encode: Callable[[Any], bytes]
    """Value -> content of the field, without tag and length."""
    repeated: bool = False


_Message = Mapping[str, _Field]


def to_protobuf(document: Json) -> bytes:
    """Return a document of version 2 in protobuf."""
    return _encoded(document, _DOCUMENT, extensions=16)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def _delimited(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _encoded(obj: Json, message: _Message, extensions: int = 0) -> bytes:
    """Return an object as a message; members that begin with `x-` go into the field `extensions`."""
    parts: list[bytes] = []
    for key, value in obj.items():
        if (field := message.get(key)) is not None:
            parts += [_tagged(field, each) for each in (value if field.repeated else (value,))]
        elif extensions and key.startswith("x-"):
            parts.append(_delimited(extensions, _delimited(1, key.encode()) + _delimited(2, _anything(value))))
    return b"".join(parts)


def _tagged(field: _Field, value: Any) -> bytes:
    content = field.encode(value)
    if field.encode in (_flag, _integer):
        return _varint(field.number << 3) + content
    if field.encode is _double:
        return _varint(field.number << 3 | 1) + content
    return _delimited(field.number, content)


def _flag(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def _integer(value: float) -> bytes:
    return _varint(int(value))


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


def _text(value: str) -> bytes:
    return value.encode()


def _anything(value: Any) -> bytes:
    """Return a value as the YAML text that the message Any carries; JSON is YAML."""
    return _delimited(2, msgspec.json.encode(value))


def _first(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return an encoder for a message whose field 1 holds the value."""
    return lambda value: _delimited(1, encode(value))


def _named(encode: Callable[[Any], bytes], number: int = 1) -> Callable[[Mapping[str, Any]], bytes]:
    """Return an encoder for a mapping: pairs of name and value in the field `number`."""

    def pairs(values: Mapping[str, Any]) -> bytes:
        return b"".join(
            _delimited(number, _delimited(1, name.encode()) + _delimited(2, encode(value)))
            for name, value in values.items()
        )

    return pairs


def _schema(schema: Json) -> bytes:
    return _encoded(schema, _SCHEMA, extensions=31)


def _additional(value: Json | bool) -> bytes:
    return _varint(2 << 3) + _flag(value) if isinstance(value, bool) else _delimited(1, _schema(value))


def _parameter(parameter: Json) -> bytes:
    """Return ParametersItem: Parameter: NonBodyParameter: by place."""
    number, message = (4, _IN_PATH) if parameter["in"] == "path" else (3, _IN_QUERY)
    return _delimited(1, _delimited(2, _delimited(number, _encoded(parameter, message))))


def _operation(operation: Json) -> bytes:
    return _encoded(operation, _OPERATION, extensions=13)


_SCHEMA: _Message = {
    "$ref": _Field(1, _text),
    "format": _Field(2, _text),
    "title": _Field(3, _text),
    "description": _Field(4, _text),
    "multipleOf": _Field(6, _double),
    "maximum": _Field(7, _double),
    "exclusiveMaximum": _Field(8, _flag),
    "minimum": _Field(9, _double),
    "exclusiveMinimum": _Field(10, _flag),
    "maxLength": _Field(11, _integer),
    "minLength": _Field(12, _integer),
    "pattern": _Field(13, _text),
    "maxItems": _Field(14, _integer),
    "minItems": _Field(15, _integer),
    "uniqueItems": _Field(16, _flag),
    "maxProperties": _Field(17, _integer),
    "minProperties": _Field(18, _integer),
    "required": _Field(19, _text, repeated=True),
    "enum": _Field(20, _anything, repeated=True),
    "additionalProperties": _Field(21, _additional),
    "type": _Field(22, _first(_text)),
    "items": _Field(23, _first(_schema)),
    "properties": _Field(25, _named(_schema)),
}
_IN_PATH: _Message = {
    "required": _Field(1, _flag),
    "in": _Field(2, _text),
    "name": _Field(4, _text),
    "type": _Field(5, _text),
    "uniqueItems": _Field(19, _flag),
}
_IN_QUERY: _Message = {
    "required": _Field(1, _flag),
    "in": _Field(2, _text),
    "name": _Field(4, _text),
    "type": _Field(6, _text),
    "uniqueItems": _Field(20, _flag),
}
_RESPONSE: _Message = {"description": _Field(1, _text)}
_OPERATION: _Message = {
    "parameters": _Field(8, _parameter, repeated=True),
    "responses": _Field(9, _named(_first(lambda response: _encoded(response, _RESPONSE)))),
}
_PATH: _Message = {
    "get": _Field(2, _operation),
    "put": _Field(3, _operation),
    "post": _Field(4, _operation),
    "delete": _Field(5, _operation),
    "patch": _Field(8, _operation),
    "parameters": _Field(9, _parameter, repeated=True),
}
_INFO: _Message = {"title": _Field(1, _text), "version": _Field(2, _text)}
_DOCUMENT: _Message = {
    "swagger": _Field(1, _text),
    "info": _Field(2, lambda info: _encoded(info, _INFO)),
    "paths": _Field(8, _named(lambda item: _encoded(item, _PATH), number=2)),
    "definitions": _Field(9, _named(_schema)),
}
