"""The API server: one request in, one answer out; watches and logs go on as live answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

import msgspec
from training_operator.kube.transport import JSON, Request, Response

from training_local.apiserver import pods, scale, verbs
from training_local.apiserver.background import Background
from training_local.apiserver.catalog import Catalog
from training_local.apiserver.custom_resources import DefinitionController
from training_local.apiserver.errors import (
    ApiError,
    Json,
    bad_request,
    method_not_supported,
    too_large,
    unsupported_media_type,
)
from training_local.apiserver.gc import GarbageCollector
from training_local.apiserver.namespaces import NAMESPACES, SYSTEM, NamespaceController, finalize, new_namespace
from training_local.apiserver.options import DeleteOptions, ListOptions, WriteOptions
from training_local.apiserver.patch import apply_patch
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.routes import route
from training_local.apiserver.state import State, served
from training_local.apiserver.storage import Entry, encode
from training_local.apiserver.verbs import Target, Written
from training_local.apiserver.views import View, view
from training_local.apiserver.watch import Live, Watch

BODY_LIMIT = 3 * 1024 * 1024
"""Bytes of a request, as the real server has it."""
_PROBES = ("/healthz", "/livez", "/readyz")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ApiServer:
    """A Kubernetes API server in memory."""

    def __init__(
        self,
        types: Iterable[ResourceType],
        types_of_definition: Callable[[Json], Sequence[ResourceType]],
        *,
        now: Callable[[], datetime] = _utc_now,
        rng: Random | None = None,
        logs: pods.LogSource | None = None,
        authority: str = "",
    ) -> None:
        """Serve `types`, and what CustomResourceDefinitions add to them; `authority` is the PEM of the server's CA."""
        self.state = State(Catalog(types), now, rng or Random())
        self.logs = logs or pods.NoLogs()
        self._background = Background(
            self.state.storage,
            [
                DefinitionController(self.state, types_of_definition),
                NamespaceController(self.state, authority),
                GarbageCollector(self.state),
            ],
        )
        for name in SYSTEM:
            self.state.storage.put(NAMESPACES, new_namespace(self.state, name))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ApiServer]:
        """Do the background work (garbage collection, namespaces, definitions) inside the context."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._background.run(), name="api server background")
            try:
                yield self
            finally:
                task.cancel()

    def handle(self, request: Request) -> Response | Live:
        """Answer a request; every refusal is a Status."""
        try:
            return self._answer(request)
        except ApiError as error:
            return refusal(error)

    def _answer(self, request: Request) -> Response | Live:
        if len(request.body or b"") > BODY_LIMIT:
            raise too_large(BODY_LIMIT)
        if request.path in _PROBES:
            return Response(200, b"ok", {"content-type": "text/plain; charset=utf-8"})
        target = route(request.path, self.state.catalog)
        if target is None:
            return self._document(request) or _no_page()
        if target.subresource:
            return self._subresource(target, request)
        match request.method, bool(target.name):
            case "GET", True:
                entry = self.state.require(target.type, target.namespace, target.name)
                return self._object(target, request, entry=entry)
            case "GET", False:
                return self._list_or_watch(target, request)
            case "POST", False if target.namespace or not target.type.namespaced:
                options = WriteOptions.of(request.query, "CreateOptions")
                return self._written(target, request, verbs.create(self.state, target, _body(request), options))
            case "PUT", True:
                options = WriteOptions.of(request.query, "UpdateOptions")
                return self._written(target, request, verbs.update(self.state, target, _body(request), options))
            case "PATCH", True:
                options = WriteOptions.of(request.query, "PatchOptions")
                return self._written(target, request, verbs.patch(self.state, target, _patch(target, request), options))
            case "DELETE", _ if target.namespace or not target.type.namespaced:
                return self._delete(target, request)
        raise method_not_supported()

    def _document(self, request: Request) -> Response | None:
        """Answer what describes the API itself."""
        try:
            from training_local.apiserver import discovery, openapi
        except ImportError:
            return None

        if request.method != "GET":
            return None
        types = tuple(self.state.catalog)
        if (schema := openapi.document(request.path, request.accept, types)) is not None:
            return Response(200, schema[0], {"content-type": schema[1]})
        if (found := discovery.document(request.path, request.accept, types)) is not None:
            return Response(200, encode(found[0]), {"content-type": found[1]})
        return None

    def _subresource(self, target: Target, request: Request) -> Response | Live:
        match target.subresource, request.method:
            case "status", "GET":
                entry = self.state.require(target.type, target.namespace, target.name)
                return self._object(target, request, entry=entry)
            case "status", "PUT":
                options = WriteOptions.of(request.query, "UpdateOptions")
                return self._written(target, request, verbs.update(self.state, target, _body(request), options))
            case "status", "PATCH":
                options = WriteOptions.of(request.query, "PatchOptions")
                return self._written(target, request, verbs.patch(self.state, target, _patch(target, request), options))
            case "scale", _ if target.type.scale is not None:
                return self._scale(target, request)
            case "log", "GET":
                return pods.log(self.state, target, request.query, self.logs)
            case "eviction", "POST":
                return _json(201, pods.evict(self.state, target, _body(request)))
            case "binding", "POST":
                options = WriteOptions.of(request.query, "CreateOptions")
                return _json(201, pods.bind(self.state, target, _body(request), options))
            case "finalize", "PUT":
                return _json(200, finalize(self.state, target.type, target.name, _body(request)))
        raise method_not_supported()

    def _scale(self, target: Target, request: Request) -> Response:
        match request.method:
            case "GET":
                return _json(200, scale.read(self.state, target))
            case "PUT":
                wanted = _body(request)
                options = WriteOptions.of(request.query, "UpdateOptions")
                written = scale.write(self.state, target, lambda _: wanted, options)
            case "PATCH":
                options = WriteOptions.of(request.query, "PatchOptions")
                written = scale.write(self.state, target, _patch(target, request), options)
            case _:
                raise method_not_supported()
        return _json(200, written.obj, written.warnings)

    def _list_or_watch(self, target: Target, request: Request) -> Response | Live:
        options = ListOptions.of(request.query)
        shown = self._view(target, request)
        if options.watch:
            return Watch(self.state, target, options, shown)
        listing = verbs.select(self.state, target, options)
        meta: Json = {"resourceVersion": str(listing.version)}
        if listing.resume:
            meta["continue"] = listing.resume
        if listing.remaining:
            meta["remainingItemCount"] = listing.remaining
        if shown is not None:
            return _json(200, shown.many([served(target.type, entry) for entry in listing.entries], meta))
        return _raw(200, _list_of(target.type, (_item(target.type, entry) for entry in listing.entries), meta))

    def _delete(self, target: Target, request: Request) -> Response:
        options = DeleteOptions.of(request.query, _body(request) if request.body else {})
        if not target.name:
            listing = ListOptions.of(request.query)
            items = [encode(obj) for obj in verbs.remove_collection(self.state, target, listing, options)]
            meta = {"resourceVersion": str(self.state.storage.version)}
            return _raw(200, _list_of(target.type, items, meta))
        deleted = verbs.remove(self.state, target, options)
        if deleted.gone and not target.type.returns_deleted:
            return _json(200, _success(target.type, deleted.obj))
        shown = self._view(target, request)
        return _json(200, shown.one(deleted.obj) if shown else deleted.obj)

    def _view(self, target: Target, request: Request) -> View | None:
        include = request.query.get("includeObject", "Metadata")
        return view(request.accept, target.type, include, self.state.timestamp())

    def _object(self, target: Target, request: Request, *, entry: Entry) -> Response:
        shown = self._view(target, request)
        if shown is None and target.type.conversion is None:
            return _raw(200, entry.raw)
        obj = served(target.type, entry)
        return _json(200, shown.one(obj) if shown else obj)

    def _written(self, target: Target, request: Request, written: Written) -> Response:
        code, shown = 201 if written.created else 200, self._view(target, request)
        if shown is None and written.raw is not None:
            return _raw(code, written.raw, written.warnings)
        return _json(code, shown.one(written.obj) if shown else written.obj, written.warnings)


def _no_page() -> Response:
    return Response(404, b"404 page not found\n", {"content-type": "text/plain; charset=utf-8"})


def _patch(target: Target, request: Request) -> Callable[[Json], Json]:
    content_type = request.content_type.partition(";")[0].strip()

    def change(obj: Json) -> Json:
        return apply_patch(content_type, obj, request.body or b"", target.type)

    return change


def _body(request: Request) -> Json:
    """Return the body as an object; raises a 400 or 415 if it is none."""
    if request.content_type.partition(";")[0].strip() not in (JSON, ""):
        raise unsupported_media_type(
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        )
    try:
        body: Any = msgspec.json.decode(request.body or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = f"couldn't get version/kind; json parse error: {error}"
        raise bad_request(f"the object provided is unrecognized (must be of type Status): {said}") from error
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error: the body must be a JSON object")
    return body


def _list_of(type: ResourceType, items: Iterable[bytes], meta: Json) -> bytes:
    head = encode({"kind": type.lists_kind, "apiVersion": type.api_version, "metadata": meta})
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"


def _item(type: ResourceType, entry: Entry) -> bytes:
    """Return an object as it stands in a list: builtin types leave out kind and version there."""
    raw = entry.raw if type.conversion is None else encode(served(type, entry))
    if type.custom:
        return raw
    head = f'{{"kind":"{type.kind}","apiVersion":"{type.api_version}",'.encode()
    return b"{" + raw[len(head) :] if raw.startswith(head) else raw


def _success(type: ResourceType, obj: Json) -> Json:
    meta = obj["metadata"]
    details = {
        "name": meta["name"],
        **({"group": type.group} if type.group else {}),
        "kind": type.plural,
        "uid": meta["uid"],
    }
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def refusal(error: ApiError) -> Response:
    answer = _json(error.code, error.status())
    retry = (error.details or {}).get("retryAfterSeconds")
    return Response(answer.status, answer.body, {**answer.headers, "retry-after": str(retry)}) if retry else answer


def _json(code: int, obj: Mapping[str, Any], warnings: Sequence[str] = ()) -> Response:
    return _raw(code, encode(obj), warnings)


def _raw(code: int, body: bytes, warnings: Sequence[str] = ()) -> Response:
    headers = {"content-type": JSON}
    if warnings:
        headers["warning"] = ", ".join(f"299 - {msgspec.json.encode(said).decode()}" for said in warnings)
    return Response(code, body, headers)
