"""From a request about a resource to its answer: which verb, with which options, shown in which form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Raw

from training_local.apiserver import lists, pods, scale, verbs
from training_local.apiserver.answers import json_answer, list_answer, raw_answer, success, with_owners
from training_local.apiserver.authorization import Rights
from training_local.apiserver.bodies import is_apply, read_object, read_patch
from training_local.apiserver.errors import ApiError, Json, bad_request, method_not_allowed, verb_not_supported
from training_local.apiserver.exec import UPGRADE_REQUIRED, ExecOptions, ExecRequest, Execution, exec_request
from training_local.apiserver.metrics_api import Measurement
from training_local.apiserver.namespaces import finalize
from training_local.apiserver.options import DeleteOptions, ListOptions, Query, WriteOptions
from training_local.apiserver.portforward import Dial, forward_request
from training_local.apiserver.request_info import RequestInfo
from training_local.apiserver.resource_types import Review
from training_local.apiserver.state import State, served
from training_local.apiserver.verbs import Written
from training_local.apiserver.views import View, view
from training_local.apiserver.watch import Live, Watch
from training_operator.kube.transport import Request, Response

Handler = Callable[[RequestInfo, Request], Response | Live]
COLLECTION, OBJECT = "collection", "object"


class AttachedNode(Protocol):
    """What a node does for the requests that an API server passes on to it."""

    def lines(self, pod: Json, options: pods.LogOptions) -> pods.Lines:
        """Return a container's log; raises `ApiError` at once if there is none."""
        ...

    def execution(self, pod: Json, options: ExecOptions) -> Execution:
        """Return how to execute a program; raises `ApiError` at once if the container does not run."""
        ...

    def dial(self, pod: Json) -> Dial:
        """Return how to connect with a pod; raises `ApiError` at once if it does not run."""
        ...

    def usage(self) -> Measurement:
        """Measure everything that runs."""
        ...


class Handlers:
    """Answers requests about resources, by method and by what the path ends in."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.node: AttachedNode | None = None
        self._handlers: Mapping[tuple[str, str], Handler] = {
            ("GET", COLLECTION): self._list_or_watch,
            ("POST", COLLECTION): self._create,
            ("DELETE", COLLECTION): self._delete_collection,
            ("GET", OBJECT): self._get,
            ("PUT", OBJECT): self._update,
            ("PATCH", OBJECT): self._patch,
            ("DELETE", OBJECT): self._delete,
            ("GET", "status"): self._get,
            ("PUT", "status"): self._update,
            ("PATCH", "status"): self._patch,
            ("GET", "scale"): self._get_scale,
            ("PUT", "scale"): self._update_scale,
            ("PATCH", "scale"): self._patch_scale,
            ("GET", "log"): self._log,
            ("GET", "exec"): self._exec,
            ("POST", "exec"): self._exec,
            ("GET", "portforward"): self._forward,
            ("POST", "portforward"): self._forward,
            ("POST", "eviction"): self._evict,
            ("POST", "binding"): self._bind,
            ("PUT", "finalize"): self._finalize,
        }

    def answer(self, target: RequestInfo, request: Request, rights: Rights) -> Response | Live:
        """Answer a request; raises `ApiError`, a 405 for a method that the resource does not have."""
        place = target.subresource or (OBJECT if target.name else COLLECTION)
        handler = self._handlers.get((request.method, place))
        across = place == COLLECTION and target.type.namespaced and not target.namespace
        if target.type.review is not None and (request.method, place) == ("POST", COLLECTION):
            return self._review(target.type.review, target, request, rights)
        if handler is None or target.type.review or (across and request.method != "GET"):
            raise _unsupported(target, request.method)
        if request.method != "GET":
            self._view(target, request)  # rejects an `Accept` that cannot be met, before anything changes
        return handler(target, request)

    def _review(self, review: Review, target: RequestInfo, request: Request, rights: Rights) -> Response:
        WriteOptions.of(request.query, "CreateOptions")
        return json_answer(201, review(read_object(request, target.type), rights))

    def _list_or_watch(self, target: RequestInfo, request: Request) -> Response | Live:
        options = ListOptions.of(request.query)
        if options.watch:
            return Watch(self._state, target, options, self._view(target, request))
        return list_answer(target.type, lists.select(self._state, target, options), self._view(target, request))

    def _get(self, target: RequestInfo, request: Request) -> Response:
        entry, shown = self._state.require(target.type, target.namespace, target.name), self._view(target, request)
        owners = self._state.ledger.shown(entry.uid)
        if shown is None and target.type.conversion is None:
            return raw_answer(200, with_owners(target.type, entry, owners))
        obj = served(target.type, entry)
        if owners:
            obj["metadata"]["managedFields"] = Raw(owners)
        return json_answer(200, shown.one(obj) if shown else obj)

    def _create(self, target: RequestInfo, request: Request) -> Response:
        options = WriteOptions.of(request.query, "CreateOptions", user_agent=request.user_agent)
        obj = read_object(request, target.type)
        return self._written(target, request, verbs.create(self._state, target, obj, options))

    def _update(self, target: RequestInfo, request: Request) -> Response:
        options = WriteOptions.of(request.query, "UpdateOptions", user_agent=request.user_agent)
        obj = read_object(request, target.type)
        return self._written(target, request, verbs.update(self._state, target, obj, options))

    def _patch(self, target: RequestInfo, request: Request) -> Response:
        apply = is_apply(request)
        options = WriteOptions.of(request.query, "PatchOptions", user_agent=request.user_agent, apply=apply)
        body = request.body or b""
        if apply:
            return self._written(target, request, verbs.apply(self._state, target, body, options))
        change, owners = read_patch(request, target.type), b"managedFields" in body
        return self._written(target, request, verbs.patch(self._state, target, change, options, show_owners=owners))

    def _delete(self, target: RequestInfo, request: Request) -> Response:
        deleted = verbs.remove(self._state, target, _delete_options(request))
        if deleted.gone and not target.type.returns_deleted:
            return success(target.type, deleted.obj)
        return self._written(target, request, Written(deleted.obj))

    def _delete_collection(self, target: RequestInfo, request: Request) -> Response:
        options = _delete_options(request)
        deleted = lists.remove_collection(self._state, target, ListOptions.of(request.query), options)
        return list_answer(target.type, deleted, self._view(target, request))

    def _get_scale(self, target: RequestInfo, request: Request) -> Response:
        return json_answer(200, scale.read(self._state, target))

    def _update_scale(self, target: RequestInfo, request: Request) -> Response:
        options = WriteOptions.of(request.query, "UpdateOptions", user_agent=request.user_agent)
        written = scale.replace(self._state, target, read_object(request), options)
        return json_answer(200, written.obj, written.warnings)

    def _patch_scale(self, target: RequestInfo, request: Request) -> Response:
        apply = is_apply(request)
        options = WriteOptions.of(request.query, "PatchOptions", user_agent=request.user_agent, apply=apply)
        if apply:
            scale.reject_apply(self._state, target)
        written = scale.patch(self._state, target, read_patch(request, target.type), options)
        return json_answer(200, written.obj, written.warnings)

    def _log(self, target: RequestInfo, request: Request) -> Response | Live:
        return pods.log(self._state, target, request.query, self.node.lines if self.node else None) or Response(204)

    def _exec(self, target: RequestInfo, request: Request) -> Response:
        self.execution(target, request.query, [request.query["command"]] if "command" in request.query else [])
        raise bad_request(UPGRADE_REQUIRED)

    def execution(self, target: RequestInfo, query: Query, command: Sequence[str]) -> ExecRequest:
        """Read a request to execute `command`, for a connection that can be upgraded; raises `ApiError`."""
        return exec_request(self._state, target, query, command, self.node.execution if self.node else None)

    def _forward(self, target: RequestInfo, request: Request) -> Response:
        self.forwarding(target)
        raise bad_request(UPGRADE_REQUIRED)

    def forwarding(self, target: RequestInfo) -> Dial:
        """Read a request for ports of a pod, for a connection that can be upgraded; raises `ApiError`."""
        return forward_request(self._state, target, self.node.dial if self.node else None)

    def _evict(self, target: RequestInfo, request: Request) -> Response:
        return json_answer(201, pods.evict(self._state, target, read_object(request)))

    def _bind(self, target: RequestInfo, request: Request) -> Response:
        options = WriteOptions.of(request.query, "CreateOptions")
        return json_answer(201, pods.bind(self._state, target, read_object(request), options))

    def _finalize(self, target: RequestInfo, request: Request) -> Response:
        return json_answer(200, finalize(self._state, target.type, target.name, read_object(request)))

    def _view(self, target: RequestInfo, request: Request) -> View | None:
        include = request.query.get("includeObject", "Metadata")
        return view(request.accept, target.type, include, self._state.timestamp())

    def _written(self, target: RequestInfo, request: Request, written: Written) -> Response:
        code, shown = 201 if written.created else 200, self._view(target, request)
        if shown is None and written.raw is not None:
            return raw_answer(code, written.raw, written.warnings)
        return json_answer(code, shown.one(written.obj) if shown else written.obj, written.warnings)


def _delete_options(request: Request) -> DeleteOptions:
    return DeleteOptions.of(request.query, read_object(request) if request.body else {})


def _unsupported(target: RequestInfo, method: str) -> ApiError:
    if not target.type.custom:
        return method_not_allowed()
    verb = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}.get(method, method.lower())
    return verb_not_supported(verb, target.type.group, target.type.plural)
