"""One exception per meaning of an answer of the API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from training_controllers.ports import AlreadyExists, ApiError, Conflict, Forbidden, Invalid, NotFound

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Conflict",
    "Forbidden",
    "Gone",
    "Invalid",
    "NotFound",
    "ServerError",
    "ServerTimeout",
    "TooManyRequests",
    "Unauthorized",
    "error_of",
]


class Gone(ApiError):
    """The resource version or the continue token is too old (410 Gone): relist."""


class Unauthorized(ApiError):
    """Credentials are missing, wrong or expired (401)."""


class TooManyRequests(ApiError):
    """The server did not even begin, because it is busy (429)."""


class ServerError(ApiError):
    """Something is wrong inside or in front of the server (5xx): try again later."""


class ServerTimeout(TimeoutError):
    """The server gave up (504): the write may have been done or not."""


class _Details(msgspec.Struct, gc=False):
    """What a Status is about."""

    name: str = ""


class _Status(msgspec.Struct, gc=False):
    """What is needed of a Status object."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None


_BY_CODE: Final[Mapping[int, type[ApiError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: Invalid,
    429: TooManyRequests,
}
_decode = msgspec.json.Decoder(_Status).decode


def error_of(status: int, body: bytes, headers: Mapping[str, str], request: str) -> ApiError | ServerTimeout:
    """Return the exception for an answer; `request` (verb and resource) stands in for a body without a message.

    `status` 0 means that the code stands in the body only, as in the ERROR event of a watch.
    """
    try:
        said = _decode(body)
    except msgspec.MsgspecError:
        said = _Status()
    code = status or said.code
    message = said.message or f"the API server answered {code} to {request}"
    if code == 504 or said.reason == "Timeout":
        return ServerTimeout(message)
    retry_after = _seconds(headers.get("retry-after"))
    if said.reason == "AlreadyExists":
        return AlreadyExists(message, retry_after=retry_after)
    if said.reason == "Expired":
        return Gone(message, retry_after=retry_after)
    if code == 404:
        return NotFound(message, retry_after=retry_after, name=said.details.name if said.details else "")
    kind = _BY_CODE.get(code, ServerError if code >= 500 else Invalid)
    if kind is Unauthorized:
        message = f"the API server does not accept the credentials ({message.strip()}): {request}"
    return kind(message, retry_after=retry_after)


def _seconds(retry_after: str | None) -> float | None:
    """Read a Retry-After header; Kubernetes only ever sends seconds."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else None
