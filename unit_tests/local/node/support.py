"""A node with real processes against a few lines of API in memory."""

from __future__ import annotations

import asyncio
import copy
import itertools
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from training_local.apiserver.pods import LogOptions
from training_local.node.container import Backoff
from training_local.node.node import Node, NodeConfig
from training_local.node.podspec import Metadata
from training_local.node.ports import Change
from training_local.node.sandbox.doctor import examine

Json = dict[str, Any]


def merged(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


class MemoryApi:
    """Implements `NodeApi`; the test is its only other client."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[tuple[str, str], Json]] = defaultdict(dict)
        self.events: list[tuple[str, str, str, str]] = []
        self.history: dict[str, list[Json]] = defaultdict(list)
        self._followers: dict[str, list[asyncio.Queue[Change]]] = defaultdict(list)
        self._changed = asyncio.Condition()
        self._uids = itertools.count(1)

    async def follow(self, plural: str) -> AsyncIterator[Change]:
        queue: asyncio.Queue[Change] = asyncio.Queue()
        for stored in self.objects[plural].values():
            queue.put_nowait(Change(stored))
        self._followers[plural].append(queue)
        while True:
            yield await queue.get()

    async def get(self, plural: str, namespace: str, name: str) -> Json | None:
        return self.objects[plural].get((namespace, name))

    async def services(self, namespace: str) -> list[Json]:
        return [s for s in self.objects["services"].values() if s["metadata"]["namespace"] == namespace]

    async def register(self, node: Json) -> None:
        await self._announce("nodes", ("", node["metadata"]["name"]), node)

    async def bind(self, pod: Metadata, node_name: str) -> None:
        await self.change("pods", pod.name, {"spec": {"nodeName": node_name}}, pod.namespace)

    async def patch_status(self, pod: Metadata, status: Json) -> None:
        stored = self.objects["pods"].get((pod.namespace, pod.name))
        if stored and stored["metadata"]["uid"] == pod.uid:
            await self.change("pods", pod.name, {"status": status}, pod.namespace)

    async def confirm_deletion(self, pod: Metadata) -> None:
        stored = self.objects["pods"].get((pod.namespace, pod.name))
        if stored and stored["metadata"]["uid"] == pod.uid:
            await self._announce("pods", (pod.namespace, pod.name), None)

    async def record(self, pod: Metadata, kind: str, reason: str, message: str) -> None:
        self.events.append((pod.name, kind, reason, message))
        async with self._changed:
            self._changed.notify_all()

    # What tests do.

    async def create(self, plural: str, body: Json) -> Json:
        stored = copy.deepcopy(body)
        stored["metadata"].setdefault("namespace", "default")
        stored["metadata"]["uid"] = f"uid-{next(self._uids)}"
        await self._announce(plural, (stored["metadata"]["namespace"], stored["metadata"]["name"]), stored)
        return stored

    async def change(self, plural: str, name: str, patch: Json, namespace: str = "default") -> None:
        await self._announce(plural, (namespace, name), merged(self.objects[plural][namespace, name], patch))

    async def delete(self, name: str, grace: int = 30) -> None:
        now = {"deletionTimestamp": "2030-01-01T00:00:00Z", "deletionGracePeriodSeconds": grace}
        await self.change("pods", name, {"metadata": now})

    async def until(self, condition: Callable[[], Any], what: str = "", seconds: float = 20) -> Any:
        """Wait until `condition` holds for what is stored."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(condition)
                return condition()
        except TimeoutError:
            pods = {name: stored.get("status") for (_, name), stored in self.objects["pods"].items()}
            raise AssertionError(f"{what or condition} did not come true: {pods}, {self.events}") from None

    def pod(self, name: str, namespace: str = "default") -> Json:
        return self.objects["pods"].get((namespace, name), {})

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

    async def _announce(self, plural: str, key: tuple[str, str], stored: Json | None) -> None:
        if stored is None:
            change = Change(self.objects[plural].pop(key), gone=True)
        else:
            self.objects[plural][key] = stored
            self.history[key[1]].append(copy.deepcopy(stored))
            change = Change(copy.deepcopy(stored))
        for queue in self._followers[plural]:
            queue.put_nowait(change)
        async with self._changed:
            self._changed.notify_all()


class Cluster:
    """A running node and its API."""

    def __init__(self, api: MemoryApi, node: Node, state: Path) -> None:
        self.api, self.node, self.state = api, node, state

    async def run(self, name: str, *command: str, **changes: Any) -> Json:
        """Create a pod with one container and wait for its end; return its status."""
        await self.api.create("pods", pod(name, *command, **changes))
        return await self.api.ended(name)

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
    """A pod with one container `main`; `job` is the uid of its owner."""
    owners = [{"uid": job, "controller": True, "apiVersion": "v1", "kind": "Job", "name": job}] if job else []
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
async def cluster_in(state: Path, mode: str, api: MemoryApi | None = None, **config: Any) -> AsyncIterator[Cluster]:
    api = api or MemoryApi()
    node = Node(api, NodeConfig(state=state, mode=mode, **{"backoff": FAST, "working_directory": Path("/"), **config}))
    running = asyncio.create_task(node.run())
    try:
        await api.until(lambda: running.done() or "local" in [n for _, n in api.objects["nodes"]], seconds=5)
        yield Cluster(api, node, state)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def namespaces_missing() -> str:
    """Why this machine cannot run mode `netns`; empty if it can."""
    return asyncio.run(examine()).refusal


REFUSAL = namespaces_missing()
needs_namespaces = pytest.mark.skipif(bool(REFUSAL), reason=f"this machine refuses the sandbox: {REFUSAL}")


def parent(pid: str) -> int:
    return int(Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1])


def processes() -> dict[str, str]:
    """Command lines by process id, parts separated by a space."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found[entry.parent.name] = entry.read_text().replace("\0", " ")
    return found


def processes_with(command: str) -> list[str]:
    return [pid for pid, line in processes().items() if command in line]


def exists(path: str | Path) -> bool:
    return Path(path).exists()


def entries(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())
