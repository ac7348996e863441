"""Reading what a request carries: an object, or a patch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from training_local.apiserver.errors import ApiError, Json, bad_request, json_kind, unsupported_media_type
from training_local.apiserver.ownership.apply import APPLY_PATCH
from training_local.apiserver.patch import apply_patch, require_patch_type
from training_local.apiserver.protobuf import PROTOBUF, BadProtobuf, decode_object
from training_local.apiserver.resource_types import ResourceType
from training_operator.kube.transport import JSON, Request

_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SHOWN = 64
"""Characters of an unreadable body that a message repeats."""


def read_object(request: Request, type: ResourceType | None = None) -> Json:
    """Return the body as an object, of `type` if it does not say so itself; raises a 400 or 415 if it is none."""
    if _media(request) == PROTOBUF and (type is None or not type.custom):
        return _read_protobuf(request.body or b"", type)
    if _media(request) not in (JSON, ""):
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    body = request.body or b""
    try:
        obj: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unrecognized(type, f"couldn't get version/kind; json parse error: {error}") from error
    if not isinstance(obj, dict):
        said = f"json: cannot unmarshal {json_kind(obj)} into Go value of type {_TYPE_META}"
        raise _unrecognized(type, f"couldn't get version/kind; json parse error: {said} ({body.hex()[:_SHOWN]})")
    if type is not None and type.custom and "kind" not in obj:
        text = body.decode()
        short = f"{text[:30]} ..." if len(text) > 30 else text
        raise _unrecognized(type, f"Object 'Kind' is missing in '{text}' ({short})")
    return obj


def _read_protobuf(body: bytes, type: ResourceType | None) -> Json:
    try:
        return decode_object(body)
    except BadProtobuf as error:
        raise _unrecognized(type, str(error)) from error


def is_apply(request: Request) -> bool:
    """Return whether a patch is a configuration to apply."""
    return _media(request) == APPLY_PATCH


def read_patch(request: Request, type: ResourceType) -> Callable[[Json], Json]:
    """Return the patch as a function from the old object to the new one; raises a 415 for an unknown type of patch."""
    media = _media(request)
    require_patch_type(media, type)

    def change(obj: Json) -> Json:
        return apply_patch(media, obj, request.body or b"", type)

    return change


def _media(request: Request) -> str:
    return request.content_type.partition(";")[0].strip()


def _unrecognized(type: ResourceType | None, why: str) -> ApiError:
    expected = f" (must be of type {type.kind})" if type else ""
    return bad_request(f"the object provided is unrecognized{expected}: {why}")
