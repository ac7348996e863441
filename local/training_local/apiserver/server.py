"""The API server: one request in, one answer out; watches and logs go on as live answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from random import Random

from training_local.apiserver import discovery, metrics_api, openapi
from training_local.apiserver.answers import failure, json_answer, text_answer
from training_local.apiserver.attributes import attributes
from training_local.apiserver.authorization import GROUP, Rights
from training_local.apiserver.catalog import Catalog
from training_local.apiserver.controllers import ControllerManager
from training_local.apiserver.custom_resources import CrdController
from training_local.apiserver.deletion import finish_deletions
from training_local.apiserver.errors import ApiError, Json, bad_request, no_such_resource, too_large
from training_local.apiserver.exec import ExecRequest
from training_local.apiserver.gc import GarbageCollector
from training_local.apiserver.handlers import AttachedNode, Handlers
from training_local.apiserver.journal import Journal
from training_local.apiserver.namespaces import NAMESPACES, SYSTEM, NamespaceController, new_namespace
from training_local.apiserver.options import Query
from training_local.apiserver.portforward import Dial
from training_local.apiserver.resource_types import ResourceType
from training_local.apiserver.routes import route
from training_local.apiserver.state import State
from training_local.apiserver.users import OWNER, ServiceAccount, User
from training_local.apiserver.watch import Live
from training_operator.kube.transport import Request, Response

BODY_LIMIT = 3 * 1024 * 1024
"""Bytes of a request, as the real server has it."""
_NO_ATTACH = "this server has no attach: `kubectl logs -f` shows the output, `kubectl exec -it` starts a shell"
_PROBES = ("/healthz", "/livez", "/readyz")


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ApiServer:
    """A Kubernetes API server in memory."""

    def __init__(
        self,
        types: Iterable[ResourceType],
        types_of_crd: Callable[[Json], Sequence[ResourceType]],
        *,
        now: Callable[[], datetime] = _utc_now,
        rng: Random | None = None,
        authority: str = "",
        journal: Journal | None = None,
    ) -> None:
        """Serve `types`, and what CustomResourceDefinitions add to them; `authority` is the PEM of the server's CA.

        With a `journal` the server goes on where the last one with it ended, and keeps every write in it.
        """
        self.state = State(Catalog(types), now, rng or Random())
        self._handlers = Handlers(self.state)
        crds = CrdController(self.state, types_of_crd)
        self._controllers = ControllerManager(
            self.state.storage,
            [crds, NamespaceController(self.state, authority), GarbageCollector(self.state)],
        )
        if journal is not None:
            journal.resume(self.state.storage)
            self.state.ledger.restore(journal.notes())
            crds.serve_all()
            finish_deletions(self.state)
        for name in SYSTEM:
            if self.state.storage.collection(NAMESPACES).get("", name) is None:
                self.state.storage.put(NAMESPACES, new_namespace(self.state, name))

    def attach_node(self, node: AttachedNode) -> None:
        """Pass on to `node` what is asked of pods that run; it needs this server before it exists."""
        self._handlers.node = node

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ApiServer]:
        """Run the controllers (garbage collection, namespaces, CRDs) inside the context."""
        failure: Exception | None = None
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._controllers.run(), name="api server controllers")
            try:
                yield self
            except Exception as error:
                failure = error  # raised as it is, not as a group of one
            finally:
                task.cancel()
        if failure is not None:
            raise failure

    def handle(self, request: Request, user: User = OWNER) -> Response | Live:
        """Answer a request of a user; every error is a Status."""
        try:
            return self._answer(request, Rights(user, self._stored))
        except ApiError as error:
            return failure(error)

    def _stored(self, plural: str, namespace: str) -> list[Json]:
        """Return the roles or bindings of a namespace, or of the cluster."""
        return [entry.object() for entry in self.state.storage.collection((GROUP, plural)).entries(namespace)]

    def has(self, account: ServiceAccount) -> bool:
        """Return whether a service account exists."""
        entry = self.state.storage.collection(("", "serviceaccounts")).get(account.namespace, account.name)
        return entry is not None and entry.uid == account.uid

    def upgrade(self, path: str, query: Query, command: Sequence[str], user: User = OWNER) -> ExecRequest | Dial | None:
        """Read a user's request to execute a program in a pod, or to reach its ports; None if it is about neither."""
        target = route(path, self.state.catalog)
        if target is None or target.subresource not in ("exec", "portforward"):
            return None
        Rights(user, self._stored).require(attributes("GET", path, query))
        if target.subresource == "exec":
            return self._handlers.execution(target, query, command)
        return self._handlers.forwarding(target)

    def _answer(self, request: Request, rights: Rights) -> Response | Live:
        rights.require(attributes(request.method, request.path, request.query))
        if len(request.body or b"") > BODY_LIMIT:
            raise too_large(BODY_LIMIT)
        if request.path in _PROBES:
            return text_answer(200, "ok")
        if (target := route(request.path, self.state.catalog)) is not None:
            return self._handlers.answer(target, request, rights)
        node = self._handlers.node
        if node and (usage := metrics_api.answer(self.state, request, node.usage)) is not None:
            return usage
        return self._description(request) or self._nothing_there(request.path)

    def _description(self, request: Request) -> Response | None:
        """Answer what describes the API itself."""
        if request.method != "GET":
            return None
        types = tuple(self.state.catalog)
        if (schema := openapi.document(request.path, types)) is not None:
            return Response(200, schema[0], {"content-type": schema[1]})
        listed = (*types, *metrics_api.TYPES) if self._handlers.node else types
        found = discovery.document(request.path, listed)
        return None if found is None else json_answer(200, found)

    def _nothing_there(self, path: str) -> Response:
        """Answer for a path that means nothing: by a Status below APIs of builtin types, else by a page."""
        parts = path.strip("/").split("/")
        api = ("", "v1") if parts[:2] == ["api", "v1"] else tuple(parts[1:3]) if parts[0] == "apis" else None
        if any((type.group, type.version) == api and not type.custom for type in self.state.catalog):
            raise bad_request(_NO_ATTACH) if parts[-3:-2] + parts[-1:] == ["pods", "attach"] else no_such_resource()
        return text_answer(404, "404 page not found\n")
