"""The parts put together: API server, node and operator in one process, on one event loop."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from training_api.crd.build import build
from training_api.registry import KINDS
from training_local.apiserver.certificates import ServerIdentity, server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_local.apply import BadInput
from training_local.node.api import TransportApi
from training_local.node.node import Node, NodeConfig
from training_local.node.sandbox.doctor import HOST_MODE, examine
from training_operator.app import App
from training_operator.kube.transport import Request, Transport
from training_operator.settings import Settings

NODE: Final = "local"
LOOPBACK: Final = "127.0.0.1"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class SandboxMode(StrEnum):
    """How pods are kept apart."""

    AUTO = "auto"
    NETNS = "netns"
    HOST = "host"


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What may be chosen about a local cluster."""

    python: Path | None = None
    """What pods find as `python`; None for the one that runs this."""
    sandbox: SandboxMode = SandboxMode.AUTO
    serve: bool = False
    """Whether to serve the API over HTTPS, for kubectl; inside the process it needs no network."""
    port: int = 0
    kubeconfig: Path | None = None
    """Where to write the kubeconfig; None for the cluster's own folder."""


class LocalCluster:
    """A cluster that lives as long as its context; it leaves no process and no file behind."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._stack = AsyncExitStack()
        self.transport: Transport
        self.sandbox_notes: list[str] = []
        """Sentences on how pods are kept apart."""
        self.started_in = 0.0
        """Seconds that the start took."""
        self.kubeconfig: Path | None = None

    async def __aenter__(self) -> Self:
        """Start everything; raises `BadInput` for options that this machine cannot follow."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        async with AsyncExitStack() as stack:
            await self._start(stack)
            self._stack = stack.pop_all()
        self.started_in = clock() - begun
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything, in the opposite order."""
        await self._stack.__aexit__(kind, error, trace)

    async def _start(self, stack: AsyncExitStack) -> None:
        state = Path(tempfile.mkdtemp(prefix="training-operator-"))
        stack.callback(shutil.rmtree, state, ignore_errors=True)
        mode = await self._choose_mode()
        identity = server_identity([LOOPBACK, "localhost"]) if self._options.serve else None
        api = ApiServer(BUILTIN, crd_types, authority=identity.authority.decode() if identity else "")
        await stack.enter_async_context(api.running())
        self.transport = InMemoryTransport(api)
        await self._create_definitions()
        config = NodeConfig(state / "node", mode, NODE, self._options.python or Path(sys.executable))
        node = Node(TransportApi(self.transport, NODE), config)
        api.attach_node(node)
        await stack.enter_async_context(_running(node.run()))
        app = App(Settings(metrics_bind_address="0", health_probe_bind_address="0"), self.transport)
        await stack.enter_async_context(app.running())
        await app.wait_synced()
        if identity is not None:
            await self._serve(stack, api, identity, state)

    async def _serve(self, stack: AsyncExitStack, api: ApiServer, identity: ServerIdentity, state: Path) -> None:
        token = secrets.token_urlsafe(32)
        try:
            url = await stack.enter_async_context(serving(api, identity, token, port=self._options.port))
        except OSError as error:
            raise BadInput(f"--port {self._options.port}: cannot listen on it: {error.strerror or error}") from None
        self.kubeconfig = self._options.kubeconfig or state / "kubeconfig"
        stack.callback(self.kubeconfig.unlink, missing_ok=True)
        try:
            write_kubeconfig(self.kubeconfig, url, identity.authority, token)
        except OSError as error:
            raise BadInput(f"--kubeconfig {self.kubeconfig}: cannot be written: {error.strerror}") from None

    async def _choose_mode(self) -> str:
        wanted = self._options.sandbox
        if wanted is SandboxMode.HOST:
            self.sandbox_notes = [HOST_MODE]
            return wanted
        diagnosis = await examine()
        if wanted is SandboxMode.NETNS and diagnosis.refusal:
            raise BadInput(f"--sandbox netns: {diagnosis.refusal}; try --sandbox auto")
        self.sandbox_notes = diagnosis.sentences()
        return diagnosis.mode

    async def _create_definitions(self) -> None:
        for info in KINDS.values():
            body = json.dumps(build(info)).encode()
            answer = await self.transport.request(Request("POST", DEFINITIONS, body=body))
            if answer.status >= 300:
                raise RuntimeError(f"the definition of {info.kind} was refused: {answer.body.decode()}")


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` in the background of the context; its failure ends the context's body."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        try:
            yield
        finally:
            task.cancel()
