"""What the containers of a pod are started with: environment, command line, mounts, Python."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from training_local.node import (
    environment,
    gpus,
    host_mode,
    hosts,
    machine_sockets,
    scratch,
    tools,
    unsupported,
    volumes,
)
from training_local.node.container import Arguments, as_given
from training_local.node.context import HOST_IP, NodeContext
from training_local.node.egress import proxy
from training_local.node.egress.mode import NetworkMode
from training_local.node.environment import ConfigError, Facts, Key
from training_local.node.network import API_ADDRESS
from training_local.node.pod_python import PythonChoice, python_of
from training_local.node.podspec import Container, Pod
from training_local.node.refreshing import Objects
from training_local.node.rewrite import Rewriter, relocated
from training_local.node.sandbox.client import SandboxError
from training_local.node.sandbox.messages import ContainerSpec, Mount
from training_local.node.service_account_token import FOLDER, ServiceAccountToken, api_variables
from training_local.node.volumes import VolumeError, Volumes


class ContainerSpecBuilder:
    """Works out what the containers of one pod are started with."""

    def __init__(self, pod: Pod, context: NodeContext, announce: Callable[[str, str, str], None]) -> None:
        """`announce` records an event: type, reason, message."""
        self.address = ""
        self.volumes = Volumes({})
        self._pod, self._context, self._announce = pod, context, announce
        self._folder = context.work(pod)
        self._objects: dict[Key, Mapping[str, bytes]] = {}
        self._python: PythonChoice | None = None
        self._devices: Mapping[str, Sequence[str]] = {}
        self._token = ServiceAccountToken(pod, context.api, context.endpoint)
        self._contents = ""
        self._rewriters: dict[str, Rewriter] = {}

    async def prepare(self) -> None:
        """Make the folders and volumes of the pod; raises `VolumeError`, `ConfigError`, `GpuError`, `SandboxError`."""
        in_host_mode = host_mode.rejection(self._pod) if self._context.config.mode == "host" else ""
        if problem := unsupported.rejection(self._pod) or in_host_mode:
            raise SandboxError(problem)
        uid, wanted = self._pod.metadata.uid, self._pod.requests.get(gpus.RESOURCE, 0)
        self._devices = gpus.shares(self._pod, self._context.gpus.take(uid, wanted))
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.address = self.address or self._context.network.new_address()
        for key in volumes.referenced(self._pod):
            await self._fetch(key)
        volumes.check_private(self._pod, self._context.private)
        self.volumes = volumes.prepare(self._facts(), self._folder / "volumes", self._context.claims.path)
        if self._context.config.mode == "host":
            self._contents = host_mode.relocate(self._pod, self.volumes)
        if problem := await self._token.prepare(self._folder / "account"):
            self._announce("Warning", "FailedMount", problem)

    def refresh(self, objects: Objects) -> None:
        """Bring the files of volumes up to date with objects that have changed, as far as the pod has these."""
        newer = {key: data for key, data in objects.items() if self._objects.get(key, data) != data}
        if not newer:
            return
        before = self._facts()
        self._objects = {**self._objects, **newer}
        named = host_mode.relocation(self._pod, self.volumes) if self._context.config.mode == "host" else None
        try:
            volumes.refresh(before, self._facts(), self.volumes, named)
        except (VolumeError, ConfigError, OSError) as error:
            self._announce("Warning", "FailedMount", f"MountVolume.SetUp failed: {error}")

    def forget(self) -> None:
        """Make what the pod knew useless: its token."""
        self._token.revoke()

    @property
    def writable(self) -> Mapping[str, Path]:
        """Where the containers' temporary files lie, by name."""
        return {container.name: self._folder / "tmp" / container.name for container in self._pod.containers}

    @property
    def hosts(self) -> Path:
        """The file that is the pod's `/etc/hosts`."""
        return self._folder / "hosts"

    def listening_ports(self, port: int) -> Sequence[int]:
        """Where a program of the pod may listen that would listen on `port` on a cluster; the likely one first."""
        return tuple(dict.fromkeys([*(rewriter.own_port(port) for rewriter in self._rewriters.values()), port]))

    def message_file(self, container: Container, attempt: int) -> Path:
        """The file in which an attempt of a container may leave a message about its end."""
        return self._folder / "messages" / container.name / str(attempt)

    async def specify(self, container: Container, attempt: int) -> tuple[ContainerSpec, Arguments]:
        """What the supervisor is asked to start; raises `ConfigError` or `VolumeError`."""
        context = self._context
        for key in environment.referenced(container):
            await self._fetch(key)
        of_kind = context.config.python_of_kind or (lambda _: PythonChoice(context.config.python))
        python = self._python = self._python or await python_of(self._pod, context.api, of_kind)
        search_path = self._search_path(python)
        temporary = await self._scratch(container, attempt, python)
        in_place = temporary.replaces_tmp and context.config.mode != "host"
        folder = "/tmp" if in_place else temporary.folder
        base = tools.base_environment(search_path, folder, self._pod.hostname, context.own_environment)
        base |= {**self._api_access(container), **await self._proxy()}
        env = environment.build(container, self._facts(), base)
        shown = volumes.mounts(container, self.volumes, env)
        argv = environment.command_line(container, context.config.entry_points, env)
        seen = (*temporary.visible, *(mount.target for mount in shown))
        spec = ContainerSpec(
            id=f"{self._pod.metadata.uid}/{container.name}/{attempt}",
            pod=self._pod.metadata.uid,
            argv=argv,
            env=env,
            cwd=container.working_dir or self._own_folder(shown),
            mounts=[
                self._message_mount(container, attempt),
                *shown,
                *self._token.mounts(container),
                *scratch.programs(argv, temporary, seen, context.private),
            ],
            own=temporary.own,
            visible=[str(context.tools), *temporary.visible, *(() if in_place else (temporary.folder,))],
            hidden=[*machine_sockets.places(context.own_environment), *map(str, context.private)],
        )
        if attempt == 0:
            self._report_unseen(container, spec)
            if event := python.event(spec.argv):
                self._announce(*event)
        arguments: Arguments = as_given
        if context.config.mode == "host":
            self._check_mounts(container, attempt, spec, shown)
            spec, arguments = await self._without_sandbox(container, attempt, spec, env.keys() - base.keys())
        return spec._replace(env={**spec.env, **self._gpu_variables(container, env)}), arguments

    async def _scratch(self, container: Container, attempt: int, python: PythonChoice) -> scratch.Scratch:
        here = self._context.config.working_directory
        needed = (here, container.working_dir, *self._context.needed, *scratch.prefixes(python.path))
        folder = self.writable[container.name]
        if attempt:  # in a thread: what the attempts before have left can be large
            await asyncio.to_thread(shutil.rmtree, folder / str(attempt - 1), ignore_errors=True)
        return scratch.make(folder / str(attempt), here, map(str, needed))

    def _report_unseen(self, container: Container, spec: ContainerSpec) -> None:
        """Say so if the container names what lies in the machine's temporary folders, and will not find it there."""
        replaced = {mount.target for mount in spec.own}
        shared = [place for place in scratch.PLACES if place not in replaced]
        own_variables = [spec.env[variable.name] for variable in container.env if variable.name in spec.env]
        seen = [*spec.visible, *(mount.target for mount in spec.mounts), *shared]
        if paths := scratch.unseen([*spec.argv, *own_variables], seen):
            self._announce(
                "Warning",
                "OwnTemporaryFiles",
                f"container {container.name} does not see {', '.join(paths)} of this machine, because its temporary "
                "files are its own: start the command in that folder, or mount it as a hostPath volume",
            )

    def _api_access(self, container: Container) -> Mapping[str, str]:
        """The variables that lead to the API server.

        In host mode the folder of the token is found only by those who name it; clients that look for it at its place
        would take the pod for one of a cluster, and fail.
        """
        at = self._context.network.scope(self._pod).api
        if self._context.config.mode != "host":
            return api_variables(at)
        named = any(FOLDER in part for part in (*container.command, *container.args))
        return {**self._token.kubeconfig(at), **(api_variables(at) if named else {})}

    async def _proxy(self) -> Mapping[str, str]:
        """The variables that lead to the proxy, where there is one, and past it to the pods and the API server."""
        if self._context.network.mode is not NetworkMode.PROXY:
            return {}
        namespace = self._pod.metadata.namespace
        names = [service.name for service in await self._context.network.services(self._pod, self._context.api)]
        return proxy.variables(API_ADDRESS, [*names, f".{namespace}", "kubernetes", f".{hosts.DOMAIN}", ".svc"])

    def _check_mounts(self, container: Container, attempt: int, spec: ContainerSpec, shown: Sequence[Mount]) -> None:
        """In host mode, say which volumes the container cannot find; raises `ConfigError` unless that is allowed."""
        lost = host_mode.unnamed(container, shown, (*spec.argv, *spec.env.values(), spec.cwd, self._contents))
        if lost and not self._context.config.allow_missing_mounts:
            raise ConfigError(f"{host_mode.sentence(container, lost)} (--allow-missing-mounts runs it without)")
        if lost and attempt == 0:
            self._announce("Warning", "HostMode", host_mode.sentence(container, lost))

    def _own_folder(self, mounts: Sequence[Mount]) -> str:
        """Where a container without `workingDir` runs: the cluster's folder, or `/` if a volume covers that."""
        folder = self._context.config.working_directory
        covered = any(folder.is_relative_to(mount.target) for mount in mounts)
        return "/" if covered and self._context.config.mode != "host" else str(folder)

    def _gpu_variables(self, container: Container, env: Mapping[str, str]) -> Mapping[str, str]:
        """What hides the GPUs of others; nothing where the machine has none."""
        if not self._context.gpus.devices:
            return {}
        return {gpus.VISIBLE: gpus.visible(self._devices[container.name], env.get(gpus.VISIBLE))}

    async def _without_sandbox(
        self, container: Container, attempt: int, spec: ContainerSpec, names: set[str]
    ) -> tuple[ContainerSpec, Arguments]:
        paths = {mount.target: mount.source for mount in (*spec.own, *spec.mounts)}
        # Where volumes lie stays true, too: programs hand on paths that they were given, in `exec` for example.
        true = (*spec.visible, str(self._context.config.state))
        paths = {**dict(zip(true, true, strict=True)), **paths}
        rewriter = self._rewriters[container.name] = await self._rewriter(container)
        # What the pod asks about itself stays true: its name is no address there, though a service has it too.
        own = {variable.name for variable in container.env if variable.value_from and variable.value_from.field_ref}
        secrets = environment.secret_values(container, self._facts())
        rewritten = rewriter.rewrite(spec.argv, spec.env, names - own, paths, secrets)
        if rewritten.changes and attempt == 0:
            changes = "; ".join(rewritten.changes)
            self._announce("Normal", "HostMode", f"container {container.name} runs without a sandbox: {changes}")
        changed = spec._replace(argv=rewritten.argv, env=rewritten.env, cwd=relocated(spec.cwd, paths), mounts=[])
        return changed, partial(rewriter.arguments, paths=paths)

    def _message_mount(self, container: Container, attempt: int) -> Mount:
        file = self.message_file(container, attempt)
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.touch(mode=0o666)
        return Mount(str(file), container.termination_message_path)

    def _search_path(self, python: PythonChoice) -> str:
        """Where the pod's programs are looked for."""
        if python.path == self._context.config.python:
            return self._context.search_path
        folder = self._context.tools / hashlib.sha256(str(python.path).encode()).hexdigest()[:16]
        return tools.install(folder, python.path)

    def _facts(self) -> Facts:
        context = self._context
        return Facts(self._pod, context.config.name, HOST_IP, self.address, context.capacity, self._objects)

    async def _fetch(self, key: Key) -> None:
        kind, name = key
        plural = "configmaps" if kind == environment.CONFIG_MAP else "secrets"
        try:
            stored = await self._context.api.get(plural, self._pod.metadata.namespace, name)
        except OSError as error:
            raise ConfigError(f'{kind} "{name}" cannot be read: {error}') from error
        if stored is None:
            self._objects.pop(key, None)
        else:
            self._objects[key] = environment.data_of(stored, kind)

    async def _rewriter(self, container: Container) -> Rewriter:
        network, pod = self._context.network, self._pod
        known = await network.services(pod, self._context.api)
        own = next((hosts.own_name(pod, service) for service in known.around([pod]) if service.selects(pod)), "")
        ports = {port for service in known for port in service.ports} | {p.container_port for p in container.ports}
        return Rewriter([*known], own or pod.metadata.name, frozenset(ports), network.scope(pod).free_port)
