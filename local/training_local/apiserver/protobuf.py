"""Objects in protobuf, as Go clients send builtin types (Kubernetes API concepts, "Protobuf encoding").

Which number means which field is data, generated from the Go declarations.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from training_api.models.common import rfc3339
from training_local.apiserver.errors import Json

PROTOBUF = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_OPTIONS = ("apimachinery/pkg/apis/meta/v1.DeleteOptions", "DeleteOptions")
_DEEPEST = 64

Field = tuple[str, str]
Wire = int | bytes


class BadProtobuf(ValueError):
    """Bytes that are not an object in protobuf."""


def decode_object(body: bytes) -> Json:
    """Return the object in an envelope of type and content; raises BadProtobuf for anything else."""
    if not body.startswith(_MAGIC):
        raise BadProtobuf("the body does not begin as objects in protobuf do")
    envelope = dict(_fields(body[len(_MAGIC) :]))
    type_meta = {number: _text(value) for number, value in _fields(_bytes(envelope.get(1, b"")))}
    api_version, kind = type_meta.get(1, ""), type_meta.get(2, "")
    group, _, version = api_version.rpartition("/")
    name = _OPTIONS[0] if kind == _OPTIONS[1] else f"api/{group.partition('.')[0] or 'core'}/{version}.{kind}"
    if name not in _messages():
        raise BadProtobuf(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"kind": kind, "apiVersion": api_version, **_message(_bytes(envelope.get(2, b"")), name, _DEEPEST)}


@cache
def _messages() -> Mapping[str, Mapping[int, Field]]:
    text = (files("training_local.apiserver.builtin") / "protobuf.json").read_text()
    return {
        name: {int(number): (json_name, type) for number, (json_name, type) in fields.items()}
        for name, fields in json.loads(text).items()
    }


def _message(data: bytes, name: str, deepest: int) -> Json:
    """Return a message as JSON has it; fields without a number of ours are left out."""
    if not deepest:
        raise BadProtobuf("the object is nested too deeply")
    known, obj = _messages()[name], Json()
    for number, value in _fields(data):
        if number not in known:
            continue
        json_name, type = known[number]
        if type.startswith("[]"):
            obj.setdefault(json_name, []).append(_value(value, type[2:], deepest))
        elif type.startswith("map:"):
            entry = dict(_fields(_bytes(value)))
            key = _text(entry.get(1, b""))
            obj.setdefault(json_name, {})[key] = _value(entry.get(2, b""), type[4:], deepest)
        elif json_name:
            obj[json_name] = _value(value, type, deepest)
        else:
            obj |= _value(value, type, deepest)
    return obj


def _value(value: Wire, type: str, deepest: int) -> Any:
    if (scalar := _SCALARS.get(type)) is not None:
        return scalar(value)
    return _message(_bytes(value), type, deepest - 1)


def _text(value: Wire) -> str:
    try:
        return _bytes(value).decode()
    except UnicodeDecodeError as error:
        raise BadProtobuf(f"a text is not UTF-8: {error}") from error


def _bytes(value: Wire) -> bytes:
    if isinstance(value, bytes):
        return value
    raise BadProtobuf("a field has the wrong wire type")


def _int(value: Wire) -> int:
    if isinstance(value, bytes):
        raise BadProtobuf("a field has the wrong wire type")
    return value - (1 << 64) if value >= 1 << 63 else value


def _double(value: Wire) -> float:
    raw = _bytes(value)
    if len(raw) != 8:
        raise BadProtobuf("a field has the wrong wire type")
    return float(struct.unpack("<d", raw)[0])


def _base64(value: Wire) -> str:
    return base64.b64encode(_bytes(value)).decode()


def _quantity(value: Wire) -> str:
    return _text(dict(_fields(_bytes(value))).get(1, b""))


def _int_or_string(value: Wire) -> int | str:
    fields = dict(_fields(_bytes(value)))
    return _text(fields.get(3, b"")) if fields.get(1) else _int(fields.get(2, 0))


def _moment(value: Wire) -> datetime | None:
    fields = dict(_fields(_bytes(value)))
    if not fields:
        return None
    try:
        moment = datetime.fromtimestamp(_int(fields.get(1, 0)), UTC)
        return moment.replace(microsecond=_int(fields.get(2, 0)) // 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise BadProtobuf(f"a time is out of range: {error}") from error


def _time(value: Wire) -> str | None:
    moment = _moment(value)
    return rfc3339(moment) if moment else None


def _micro_time(value: Wire) -> str | None:
    moment = _moment(value)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else None


_SCALARS: Mapping[str, Callable[[Wire], Any]] = {
    "string": _text,
    "bytes": _base64,
    "bool": lambda value: bool(_int(value)),
    "int": _int,
    "double": _double,
    "quantity": _quantity,
    "int-or-string": _int_or_string,
    "time": _time,
    "micro-time": _micro_time,
}


def _fields(data: bytes) -> Iterator[tuple[int, Wire]]:
    """Yield number and raw value of each field; numbers of fixed width stay bytes."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                number, at = _varint(data, at)
                yield tag >> 3, number
                continue
            case 1:
                length = 8
            case 2:
                length, at = _varint(data, at)
            case 5:
                length = 4
            case other:
                raise BadProtobuf(f"wire type {other} is not known")
        if at + length > len(data):
            raise BadProtobuf("the body ends within a field")
        yield tag >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise BadProtobuf("the body ends within a number")
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number & ((1 << 64) - 1), at
    raise BadProtobuf("a number is too long")
