"""Which pods share a sandbox, the addresses they get and the names they know."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.node.api import TransportApi
from training_local.node.egress.gateway import REDIRECT_PORT, Gateway
from training_local.node.egress.mode import NetworkMode
from training_local.node.egress.policy import MACHINE, MACHINE_NAME
from training_local.node.hosts import API_NAMES, DOMAIN, Peer, Service, Services, entries, hosts_file, names_of_all
from training_local.node.podspec import Pod
from training_local.node.rewrite import LOOPBACK
from training_local.node.sandbox.client import SandboxError, Supervisor
from training_local.node.sandbox.messages import PodSpec, Setup
from training_local.node.sandbox.pool import SupervisorPool

PREFIX = 16
"""Length of the network part of pod addresses."""

API_ADDRESS = "10.244.255.254"
"""Where pods reach the API server, and who connects them with the outside."""

HTTPS = 443

_PAUSE = 10
"""A look at all hosts files is followed by a pause this many times as long: a large job must not stop the node."""

SHM_BYTES = 64 << 20
"""Size of `/dev/shm` as on a cluster."""


def addresses() -> Iterator[str]:
    """Every pod address, over and over again."""
    while True:
        for third in range(255):  # the last are for API_ADDRESS
            for fourth in range(1, 255):
                yield f"10.244.{third}.{fourth}"


class Scope:
    """The pods that reach each other: one supervisor, one bridge, one set of names."""

    def __init__(
        self, pool: SupervisorPool, services: Services, endpoint: InClusterEndpoint | None, mode: NetworkMode
    ) -> None:
        self.api: tuple[str, int] | None = None
        """Address and port at which the pods reach the API server."""
        self.peers: dict[str, Peer] = {}
        self._pool = pool
        self._services = services
        self._endpoint = endpoint
        self._listener: socket.socket | None = None
        self._mode = mode
        self._gateway: Gateway | None = None
        self._hosts: dict[str, Path] = {}
        self._written: dict[str, str] = {}
        """The shared names that each pod's hosts file has."""
        self._took = 0.0
        """Seconds that the last look at all hosts files took."""
        self._ports: dict[tuple[str, int], int] = {}
        self._launch: asyncio.Task[Supervisor] | None = None
        self._rewriting: asyncio.Handle | None = None

    async def supervisor(self) -> Supervisor:
        """The running supervisor, started if there is none; raises `SandboxError`."""
        if self._launch is None or (self._launch.done() and not _alive(self._launch)):
            self._launch = asyncio.create_task(self._begin())
        return await asyncio.shield(self._launch)

    async def _begin(self) -> Supervisor:
        supervisor = await self._pool.take()
        await self._close_doors()  # of a supervisor that was lost
        try:
            await self._open_doors(supervisor)
        except SandboxError:
            await supervisor.close()
            raise
        return supervisor

    async def _open_doors(self, supervisor: Supervisor) -> None:
        """Let the pods reach the API server, and what is outside."""
        if self._endpoint:
            self._listener = listener = await supervisor.open_listener(HTTPS)
            self.api = listener.getsockname()
            await self._endpoint.open(listener)
        if self._mode is not NetworkMode.NONE:
            self._gateway = Gateway(self._mode, self._is_of_cluster)
            await self._gateway.open(supervisor)

    def _is_of_cluster(self, name: str) -> bool:
        """Whether a name that is in no hosts file could only be one of the cluster, whose service is not there yet."""
        *labels, last = name.split(".")
        namespaces = {peer.pod.metadata.namespace for peer in self.peers.values()}
        return not labels or last in {"svc", *namespaces} or name.endswith(f".{DOMAIN}")

    async def _close_doors(self) -> None:
        if self._endpoint and self._listener:
            closing, self._listener = self._listener, None
            await self._endpoint.close(closing)
        if self._gateway:
            leaving, self._gateway = self._gateway, None
            await leaving.close()

    async def add(self, pod: Pod, address: str, hosts: Path, memory: Sequence[tuple[str, int]]) -> Supervisor:
        """Make what the containers of a pod share; raises `SandboxError`."""
        uid = pod.metadata.uid
        self.peers[uid] = Peer(pod, address, ready=False)
        self._hosts[uid] = hosts
        self._write(uid, self._names())
        self.names_changed()
        supervisor = await self.supervisor()
        await supervisor.add_pod(
            PodSpec(uid, pod.hostname, address, PREFIX, str(hosts), SHM_BYTES, memory, pod.spec.share_process_namespace)
        )
        if "hostname" in supervisor.missing:
            self._written.pop(uid, None)
            self._write(uid, self._names())
        return supervisor

    async def remove(self, pod: Pod) -> None:
        """End what is left of a pod and forget it."""
        self.peers.pop(pod.metadata.uid, None)
        self._hosts.pop(pod.metadata.uid, None)
        self._written.pop(pod.metadata.uid, None)
        self.names_changed()
        if self._launch is not None and self._launch.done() and _alive(self._launch):
            await self._launch.result().remove_pod(pod.metadata.uid)

    async def close(self) -> None:
        """End the supervisor and everything in it."""
        if self._rewriting:
            self._rewriting.cancel()
        if self._launch is not None:
            with suppress(SandboxError):
                await (await self._launch).close()
        await self._close_doors()

    def set_ready(self, pod: Pod, ready: bool) -> None:
        """Note whether a pod answers under the names of its services."""
        known = self.peers.get(pod.metadata.uid)
        if known and known.ready != ready:
            self.peers[pod.metadata.uid] = Peer(pod, known.address, ready)
            self.names_changed()

    def is_behind(self, service: Service) -> bool:
        """Whether a service leads to any of the pods."""
        return any(service.selects(peer.pod) for peer in self.peers.values())

    def names_changed(self) -> None:
        """Bring the hosts files up to date soon: once for all changes until then."""
        if self._rewriting is None:
            self._rewriting = asyncio.get_running_loop().call_later(self._took * _PAUSE, self._rewrite)

    def _rewrite(self) -> None:
        self._rewriting = None
        begun, shared = time.monotonic(), self._names()
        for uid in self._hosts:
            self._write(uid, shared)
        self._took = time.monotonic() - begun

    def _names(self) -> str:
        """Return the names that all pods know."""
        found = (entries([peer], self._services.around([peer.pod])) for peer in self.peers.values())
        machine = [(MACHINE, MACHINE_NAME)] if self._mode is NetworkMode.HOST else []
        return names_of_all(chain(machine, self._names_of_api(), chain.from_iterable(found)))

    def _names_of_api(self) -> Iterator[tuple[str, str]]:
        # As in a cluster, the shortest name is one of the namespace default only.
        at_home = any(peer.pod.metadata.namespace == "default" for peer in self.peers.values())
        for name in API_NAMES[0 if at_home else 1 :] if self._endpoint else ():
            yield API_ADDRESS, name

    def _write(self, uid: str, shared: str) -> None:
        """Write a pod's hosts file, unless it has these names already."""
        if self._written.get(uid) != shared:
            machine = socket.gethostname() if self._launch and _misses_hostname(self._launch) else ""
            _replace_content(self._hosts[uid], hosts_file(self.peers[uid], shared, machine_name=machine))
            self._written[uid] = shared

    def free_port(self, service: str, port: int) -> int:
        """A port of this machine that stands for a service's port in host mode, the same for every pod of the scope."""
        if (service, port) not in self._ports:
            with socket.socket() as probe:
                probe.bind((LOOPBACK, 0))
                self._ports[service, port] = probe.getsockname()[1]
        return self._ports[service, port]


def _alive(launch: asyncio.Task[Supervisor]) -> bool:
    return not launch.cancelled() and launch.exception() is None and launch.result().alive


def _misses_hostname(launch: asyncio.Task[Supervisor]) -> bool:
    return launch.done() and _alive(launch) and "hostname" in launch.result().missing


def _replace_content(path: Path, text: str) -> None:
    """Write in place: running pods see the file itself, not whatever takes its name."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        content = text.encode()
        os.pwrite(descriptor, content, 0)
        os.ftruncate(descriptor, len(content))
    finally:
        os.close(descriptor)


class Network:
    """All scopes of a node."""

    def __init__(
        self, setup: Setup, endpoint: InClusterEndpoint | None = None, mode: NetworkMode = NetworkMode.NONE
    ) -> None:
        """`setup` is completed by what the `endpoint` of the API server and the way out need."""
        # Without a network of their own pods are where the machine is.
        self.mode = mode if setup.mode == "netns" else NetworkMode.NONE
        if endpoint or self.mode is not NetworkMode.NONE:
            setup = setup._replace(gateway=(API_ADDRESS, PREFIX))
        if self.mode in (NetworkMode.CLUSTER, NetworkMode.HOST):
            setup = setup._replace(redirect=REDIRECT_PORT)
        self._setup = setup
        self._endpoint = endpoint
        self._pool = SupervisorPool(self._setup)
        self._scopes: dict[str, Scope] = {}
        self._services: dict[str, Services] = {}
        self._addresses = addresses()
        self._closing: set[asyncio.Task[None]] = set()

    def prepare(self) -> None:
        """Be ready for the first pod."""
        self._pool.prepare()

    def scope(self, pod: Pod) -> Scope:
        """The scope of a pod, made if it is the first one."""
        if pod.scope not in self._scopes:
            services = self._services.setdefault(pod.metadata.namespace, Services())
            self._scopes[pod.scope] = Scope(self._pool, services, self._endpoint, self.mode)
        return self._scopes[pod.scope]

    def new_address(self) -> str:
        """An address that no pod of this node has."""
        if self._setup.mode == "host":
            return LOOPBACK
        taken = {peer.address for scope in self._scopes.values() for peer in scope.peers.values()}
        return next(address for address in self._addresses if address not in taken)

    async def leave(self, pod: Pod) -> None:
        """Remove a pod, and its scope with the last one."""
        if scope := self._scopes.get(pod.scope):
            await scope.remove(pod)
            if not scope.peers and self._scopes.get(pod.scope) is scope:
                del self._scopes[pod.scope]
                closing = asyncio.create_task(scope.close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
                await asyncio.shield(closing)

    async def close(self) -> None:
        """End every pod."""
        scopes = list(self._scopes.values())
        self._scopes.clear()
        await asyncio.gather(self._pool.close(), *(scope.close() for scope in scopes), *self._closing)

    def put_service(self, service: Service, *, gone: bool) -> None:
        """Note a change of a service, and bring the names of the pods behind it up to date."""
        known = self._services.setdefault(service.namespace, Services())
        before = known.get(service.name)
        if before and before.version > service.version:  # it has been read since
            return
        known.remove(service.name)
        if not gone:
            known.put(service)
        for scope in self._scopes.values():
            if any(scope.is_behind(each) for each in (service, before) if each):
                scope.names_changed()

    async def services(self, pod: Pod, api: TransportApi) -> Services:
        """The services of a pod's namespace, with all that there were when the pod was stored: it may be seen first."""
        known = self._services.setdefault(pod.metadata.namespace, Services())
        async with known.reading:  # pods that come together are content with one look
            if known.complete_at < int(pod.metadata.resource_version):
                known.complete_at, stored = await api.services(pod.metadata.namespace)
                known.replace(map(Service.parse, stored))
        return known
