"""Verbs on resources: requests, answers as records, errors by meaning, retries of what may be sent twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeVar

import msgspec
import structlog

from training_controllers.model.json_patch import changes_nothing
from training_operator.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    ServerError,
    ServerTimeout,
    TooManyRequests,
    error_of,
)
from training_operator.kube.flow import FairGate, Lane
from training_operator.kube.permissions import MissingPermissions
from training_operator.kube.resources import Cacheable, Resource
from training_operator.kube.transport import MERGE_PATCH, Request, Response, Transport

R = TypeVar("R", bound=Cacheable)
T = TypeVar("T")

PAGE: Final = 500
"""Objects per page of a list."""
LIST_SECONDS: Final = 60.0
"""For one page."""
ATTEMPTS: Final = 4
FIRST_DELAY: Final = 0.1
LONGEST_WAIT: Final = 10.0
"""Seconds; a server that asks for more is answered by the caller's back-off."""


class Page(msgspec.Struct, gc=False):
    """One page of a list: the objects as JSON, the version of the whole, and the token of the next page."""

    items: list[msgspec.Raw]
    version: str
    next: str


class _Annotations(msgspec.Struct, gc=False):
    initial_events_end: str = msgspec.field(default="", name="k8s.io/initial-events-end")


class Metadata(msgspec.Struct, gc=False, rename="camel"):
    """What tells whether an object says anything new."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: _Annotations | None = None

    @property
    def ends_initial_events(self) -> bool:
        """Whether it is a bookmark behind the last of all objects."""
        return self.annotations is not None and self.annotations.initial_events_end == "true"


class _Object(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


class _Event(msgspec.Struct, gc=False):
    type: str
    object: _Object


class _Line(msgspec.Struct, gc=False):
    object: msgspec.Raw


class WatchEvent(msgspec.Struct, gc=False):
    """One line of a watch; most say nothing new, so only metadata is decoded."""

    type: str
    metadata: Metadata
    line: bytes

    @property
    def object(self) -> msgspec.Raw:
        """The object as JSON."""
        return _decode_line(self.line).object


class Observer(Protocol):
    """Counts every answer; `code` is 0 if there was none."""

    def __call__(self, method: str, code: int) -> None:
        """Note one attempt."""
        ...


class Fence(Protocol):
    """Says for how long writes may be sent."""

    def certain(self) -> bool:
        """Whether a write may leave now."""
        ...

    async def opened(self) -> None:
        """Wait until a write may leave."""
        ...


class _ListMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, gc=False):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct, gc=False):
    kind: str = ""
    status: Any = None


_decode_list = msgspec.json.Decoder(_List).decode
_decode_event = msgspec.json.Decoder(_Event).decode
_decode_object = msgspec.json.Decoder(_Object).decode
_decode_line = msgspec.json.Decoder(_Line).decode
_decode_kind = msgspec.json.Decoder(_Kind).decode
_encode = msgspec.json.Encoder().encode


class KubeClient:
    """Speaks with one API server: every request passes the gate, every rejection is an `ApiError` of its meaning.

    An attempt without an answer (`OSError`, 504) is repeated where the request may be sent twice: reads, deletions (by
    uid), creations (names are deterministic) and status patches (by version). A rejection for overload is repeated
    after the time that the server asks for, any other one is not. Behind a `fence` each attempt to write waits until it
    may leave, and is dropped if it may not any more when there is a connection.
    """

    def __init__(
        self,
        transport: Transport,
        gate: FairGate,
        rng: random.Random,
        observe: Observer = lambda method, code: None,
        fence: Fence | None = None,
    ) -> None:
        self._transport = transport
        self._gate = gate
        self._rng = rng
        self._observe = observe
        self._fence = fence
        self.permissions = MissingPermissions(structlog.get_logger())
        """Logs each missing permission once, whichever request needs it."""

    async def get(self, resource: Resource[R], namespace: str, name: str, *, flow: str = "") -> R:
        """Return the object as the server has it now."""
        request = Request("GET", resource.path(namespace, name))
        answer = await self._send(request, f"get {resource.qualified}", tenant=namespace, flow=flow)
        return resource.decode(answer.body)

    async def get_json(self, path: str) -> Any:
        """Return the decoded answer to a GET of any path."""
        return msgspec.json.decode((await self._send(Request("GET", path), f"get {path}")).body)

    async def list_page(
        self, resource: Resource[Any], namespace: str = "", *, selector: str = "", token: str = "", limit: int = PAGE
    ) -> Page:
        """Return one page of a consistent list; `namespace` "" is everywhere."""
        query = {"limit": str(limit)}
        if selector:
            query["labelSelector"] = selector
        if token:
            query["continue"] = token
        request = Request("GET", resource.path(namespace), query, timeout=LIST_SECONDS)
        answer = _decode_list((await self._send(request, f"list {resource.qualified}")).body)
        return Page(answer.items or [], answer.metadata.resource_version, answer.metadata.continue_)

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource[Any],
        namespace: str = "",
        *,
        version: str,
        selector: str = "",
        seconds: int = 300,
        initial: bool = False,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        """Watch changes after `version`, with bookmarks; with `initial`, first all objects and a bookmark.

        The server ends the watch after `seconds`. An ERROR line is raised as the error of its code.
        """
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        if version:
            query["resourceVersion"] = version
        if initial:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        if selector:
            query["labelSelector"] = selector
        request = Request("GET", resource.path(namespace), query, timeout=seconds + 15.0)
        what = f"watch {resource.qualified}"
        async with self._transport.stream(request) as stream:
            self._observe("GET", stream.status)
            if stream.status != 200:
                raise error_of(stream.status, stream.body, stream.headers, what)
            yield _events(stream.lines, what)

    async def create(
        self,
        resource: Resource[R],
        namespace: str,
        body: Mapping[str, Any],
        *,
        flow: str = "",
        lane: Lane = Lane.WORK,
        readable: bool = True,
    ) -> R:
        """Create the object. One that appeared after an attempt without answer is ours if its controller is.

        Objects that are not `readable` are not checked: then that one raises `AlreadyExists`, too.
        """
        request = Request("POST", resource.path(namespace))
        doubt = _Doubt()
        try:
            answer = await self._send(
                request,
                f"create {resource.qualified}",
                content=body,
                tenant=namespace,
                flow=flow,
                lane=lane,
                doubt=doubt,
            )
        except AlreadyExists:
            if not doubt or not readable:
                raise
            found = await self.get(resource, namespace, body["metadata"]["name"], flow=flow)
            if found.owner is None or found.owner.uid != _controller_uid(body):
                raise
            return found
        return resource.decode(answer.body)

    async def replace(
        self, resource: Resource[R], namespace: str, name: str, body: Mapping[str, Any], *, flow: str = ""
    ) -> R:
        """Replace the object; `body` states its version, and its uid if that matters."""
        request = Request("PUT", resource.path(namespace, name), body=_encode(body))
        answer = await self._send(request, f"update {resource.qualified}", tenant=namespace, flow=flow)
        return resource.decode(answer.body)

    async def patch(
        self,
        resource: Resource[R],
        namespace: str,
        name: str,
        patch: Mapping[str, Any],
        *,
        subresource: str = "",
        flow: str = "",
        lane: Lane = Lane.WORK,
    ) -> R:
        """Send a merge patch and return what is stored then.

        A conflict after an attempt without answer is a success if the stored status is what the patch asks for.
        """
        path = resource.path(namespace, name, subresource)
        what = f"patch {resource.qualified}" + (f"/{subresource}" if subresource else "")
        request = Request("PATCH", path, body=_encode(patch), content_type=MERGE_PATCH)
        doubt = _Doubt()
        try:
            answer = await self._send(request, what, tenant=namespace, flow=flow, lane=lane, doubt=doubt)
            return resource.decode(answer.body)
        except Conflict:
            if not doubt:
                raise
            read = Request("GET", resource.path(namespace, name))
            stored = (await self._send(read, what, tenant=namespace, flow=flow, lane=lane)).body
            if not changes_nothing(_decode_kind(stored).status, patch.get("status")):
                raise
            return resource.decode(stored)

    async def delete(
        self,
        resource: Resource[R],
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace: int | None = None,
        flow: str = "",
        lane: Lane = Lane.WORK,
    ) -> R | None:
        """Delete the object, if it still has this uid, after `grace` seconds where it is not to say itself.

        Returns the object if the server answers with one (it may be terminating still), else None.
        """
        options: dict[str, Any] = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        request = Request("DELETE", resource.path(namespace, name), body=_encode(options))
        answer = await self._send(request, f"delete {resource.qualified}", tenant=namespace, flow=flow, lane=lane)
        return None if _decode_kind(answer.body).kind == "Status" else resource.decode(answer.body)

    async def delete_listed(
        self, resource: Resource[Any], namespace: str, *, selector: str, version: str, flow: str = ""
    ) -> None:
        """Delete, by one request, the objects that a list by `selector` shows as of `version`.

        Raises `Gone` if the server does not know that version any more, and `Forbidden` without logging it. It is not
        sent again: by then names of that list may be those of other objects.
        """
        query = {"labelSelector": selector, "resourceVersion": version, "resourceVersionMatch": "Exact"}
        options = _encode({"propagationPolicy": "Background"})
        request = Request("DELETE", resource.path(namespace), query, body=options, timeout=LIST_SECONDS)
        what = f"delete collection {resource.qualified}"
        await self._send(request, what, tenant=namespace, flow=flow, lane=Lane.CLEANUP, once=True)

    async def _send(
        self,
        request: Request,
        what: str,
        *,
        content: Mapping[str, Any] | None = None,
        tenant: str = "",
        flow: str = "",
        lane: Lane = Lane.WORK,
        doubt: _Doubt | None = None,
        once: bool = False,
    ) -> Response:
        """Send a request until it has an answer; `doubt` notes attempts that may have been carried out.

        `content` is written as its body when it is its turn: what many requests share is not copied while they wait.
        """
        delay = FIRST_DELAY
        for left in reversed(range(1 if once else ATTEMPTS)):
            try:
                await self._gate.enter(flow, tenant=tenant, lane=lane)
                try:
                    return await self._attempt(request, what, content, quiet=once)
                finally:
                    self._gate.leave(lane)
            except OSError:
                if doubt is not None:
                    doubt.raised = True
                if not left:
                    raise
                wait = delay * (1 + self._rng.random())
            except ApiError as error:
                if doubt is not None and isinstance(error, ServerError):
                    doubt.raised = True
                if not left or error.retry_after is None or error.retry_after > LONGEST_WAIT:
                    raise
                wait = error.retry_after + delay * self._rng.random()
            await asyncio.sleep(wait)
            delay *= 2
        raise AssertionError("every attempt returns or raises")

    async def _attempt(
        self, request: Request, what: str, content: Mapping[str, Any] | None, *, quiet: bool = False
    ) -> Response:
        limit, clock = self._gate.limit, asyncio.get_running_loop().time
        allowed = None
        if self._fence is not None and request.method != "GET":
            await self._fence.opened()
            allowed = self._fence.certain
        if content is not None or allowed is not None:
            body = request.body if content is None else _encode(content)
            request = msgspec.structs.replace(request, body=body, allowed=allowed)
        begun, beside = clock(), self._gate.in_flight - 1
        try:
            answer = await self._transport.request(request)
        except OSError:
            self._observe(request.method, 0)
            limit.overloaded()
            raise
        self._observe(request.method, answer.status)
        if answer.status < 300:
            limit.succeeded(what, clock() - begun, beside)
            return answer
        error = error_of(answer.status, answer.body, answer.headers, what)
        if isinstance(error, TooManyRequests | ServerTimeout) or answer.status == 503:
            limit.overloaded()
        else:
            limit.succeeded(what, clock() - begun, beside)
        if isinstance(error, Forbidden) and not quiet:
            self.permissions.denied(str(error))
        raise error


class _Doubt:
    """Whether an attempt had no answer, so that it may have been carried out."""

    raised = False

    def __bool__(self) -> bool:
        return self.raised


async def _events(lines: AsyncIterator[bytes], what: str) -> AsyncIterator[WatchEvent]:
    async for line in lines:
        decoded = _decode_event(line)
        event = WatchEvent(decoded.type, decoded.object.metadata, line)
        if event.type == "ERROR":
            raise error_of(0, bytes(event.object), {}, what)
        yield event


def metadata_of(raw: bytes) -> Metadata:
    """Decode the metadata of an object."""
    return _decode_object(raw).metadata


def _controller_uid(body: Mapping[str, Any]) -> str | None:
    owners = body["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners if each.get("controller")), None)
