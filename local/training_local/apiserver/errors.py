"""Errors of the API server, as the Status objects of a real one (Kubernetes API conventions)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with an object: a machine-readable reason, a sentence, and the path of the field."""

    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def as_json(self) -> Json:
        """Return the cause as it stands in `details.causes` of a Status."""
        return {"reason": self.reason, "message": self.message, "field": self.field}


def required(field: str, detail: str = "") -> Cause:
    """Return the cause for a value that must be given."""
    return Cause("FieldValueRequired", _with_detail("Required value", detail), field)


def invalid(field: str, value: object, detail: str) -> Cause:
    """Return the cause for a value that is malformed or out of range."""
    return Cause("FieldValueInvalid", _with_detail(f"Invalid value: {quoted(value)}", detail), field)


def type_invalid(field: str, value: object, detail: str) -> Cause:
    """Return the cause for a value of the wrong JSON type."""
    return Cause("FieldValueTypeInvalid", _with_detail(f"Invalid value: {quoted(value)}", detail), field)


def not_supported(field: str, value: object, supported: Iterable[str]) -> Cause:
    """Return the cause for a value outside an enumeration, whose values are listed in the order given."""
    listed = ", ".join(quoted(each) for each in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {quoted(value)}: supported values: {listed}", field)


def forbidden_value(field: str, detail: str) -> Cause:
    """Return the cause for a field that may not be set, or not be changed."""
    return Cause("FieldValueForbidden", _with_detail("Forbidden", detail), field)


def duplicate(field: str, value: object) -> Cause:
    """Return the cause for a value that may stand in a list only once."""
    return Cause("FieldValueDuplicate", f"Duplicate value: {quoted(value)}", field)


def not_found_value(field: str, value: object) -> Cause:
    """Return the cause for a reference to something that does not exist."""
    return Cause("FieldValueNotFound", f"Not found: {quoted(value)}", field)


def quoted(value: object) -> str:
    """Return `value` as the real server prints bad values: JSON, and null for an absent one."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_kind(value: object) -> str:
    """Return what Go's JSON decoder calls a value when it complains about its type."""
    kinds = {dict: "object", list: "array", str: "string", bool: "bool"}
    return kinds.get(type(value), "number")


def _with_detail(body: str, detail: str) -> str:
    return f"{body}: {detail}" if detail else body


class ApiError(Exception):
    """An error with HTTP code, reason, message and details; `status()` is the body to send."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata: Json = {}
        """Metadata of the Status; a 410 of a list carries a token to go on with."""

    def status(self) -> Json:
        """Return the Status object."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = dict(self.details)
        status["code"] = self.code
        return status


def qualified(group: str, resource: str) -> str:
    """Return `plural.group`, or the plural alone in the core group."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str = "", causes: Iterable[Cause] = ()) -> Json:
    details: Json = {key: value for key, value in (("name", name), ("group", group), ("kind", kind)) if value}
    if listed := [cause.as_json() for cause in causes]:
        details["causes"] = listed
    return details


def bad_request(message: str) -> ApiError:
    """Return the error for a request that cannot be understood."""
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    """Return the error for a request without valid credentials."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(group: str, plural: str, name: str, why: str, causes: Iterable[Cause] = ()) -> ApiError:
    """Return the error of an admission rule."""
    message = f'{qualified(group, plural)} "{name}" is forbidden: {why}'
    return ApiError(403, "Forbidden", message, _details(group, plural, name, causes))


def denied(group: str, plural: str, name: str, why: str) -> ApiError:
    """Return the error for what a user may not do; `plural` is empty where the request is about no resource."""
    what = " ".join(part for part in (qualified(group, plural), f'"{name}"' if name else "") if part)
    message = f"{what} is forbidden: {why}" if plural else f"forbidden: {why}"
    return ApiError(403, "Forbidden", message, _details(group, plural, name))


def not_found(group: str, plural: str, name: str) -> ApiError:
    """Return the error for an object that does not exist."""
    return ApiError(404, "NotFound", f'{qualified(group, plural)} "{name}" not found', _details(group, plural, name))


def already_exists(group: str, plural: str, name: str) -> ApiError:
    """Return the error for the creation of an object under a name that is taken."""
    message = f'{qualified(group, plural)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    """Return the error for a write that rests on an older state than the stored one."""
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(group, plural, name))


def invalid_object(group: str, kind: str, name: str, causes: Iterable[Cause]) -> ApiError:
    """Return the error for an object that breaks rules of its type, with every cause."""
    causes = tuple(causes)
    sentences = tuple(dict.fromkeys(str(cause) for cause in causes))
    said = sentences[0] if len(sentences) == 1 else f"[{', '.join(sentences)}]"
    subject = qualified(group, kind)
    return ApiError(422, "Invalid", f'{subject} "{name}" is invalid: {said}', _details(group, kind, name, causes))


def expired(message: str) -> ApiError:
    """Return the error for a resource version that the server no longer knows."""
    return ApiError(410, "Expired", message)


def method_not_allowed() -> ApiError:
    """Return the error for an HTTP method where the path does not have it."""
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def verb_not_supported(verb: str, group: str, plural: str) -> ApiError:
    """Return the error for a verb that a custom resource does not have."""
    message = f'{verb} is not supported on resources of kind "{qualified(group, plural)}"'
    return ApiError(405, "MethodNotAllowed", message, _details(group, plural))


def no_such_resource() -> ApiError:
    """Return the error for a path below an API that is served, but without this resource."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def internal(message: str) -> ApiError:
    """Return the error for what the server cannot do."""
    details = {"causes": [{"message": message}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", details)


def unsupported_media_type(message: str) -> ApiError:
    """Return the error for a body in a format that the server does not read."""
    return ApiError(415, "UnsupportedMediaType", message)


def not_acceptable(message: str) -> ApiError:
    """Return the error for an answer in a format that the server does not write."""
    return ApiError(406, "NotAcceptable", message)


def too_large(limit: int) -> ApiError:
    """Return the error for a request body above `limit` bytes."""
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def not_stored(why: str) -> ApiError:
    """Return the error for a write that could not be brought to disk; nothing has changed."""
    return ApiError(507, "InsufficientStorage", f"the change could not be stored: {why}", {})
