"""The parts put together: API server, node and operator in one process, on one event loop."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NotRequired, Self, TypedDict

from training_api.crd.build import build
from training_controllers.frameworks.plugins import kinds
from training_local.apiserver.certificates import ServerIdentity, server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.errors import ApiError
from training_local.apiserver.http import serving
from training_local.apiserver.in_cluster import in_cluster_endpoint
from training_local.apiserver.journal import FILE, Journal, JournalError
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_local.apiserver.users import Tokens
from training_local.cluster.cleanup import remove_tree
from training_local.cluster.image_programs import ImagePrograms
from training_local.cluster.kubeconfig_file import check_ours, placed
from training_local.cluster.pythons import interpreter
from training_local.cluster.registry import Claim, ClusterRecord, claimed, random_name, state_folder
from training_local.cluster.sandbox_mode import SandboxMode
from training_local.errors import BadInput, innermost
from training_local.node import kubectl_delivery, machine, scratch
from training_local.node.api import TransportApi
from training_local.node.cgroups import own_limits
from training_local.node.context import NodeConfig
from training_local.node.egress.mode import NetworkMode
from training_local.node.hosts import API_NAMES
from training_local.node.log_files import LogLimits
from training_local.node.network import API_ADDRESS
from training_local.node.node import Node
from training_local.node.pod_python import PythonOfKind
from training_local.node.sandbox.doctor import HOST_MODE, REDIRECT, examine, how_limits_are_enforced
from training_operator.app import App
from training_operator.descriptors import raise_soft_limit
from training_operator.kube.transport import MERGE_PATCH, Request, Transport
from training_operator.settings import Settings

NODE: Final = "local"
LOOPBACK: Final = "127.0.0.1"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

_KEPT: Final = (*(f"{FILE}{suffix}" for suffix in ("", "-wal", "-shm")), "logs", "claims")
"""What a cluster keeps in the folder of `--data`; further files there are the user's."""


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What may be chosen about a local cluster."""

    python: Path | None = None
    """What pods find as `python`: an interpreter or a virtual environment; None for the one that runs this."""
    sandbox: SandboxMode = SandboxMode.AUTO
    name: str = ""
    """What the cluster is called among those of this user; empty for `run-` and something random."""
    port: int = 0
    """Of the HTTPS server, on the loopback interface; 0 for any free one."""
    kubeconfig: Path | None = None
    """Where to write a further kubeconfig; there is always one in the cluster's own folder."""
    data: Path | None = None
    """Folder for objects and logs that outlive the cluster."""
    gpus: int | None = None
    """How many GPUs to offer, be they there or not; None for those of the machine."""
    cpus: int | None = None
    """How many processors to offer, be they there or not; None for those of the machine."""
    memory: str = ""
    """How much memory to offer, as a quantity; empty for that of the machine."""
    allow_missing_mounts: bool = False
    """Whether containers run in host mode without volumes to which nothing leads."""
    images: ImagePrograms = field(default_factory=dict)
    """What stands for images of which containers give no command."""
    network: NetworkMode = NetworkMode.CLUSTER
    """What pods reach outside of the cluster, where they have a network of their own."""
    python_of_kind: PythonOfKind | None = None
    """What pods of jobs find as `python`; None for the same in all."""
    log_limits: LogLimits = field(default_factory=LogLimits)
    logs: Path | None = None
    """Folder for the logs of pods; None for one below `data`, else below the cluster's own."""


class ClusterFlags(TypedDict):
    """What the flags of all commands that start a cluster give, named as in `ClusterOptions`."""

    python: Path | None
    sandbox: SandboxMode
    network: NetworkMode
    allow_missing_mounts: bool
    images: ImagePrograms
    cpus: NotRequired[int | None]
    memory: NotRequired[str]
    gpus: NotRequired[int | None]


class LocalCluster:
    """A cluster that lives as long as its context; it leaves no process and no file behind."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._python = interpreter(options.python) if options.python else Path(sys.executable)
        self._stack = AsyncExitStack()
        self._network = options.network
        self.transport: Transport
        self.record: ClusterRecord
        """What others find in the registry, once the cluster is up."""
        self.folder: Path
        """The cluster's own, which ends with it."""
        self.sandbox_notes: list[str] = []
        """Sentences on how pods are kept apart."""

    @property
    def capacity(self) -> Mapping[str, str]:
        """Processors, memory and so on that the cluster offers."""
        found = machine.capacity(self.folder, self._options.gpus or 0, own_limits())
        return machine.offered(found, self._options.cpus, self._options.memory)

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig to use: the one asked for, else that in the cluster's folder."""
        asked = self._options.kubeconfig
        return asked.absolute() if asked else self.record.kubeconfig

    async def __aenter__(self) -> Self:
        """Start everything; raises `BadInput` for options that this machine cannot follow."""
        raise_soft_limit()
        async with AsyncExitStack() as stack:
            try:
                await self._start(stack)
            except* ApiError as group:
                if self._options.data is None:
                    raise
                raise BadInput(f"--data {self._options.data}: {innermost(group)}") from None
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything, in the opposite order."""
        await self._stack.__aexit__(kind, error, trace)

    async def _start(self, stack: AsyncExitStack) -> None:
        if asked := self._options.kubeconfig:
            check_ours(asked.absolute())
        try:
            here = Path.cwd()
        except FileNotFoundError:
            raise BadInput(
                "the current folder, the working directory of pods, does not exist: change to another one"
            ) from None
        claim = stack.enter_context(claimed(self._options.name or random_name("run")))
        self.folder = claim.folder
        mode = await self._choose_mode()
        self.sandbox_notes.extend(scratch.SHARED.format(place) for place in scratch.shared(here))
        self.sandbox_notes.append(how_limits_are_enforced())
        journal = stack.enter_context(self._open_journal(self._options.data)) if self._options.data else None
        identity = server_identity([LOOPBACK, "localhost", API_ADDRESS, *API_NAMES])
        api = ApiServer(BUILTIN, crd_types, authority=identity.authority.decode(), journal=journal)
        await stack.enter_async_context(api.running())
        self.transport = InMemoryTransport(api)
        await self._put_definitions()
        await self._remove_old_logs()
        settings = Settings(metrics_bind_address="0", health_probe_bind_address="0")
        tokens = Tokens(secrets.token_urlsafe(32), api.has)
        endpoint = await stack.enter_async_context(in_cluster_endpoint(api, identity, tokens))
        node = Node(TransportApi(self.transport, NODE), self._node_config(claim, mode, settings), endpoint)
        api.attach_node(node)
        await stack.enter_async_context(_running(node.run()))
        stack.push_async_callback(node.shut_down)
        app = App(settings, self.transport)
        await stack.enter_async_context(app.running())
        await app.wait_synced()
        await self._serve(stack, api, identity, claim, mode=mode, tokens=tokens)

    def _node_config(self, claim: Claim, mode: str, settings: Settings) -> NodeConfig:
        return NodeConfig(
            claim.folder / "node",
            mode,
            NODE,
            self._python,
            self._options.python_of_kind,
            entry_points={settings.mpi_kubectl_delivery_image: kubectl_delivery.COMMAND, **self._options.images},
            logs=self._logs,
            hidden=state_folder(),
            private=[self._options.data.absolute() / name for name in _KEPT] if self._options.data else (),
            cluster=claim.id,
            gpus=self._options.gpus,
            cpus=self._options.cpus,
            memory=self._options.memory,
            log_limits=self._options.log_limits,
            allow_missing_mounts=self._options.allow_missing_mounts,
            network=self._network,
            claims=self._options.data.absolute() / "claims" if self._options.data else None,
        )

    async def _serve(
        self,
        stack: AsyncExitStack,
        api: ApiServer,
        identity: ServerIdentity,
        claim: Claim,
        *,
        mode: str,
        tokens: Tokens,
    ) -> None:
        try:
            url = await stack.enter_async_context(serving(api, identity, tokens, port=self._options.port))
        except OSError as error:
            raise BadInput(f"--port {self._options.port}: cannot listen on it: {error.strerror or error}") from None
        own = claim.folder / "kubeconfig"
        write_kubeconfig(own, url, identity.authority, tokens.owner)
        if asked := self._options.kubeconfig:
            stack.enter_context(placed(own, asked.absolute()))
        data = self._options.data and self._options.data.absolute()
        self.record = ClusterRecord(claim.name, os.getpid(), url, own, datetime.now(UTC), mode, data)
        claim.announce(self.record)

    @staticmethod
    def _open_journal(folder: Path) -> Journal:
        try:
            return Journal.open(folder)
        except JournalError as error:
            raise BadInput(f"--data {error}") from None

    async def _choose_mode(self) -> str:
        wanted = self._options.sandbox
        if wanted is SandboxMode.HOST:
            self._check_network("--sandbox host gives pods none of their own")
            self.sandbox_notes = [HOST_MODE]
            return wanted
        diagnosis = await examine()
        if diagnosis.denied:
            self._check_network(diagnosis.denied)
        elif REDIRECT in diagnosis.missing:
            self._go_without_redirection(diagnosis.missing[REDIRECT])
        if wanted is SandboxMode.NETNS and diagnosis.denied:
            raise BadInput(f"--sandbox netns: {diagnosis.denied}; try --sandbox auto")
        self.sandbox_notes = diagnosis.sentences(self._network)
        return diagnosis.mode

    def _check_network(self, why: str) -> None:
        if self._network is NetworkMode.NONE:
            raise BadInput(f"--network none: pods here have the machine's network ({why})")

    def _go_without_redirection(self, why: str) -> None:
        if self._network is NetworkMode.HOST:
            raise BadInput(f"--network host: connections cannot be redirected here ({why}); try --sandbox host")
        if self._network is NetworkMode.CLUSTER:
            self._network = NetworkMode.PROXY

    async def _remove_old_logs(self) -> None:
        """Remove the logs of pods that an earlier cluster with the same data had deleted."""
        folder = self._logs
        if folder is None or not folder.is_dir():
            return
        answer = await self.transport.request(Request("GET", "/api/v1/pods"))
        kept = {pod["metadata"]["uid"] for pod in json.loads(answer.body)["items"]}
        for each in folder.iterdir():
            if each.name.rpartition("_")[2] not in kept:
                remove_tree(each)

    @property
    def _logs(self) -> Path | None:
        return self._options.logs or (self._options.data.absolute() / "logs" if self._options.data else None)

    async def _put_definitions(self) -> None:
        """Create the CRDs of all kinds, or bring those that are kept up to date."""
        for info in kinds().values():
            crd = build(info)
            body = json.dumps(crd).encode()
            answer = await self.transport.request(Request("POST", CRDS, body=body))
            if answer.status == 409:
                path = f"{CRDS}/{crd['metadata']['name']}"
                answer = await self.transport.request(Request("PATCH", path, body=body, content_type=MERGE_PATCH))
            if answer.status >= 300:
                raise RuntimeError(f"the CRD of {info.kind} was rejected: {answer.body.decode()}")


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `work` in the background of the context; its failure ends the context's body."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        try:
            yield
        finally:
            task.cancel()
