"""A node with real processes on the embedded API server."""

from __future__ import annotations

import asyncio
import copy
import json
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from e2e.support.embedded import TOKEN, session_with

from training_local.apiserver.certificates import ServerIdentity, server_identity
from training_local.apiserver.http import serving
from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.apiserver.pods import LogOptions
from training_local.apiserver.server import ApiServer
from training_local.apiserver.transport import InMemoryTransport
from training_local.apiserver.types import BUILTIN
from training_local.node.api import TransportApi
from training_local.node.container import Backoff
from training_local.node.context import NodeConfig
from training_local.node.node import Node
from training_local.node.sandbox.doctor import examine
from training_operator.kube.transport import Request

Json = dict[str, Any]

DEFAULT = "/api/v1/namespaces/default"


class Api:
    """The embedded API server with a node as its client, and what tests ask of it."""

    def __init__(self) -> None:
        self.server = ApiServer(BUILTIN, lambda definition: ())
        self.transport = InMemoryTransport(self.server)
        self.history: dict[str, list[Json]] = defaultdict(list)
        self._events: dict[str, Json] = {}
        self._pods: dict[str, Json] = {}
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[Api]:
        async with self.server.running():
            watches = [asyncio.create_task(self._watch("pods")), asyncio.create_task(self._watch("events"))]
            try:
                yield self
            finally:
                for watch in watches:
                    watch.cancel()
                await asyncio.wait(watches)

    async def _watch(self, plural: Any) -> None:
        async for change in TransportApi(self.transport, "test").follow(plural):
            stored = dict(change.object)
            name = stored["metadata"]["name"]
            if plural == "events":
                self._events[name] = stored
            elif change.gone:
                self.history[name].append(stored)
                self._pods.pop(name, None)
            else:
                self.history[name].append(stored)
                self._pods[name] = stored
            async with self._changed:
                self._changed.notify_all()

    async def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        accepted: tuple[int, ...] = (),
        query: Mapping[str, str] | None = None,
    ) -> Json:
        content = json.dumps(body).encode() if body is not None else None
        answer = await self.transport.request(Request(method, path, query or {}, body=content))
        found: Json = json.loads(answer.body)
        assert answer.status < 300 or answer.status in accepted, found
        return found

    async def create(self, plural: str, body: Json) -> Json:
        """Create an object in namespace `default`; owners are made up as config maps."""
        body = copy.deepcopy(body)
        for container in [*body.get("spec", {}).get("containers", ()), *body.get("spec", {}).get("initContainers", ())]:
            container.setdefault("image", "none")
        for owner in body["metadata"].get("ownerReferences", ()):
            config_map = {"metadata": {"name": owner["name"]}}
            await self.request("POST", f"{DEFAULT}/configmaps", config_map, accepted=(409,))
            stored = await self.request("GET", f"{DEFAULT}/configmaps/{owner['name']}")
            owner["uid"] = stored["metadata"]["uid"]
        return await self.request("POST", f"{DEFAULT}/{plural}", body)

    async def replace(self, plural: str, body: Json) -> Json:
        """Put an object of namespace `default` into the place of what has its name."""
        return await self.request("PUT", f"{DEFAULT}/{plural}/{body['metadata']['name']}", body)

    async def delete(self, name: str, grace: int = 30) -> None:
        await self.request("DELETE", f"{DEFAULT}/pods/{name}", {"gracePeriodSeconds": grace})

    async def until(self, condition: Callable[[], Any], what: str = "", seconds: float = 20) -> Any:
        """Wait until `condition` holds for what has been seen."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(condition)
                return condition()
        except TimeoutError:
            pods = {name: stored.get("status") for name, stored in self._pods.items()}
            raise AssertionError(f"{what or condition} did not come true: {pods}, {self.events}") from None

    @property
    def events(self) -> list[tuple[str, str, str, str]]:
        """Pod, type, reason and message of each event."""
        return [(e["involvedObject"]["name"], e["type"], e["reason"], e["message"]) for e in self._events.values()]

    def pod(self, name: str) -> Json:
        return self._pods.get(name, {})

    def statuses(self, name: str) -> list[Json]:
        """The statuses of a pod's containers; empty before the node has seen it."""
        found: list[Json] = self.pod(name).get("status", {}).get("containerStatuses", [])
        return found

    def last(self, name: str) -> Json:
        """A pod as it is, or as it was last."""
        return self.pod(name) or self.history[name][-1]

    def phase(self, name: str) -> str:
        return str(self.pod(name).get("status", {}).get("phase", ""))

    async def ended(self, name: str) -> Json:
        """The status of a pod when it has ended."""
        await self.until(lambda: self.phase(name) in ("Succeeded", "Failed"), f"the end of {name}")
        status: Json = self.pod(name)["status"]
        return status

    async def running(self, name: str) -> Json:
        await self.until(lambda: self.phase(name) == "Running", f"{name} running")
        status: Json = self.pod(name)["status"]
        return status

    async def gone(self, name: str) -> None:
        await self.until(lambda: not self.pod(name), f"the removal of {name}")

    async def remove(self, name: str, grace: int = 30) -> None:
        """Delete a pod and wait until it has gone."""
        await self.delete(name, grace)
        await self.gone(name)


class Cluster:
    """A running node and its API."""

    def __init__(self, api: Api, node: Node, state: Path) -> None:
        self.api, self.node, self.state = api, node, state

    async def run(self, name: str, *command: str, **changes: Any) -> Json:
        """Create a pod with one container and wait for its end; return its status."""
        await self.api.create("pods", pod(name, *command, **changes))
        return await self.api.ended(name)

    async def start(self, name: str, *command: str, says: str = "", **changes: Any) -> Json:
        """Create a pod with one container, wait until it runs and has printed `says`; return its status."""
        await self.api.create("pods", pod(name, *command, **changes))
        status = await self.api.running(name)
        if says:
            await self.says(name, says)
        return status

    def batches(self, name: str, container: str = "main", **options: Any) -> AsyncIterator[list[bytes]]:
        return self.node.lines(self.api.last(name), LogOptions(container, **options))

    async def log(self, name: str, container: str = "main", **options: Any) -> str:
        """What a container has printed."""
        return b"".join([line async for batch in self.batches(name, container, **options) for line in batch]).decode()

    async def says(self, name: str, text: str, container: str = "main") -> None:
        """Wait until a running container has printed `text`."""
        seen = ""
        async with asyncio.timeout(20):
            async for batch in self.batches(name, container, follow=True):
                seen += b"".join(batch).decode()
                if text in seen:
                    return
        raise AssertionError(f"{name} ended without saying {text!r}: {seen}")


def pod(name: str, *command: str, job: str = "", container: Json | None = None, **spec: Any) -> Json:
    """A pod with one container `main`; `job` names its owner."""
    owners = [{"uid": job, "controller": True, "apiVersion": "v1", "kind": "ConfigMap", "name": job}] if job else []
    main = {"name": "main", "image": "none", "command": list(command), **(container or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"pod": name}, "ownerReferences": owners},
        "spec": {"restartPolicy": "Never", "containers": [main], **spec},
    }


def service(name: str, selected: str = "", port: int = 23456, **spec: Any) -> Json:
    ports = [{"name": "port", "port": port}]
    selector = {"pod": selected or name}
    return {"metadata": {"name": name}, "spec": {"clusterIP": "None", "selector": selector, "ports": ports, **spec}}


SERVER = """
import os, socket
server = socket.create_server(("", 23456), reuse_port=False)
print("listening", flush=True)
with server.accept()[0] as connection:
    connection.sendall(os.environ["ANSWER"].encode())
"""
CLIENT = """
import socket, sys, time
while True:
    try:
        with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
            print(connection.recv(100).decode())
            break
    except OSError:
        time.sleep(0.02)
"""


def answer(text: str) -> Json:
    return {"env": [{"name": "ANSWER", "value": text}]}


FAST = Backoff(first=0.01, most=0.02)


@asynccontextmanager
async def cluster_in(
    state: Path, mode: str, api: Api | None = None, endpoint: InClusterEndpoint | None = None, **config: Any
) -> AsyncIterator[Cluster]:
    async with AsyncExitStack() as stack:
        used = api if api is not None else await stack.enter_async_context(Api().serving())
        config = {"backoff": FAST, "working_directory": Path("/"), **config}
        node = Node(TransportApi(used.transport, "local"), NodeConfig(state=state, mode=mode, **config), endpoint)
        running = asyncio.create_task(node.run())
        try:
            yield Cluster(used, node, state)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


def namespaces_missing() -> str:
    """Why this machine cannot run mode `netns`; empty if it can."""
    return asyncio.run(examine()).denied


NO_NAMESPACES = namespaces_missing()
needs_namespaces = pytest.mark.skipif(bool(NO_NAMESPACES), reason=f"this machine denies the sandbox: {NO_NAMESPACES}")


def parent(pid: str) -> int:
    return int(Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1])


def processes() -> dict[str, str]:
    """Command lines by process id, parts separated by a space."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found[entry.parent.name] = entry.read_text(errors="replace").replace("\0", " ")
    return found


def seconds(tag: int) -> str:
    """How long pods sleep whose processes a test looks for: no test in another process uses the same."""
    return f"{tag}{os.getpid():07}"


def processes_with(command: str) -> list[str]:
    return [pid for pid, line in processes().items() if command in line]


def exists(path: str | Path) -> bool:
    return Path(path).exists()


def entries(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def open_descriptors() -> int:
    return len(entries(Path("/proc/self/fd")))


@asynccontextmanager
async def over_https(cluster: Cluster) -> AsyncIterator[tuple[aiohttp.ClientSession, str, ServerIdentity]]:
    """Serve the API and the programs of its pods; yields a client, the URL and the identity of the server."""
    identity = server_identity(["127.0.0.1"])
    cluster.api.server.attach_node(cluster.node)
    async with serving(cluster.api.server, identity, TOKEN) as url, session_with(identity, url) as session:
        yield session, url, identity


def stat(proc: Path, pid: int, parent: int, ticks: int = 0, pages: int = 0, **files: str) -> None:
    """Write a process into a table below `proc`; `files` are further ones of its folder."""
    (proc / str(pid)).mkdir()
    fields = ["S", str(parent), *["0"] * 9, str(ticks), "0", "0", "0", *["0"] * 6, str(pages), "0"]
    (proc / str(pid) / "stat").write_text(f"{pid} (a (b) c) {' '.join(fields)}")
    for name, content in files.items():
        (proc / str(pid) / name).write_text(content)
