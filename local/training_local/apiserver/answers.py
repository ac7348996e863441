"""Writing what a request is answered with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from training_local.apiserver.errors import ApiError, Json
from training_local.apiserver.lists import Listing
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.state import served
from training_local.apiserver.storage import Entry, encode
from training_local.apiserver.views import View
from training_operator.kube.transport import JSON, Response


def json_answer(code: int, obj: Mapping[str, Any], warnings: Sequence[str] = ()) -> Response:
    """Answer with an object."""
    return raw_answer(code, encode(obj), warnings)


def raw_answer(code: int, body: bytes, warnings: Sequence[str] = ()) -> Response:
    """Answer with an object that is JSON already; warnings go into a header (RFC 7234, code 299)."""
    headers = {"content-type": JSON}
    if warnings:
        headers["warning"] = ", ".join(f"299 - {msgspec.json.encode(said).decode()}" for said in warnings)
    return Response(code, body, headers)


def text_answer(code: int, text: str) -> Response:
    """Answer with a line for people."""
    return Response(code, text.encode(), {"content-type": "text/plain; charset=utf-8"})


def failure(error: ApiError) -> Response:
    """Answer with the Status of an error, and the header `Retry-After` if it has one."""
    answer = json_answer(error.code, error.status())
    retry = (error.details or {}).get("retryAfterSeconds")
    return Response(answer.status, answer.body, {**answer.headers, "retry-after": str(retry)}) if retry else answer


def success(type: ResourceType, obj: Json) -> Response:
    """Answer that an object is deleted, by a Status."""
    meta, group = obj["metadata"], {"group": type.group} if type.group else {}
    details = {"name": meta["name"], **group, "kind": type.plural, "uid": meta["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    return json_answer(200, status)


def list_answer(type: ResourceType, listing: Listing, shown: View | None) -> Response:
    """Answer with a page of a list; without a view the stored JSON is put together as it is."""
    meta: Json = {"resourceVersion": str(listing.version)}
    if listing.resume or type.custom:
        meta["continue"] = listing.resume
    if listing.remaining:
        meta["remainingItemCount"] = listing.remaining
    if shown is not None:
        return json_answer(200, shown.many([served(type, entry) for entry in listing.entries], meta))
    head = encode({"kind": type.lists_kind, "apiVersion": type.api_version, "metadata": meta})
    items = b",".join(_item(type, entry) for entry in listing.entries)
    return raw_answer(200, head[:-1] + b',"items":[' + items + b"]}")


def with_owners(type: ResourceType, entry: Entry, owners: bytes) -> bytes:
    """Return an object's JSON with `metadata.managedFields`, which is JSON already; `Entry.of` puts metadata third."""
    head = f'{{"kind":"{type.kind}","apiVersion":"{type.api_version}","metadata":{{'.encode()
    if not owners or not entry.raw.startswith(head):
        return entry.raw
    return b'%b"managedFields":%b,%b' % (head, owners, entry.raw[len(head) :])


def _item(type: ResourceType, entry: Entry) -> bytes:
    """Return an object as it stands in a list: builtin types leave out kind and version there."""
    raw = entry.raw if type.conversion is None else encode(served(type, entry))
    if type.custom:
        return raw
    head = f'{{"kind":"{type.kind}","apiVersion":"{type.api_version}",'.encode()
    return b"{" + raw[len(head) :] if raw.startswith(head) else raw
