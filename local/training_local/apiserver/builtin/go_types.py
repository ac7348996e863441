"""Decoding of builtin objects as the real server's Go types do it.

Unknown fields are dropped and reported, nulls and empty optional values vanish, embedded structs appear, quantities and
times take their canonical form; a value of a type that the field cannot hold is an error. Each component of the schemas
is compiled once into closures.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from training_api import quantity
from training_api.models.common import rfc3339
from training_local.apiserver.errors import Json

Where = tuple[Any, str | int] | None
"""Path of a value as a linked list: the path of what holds it, and the key or index there."""
Decode = Callable[[Any, Where, list[str]], Any]
"""Value, path, list to which `unknown field "..."` is added -> the value as stored."""

COMMON = "io.k8s.apimachinery.pkg."
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

_RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)
_MICROSECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)", re.ASCII)
_WHOLE_SECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", re.ASCII)
_LIMITS = {"int32": 2**31, "int64": 2**63}


class GoError(Exception):
    """A value that the Go type cannot hold; the text is the rest of the real server's sentence."""


class TypeMismatch(Exception):
    """A JSON value of the wrong type; it learns on its way out in which field it stands."""

    def __init__(self, found: str, wanted: str, fields: tuple[str, ...] = (), struct: str = "") -> None:
        super().__init__()
        self.found, self.wanted, self.fields, self.struct = found, wanted, fields, struct

    def inside(self, struct: str, field: str) -> TypeMismatch:
        """Return the same mismatch as seen from the struct around it."""
        return TypeMismatch(self.found, self.wanted, (field, *self.fields), self.struct or struct)

    def __str__(self) -> str:
        place = f"Go struct field {self.struct}.{'.'.join(self.fields)}" if self.fields else "Go value"
        return f"json: cannot unmarshal {self.found} into {place} of type {self.wanted}"


def path_text(where: Where) -> str:
    """Return a path as in `spec.containers[0].image`."""
    keys: list[str | int] = []
    while where is not None:
        where, key = where
        keys.append(key)
    text = ""
    for key in reversed(keys):
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


@dataclass(frozen=True, slots=True)
class _Field:
    decode: Decode
    keep_empty: bool
    """Whether an empty value is stored: pointers and structs."""


class GoTypes:
    """Decoders of all components, compiled when first asked for."""

    def __init__(self, schemas: Mapping[str, Json], go: Mapping[str, Mapping[str, str]]) -> None:
        self._schemas = schemas
        self._go = go
        self._compiled: dict[str, Decode] = {}

    def decoder(self, component: str) -> Decode:
        """Return the decoder of a component, which may refer to itself."""
        if (known := self._compiled.get(component)) is not None:
            return known
        if special := _SPECIAL.get(component):
            self._compiled[component] = special
            return special
        if union := _UNIONS.get(component):
            compiled = union(self)
        elif "properties" in self._schemas[component]:
            # Entered before its fields are compiled: schemas of schemas are recursive.
            self._compiled[component] = self._later(component)
            compiled = self._struct(component, self._schemas[component])
        else:
            compiled = _as_it_is
        self._compiled[component] = compiled
        return compiled

    def _later(self, component: str) -> Decode:
        def decode(value: Any, where: Where, problems: list[str]) -> Any:
            return self._compiled[component](value, where, problems)

        return decode

    def _struct(self, component: str, schema: Json) -> Decode:
        name = component.rpartition(".")[2]
        go_types = self._go.get(component, {})
        required = schema.get("required", ())
        fields: dict[str, _Field] = {}
        always: list[tuple[str, Callable[[], Any]]] = []
        is_object = "x-kubernetes-group-version-kind" in schema
        for key, inner in schema["properties"].items():
            if is_object and key == "metadata":  # the server's, the same for all types
                fields[key] = _Field(_as_it_is, keep_empty=True)
                continue
            go = go_types.get(key, "")
            mark, go_type = go.endswith("!") or (not go and key in required), go.removesuffix("!")
            pointer = go_type.startswith("*") or (not go_type and "$ref" in inner)
            struct = "$ref" in inner and not pointer
            fields[key] = _Field(self._value(inner, go_type.removeprefix("*")), pointer or struct or mark)
            if struct or mark:
                always.append((key, self._zero(inner, pointer)))
        return _struct_decoder(name, fields, tuple(always))

    def _zero(self, schema: Json, pointer: bool) -> Callable[[], Any]:
        component = schema.get("$ref", "")
        if component and not pointer:
            if component in _ZERO:
                return lambda: _ZERO[component]
            decode = self.decoder(component)
            return lambda: decode({}, None, [])
        zeros: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}
        zero = None if pointer or schema.get("format") == "byte" else zeros.get(schema.get("type", ""))
        return lambda: zero

    def _value(self, schema: Json, go_type: str) -> Decode:
        """Compile one value; `go_type` is its Go type where the schema does not have it."""
        if component := schema.get("$ref"):
            return self.decoder(component)
        match schema.get("type"):
            case "array":
                item = go_type.removeprefix("[]") if go_type.startswith("[]") else ""
                zero = self._zero(schema["items"], pointer=False)
                return _array_decoder(self._value(schema["items"], item), zero, f"[]{_go_name(schema['items'], item)}")
            case "object" if isinstance(inner := schema.get("additionalProperties"), dict):
                item = go_type.partition("]")[2] if go_type.startswith("map[") else ""
                zero = self._zero(inner, pointer=False)
                return _map_decoder(self._value(inner, item), zero, f"map[string]{_go_name(inner, item)}")
            case kind:
                return _scalar_decoder(str(kind), schema.get("format", ""), _go_name(schema, go_type))


def _go_name(schema: Json, go_type: str) -> str:
    """Return how Go prints a type: `v1.PullPolicy`, `[]v1.EnvVar`, `int32`."""
    if go_type:
        name = go_type.removeprefix("*")
        return f"v1.{name}" if name[0].isupper() else name
    if component := schema.get("$ref"):
        package, _, name = component.rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    kind = schema.get("type", "")
    plain = {"boolean": "bool", "number": "float64", "array": "[]", "object": "map[string]"}
    return str(schema.get("format", "int64")) if kind == "integer" else plain.get(kind, "string")


def _found(value: object) -> str:
    """Name a JSON value as Go's decoder does."""
    if isinstance(value, bool):
        return "bool"
    names = {str: "string", dict: "object", list: "array", int: "number", float: "number"}
    return names.get(type(value), "null")


def _struct_decoder(
    name: str, fields: Mapping[str, _Field], always: tuple[tuple[str, Callable[[], Any]], ...]
) -> Decode:
    def decode(value: Any, where: Where, problems: list[str]) -> Any:
        if type(value) is not dict:
            raise TypeMismatch(_found(value), f"v1.{name}")
        stored = {}
        for key, item in value.items():
            field = fields.get(key)
            if field is None:
                problems.append(f'unknown field "{path_text((where, key))}"')
            elif item is not None:
                try:
                    kept = field.decode(item, (where, key), problems)
                except TypeMismatch as mismatch:
                    raise mismatch.inside(name, key) from None
                if kept or field.keep_empty:
                    stored[key] = kept
        for key, zero in always:
            if key not in stored:
                stored[key] = zero()
        return stored

    return decode


def _array_decoder(item: Decode, zero: Callable[[], Any], go_name: str) -> Decode:
    def decode(value: Any, where: Where, problems: list[str]) -> Any:
        if type(value) is not list:
            raise TypeMismatch(_found(value), go_name)
        # A null in a list is the zero value of the item's type.
        return [zero() if each is None else item(each, (where, index), problems) for index, each in enumerate(value)]

    return decode


def _map_decoder(item: Decode, zero: Callable[[], Any], go_name: str) -> Decode:
    def decode(value: Any, where: Where, problems: list[str]) -> Any:
        if type(value) is not dict:
            raise TypeMismatch(_found(value), go_name)
        return {key: zero() if each is None else item(each, (where, key), problems) for key, each in value.items()}

    return decode


def _scalar_decoder(kind: str, format: str, go_name: str) -> Decode:
    if kind == "integer":
        return _integer_decoder(format, go_name)
    if kind == "string" and format != "byte":
        return _string_decoder(go_name)
    return {"string": _bytes, "boolean": _boolean, "number": _number}.get(kind, _as_it_is)


def _string_decoder(go_name: str) -> Decode:
    def decode(value: Any, where: Where, problems: list[str]) -> Any:
        if type(value) is not str:
            raise TypeMismatch(_found(value), go_name)
        return value

    return decode


def _integer_decoder(format: str, go_name: str) -> Decode:
    limit = _LIMITS.get(format, 2**63)

    def decode(value: Any, where: Where, problems: list[str]) -> Any:
        if type(value) is not int:
            raise TypeMismatch(f"number {value}" if type(value) is float else _found(value), go_name)
        if not -limit <= value < limit:
            raise TypeMismatch(f"number {value}", go_name)
        return value

    return decode


def _boolean(value: Any, where: Where, problems: list[str]) -> Any:
    if type(value) is not bool:
        raise TypeMismatch(_found(value), "bool")
    return value


def _number(value: Any, where: Where, problems: list[str]) -> Any:
    if type(value) not in (int, float):
        raise TypeMismatch(_found(value), "float64")
    return value


def _as_it_is(value: Any, where: Where, problems: list[str]) -> Any:
    return value


def _bytes(value: Any, where: Where, problems: list[str]) -> Any:
    if type(value) is not str:
        raise TypeMismatch(_found(value), "[]uint8")
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        raise GoError(f"illegal base64 data at input byte {_first_illegal_byte(value)}") from None
    return value


def _first_illegal_byte(text: str) -> int:
    alphabet = re.match(r"[A-Za-z0-9+/\r\n]*", text)
    end = alphabet.end() if alphabet else 0
    return end if end < len(text) else len(text) // 4 * 4


def _quantity(value: Any, where: Where, problems: list[str]) -> Any:
    try:
        return quantity.canonical(str(value).strip())
    except ValueError as error:
        raise GoError(str(error)) from None


def _int_or_string(value: Any, where: Where, problems: list[str]) -> Any:
    if type(value) is not int and type(value) is not str:
        raise TypeMismatch(_found(value), "int32")
    return value


def _time_decoder(layout: str, pattern: re.Pattern[str], write: Callable[[datetime], str]) -> Decode:
    def decode(value: Any, where: Where, problems: list[str]) -> Any:
        if type(value) is not str:
            raise TypeMismatch(_found(value), "string")
        try:
            if not pattern.fullmatch(value):
                raise ValueError(value)
            return write(datetime.fromisoformat(value).astimezone(UTC))
        except ValueError:
            wrong, wanted = _unparsed(value)
            raise GoError(f'parsing time "{value}" as "{layout}": cannot parse "{wrong}" as "{wanted}"') from None

    return decode


def _unparsed(text: str) -> tuple[str, str]:
    """Return the rest of a time that Go cannot parse, and what it should have been."""
    whole = _WHOLE_SECONDS.match(text)
    return (text[whole.end() :], ".000000") if whole else (text, "2006")


def _microseconds(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _schema_or(accept: type, list_of_strings: bool = False) -> Callable[[GoTypes], Decode]:
    """Compile one of the unions in JSON schemas: a schema, or a value of the type `accept`."""

    def compile_union(types: GoTypes) -> Decode:
        schema = types.decoder(f"{EXTENSIONS}JSONSchemaProps")

        def decode(value: Any, where: Where, problems: list[str]) -> Any:
            if isinstance(value, dict):
                return schema(value, where, problems)
            if accept is list and isinstance(value, list) and not list_of_strings:
                return [schema(each, (where, index), problems) for index, each in enumerate(value)]
            return value

        return decode

    return compile_union


_UNIONS: Mapping[str, Callable[[GoTypes], Decode]] = {
    f"{EXTENSIONS}JSONSchemaPropsOrArray": _schema_or(list),
    f"{EXTENSIONS}JSONSchemaPropsOrBool": _schema_or(bool),
    f"{EXTENSIONS}JSONSchemaPropsOrStringArray": _schema_or(list, list_of_strings=True),
}
_SPECIAL: Mapping[str, Decode] = {
    f"{COMMON}api.resource.Quantity": _quantity,
    f"{COMMON}util.intstr.IntOrString": _int_or_string,
    f"{COMMON}apis.meta.v1.Time": _time_decoder("2006-01-02T15:04:05Z07:00", _RFC3339, rfc3339),
    f"{COMMON}apis.meta.v1.MicroTime": _time_decoder("2006-01-02T15:04:05.000000Z07:00", _MICROSECONDS, _microseconds),
}
_ZERO: Mapping[str, Any] = {
    f"{COMMON}api.resource.Quantity": "0",
    f"{COMMON}util.intstr.IntOrString": 0,
    f"{COMMON}apis.meta.v1.Time": None,
    f"{COMMON}apis.meta.v1.MicroTime": None,
}
