"""`python -m e2e.endurance.durability --kills 100 --seed N`: what a journal has acknowledged survives SIGKILL.

Several clients create, replace, patch and delete objects over HTTPS, each those of its own names, while one watches.
At a random moment the server is killed and started again on the same folder. Then every object must be as it was
acknowledged, or as the one write without an answer would have left it; nothing else may be there.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from e2e.harness.client import Api, ApiError, Object, connect
from e2e.harness.processes import Child
from e2e.support.widgets import WIDGETS

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
WIDGET_OBJECTS = "/apis/fidelity.example.com/v1/namespaces/default/widgets"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLLECTIONS = (CONFIG_MAPS, WIDGET_OBJECTS)
ROOT_CERTIFICATE = "kube-root-ca.crt"
"""The one config map that the server makes."""
CLIENTS = 6
NAMES = 12
"""Objects of one client."""
LONGEST_STORM = 0.4
"""Seconds from the first write to the kill, at most."""
EARLIEST_KILL = 0.1
"""Share of the kills that hit the start of the server, before it answers."""
_ENDED = (aiohttp.ClientError, OSError, asyncio.TimeoutError)


class Lost(AssertionError):
    """The server broke its promise."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What a client knows of one state of an object."""

    number: int
    uid: str
    version: int


@dataclass
class Known:
    """What a client knows of one object: the acknowledged state, and the write that has no answer yet."""

    acknowledged: Stored | None = None
    in_flight: bool = False
    wanted: int | None = None
    """Number that the write in flight would leave; None for a deletion."""


@dataclass
class Figures:
    """What was seen."""

    acknowledged: int = 0
    unanswered: int = 0
    unanswered_stored: int = 0
    expired_watches: int = 0
    events: int = 0
    highest: int = 0
    """Highest version in any answer or event."""
    listed: int = 0
    """Highest version before the first write of the last life; a watch from there expires in the next one."""
    restarts: list[float] = field(default_factory=list)


def content(number: int) -> dict[str, str]:
    """Data that can be recognized as whole, of up to 20 KB."""
    text = hashlib.sha256(str(number).encode()).hexdigest()
    return {"number": str(number), "filler": text * (1 + number % 7 * 50)}


def body(path: str, name: str, number: int) -> Object:
    """An object with the content of `number`."""
    if path == CONFIG_MAPS:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": content(number)}
    free = {"free": content(number), "size": 1}
    return {"apiVersion": "fidelity.example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": free}


def read(obj: Object) -> Stored:
    """The state of an object; raises `Lost` if its content is not whole."""
    data = obj["data"] if "data" in obj else obj["spec"]["free"]
    number = int(data["number"])
    if data != content(number):
        raise Lost(f"{obj['metadata']['name']} is not whole")
    return Stored(number, obj["metadata"]["uid"], int(obj["metadata"]["resourceVersion"]))


class Client:
    """Writes objects of its own names in one collection."""

    def __init__(self, number: int, rng: random.Random, figures: Figures) -> None:
        self.path = COLLECTIONS[number % len(COLLECTIONS)]
        self.known = {f"client-{number}-{index}": Known() for index in range(NAMES)}
        self._rng = rng
        self._figures = figures
        self._count = 0

    async def storm(self, api: Api) -> None:
        """Write until the server is gone."""
        while True:
            name = self._rng.choice(list(self.known))
            known = self.known[name]
            self._count += 1
            known.in_flight, known.wanted = True, self._count
            try:
                after = await self._write(api, name, known)
            except _ENDED:
                self._figures.unanswered += 1
                return
            self._acknowledge(known, after)
            self._figures.acknowledged += 1

    async def _write(self, api: Api, name: str, known: Known) -> Stored | None:
        before, path = known.acknowledged, f"{self.path}/{name}"
        wanted = body(self.path, name, self._count)
        if before is None:
            return read(await api.create(self.path, wanted))
        choice = self._rng.random()
        if choice < 0.25:
            known.wanted = None
            await api.call("DELETE", path)
            return None
        if choice < 0.6:
            return read(await api.patch(path, wanted))
        wanted["metadata"]["resourceVersion"] = str(before.version)
        return read(await api.call("PUT", path, wanted))

    def _acknowledge(self, known: Known, after: Stored | None) -> None:
        before = known.acknowledged
        if after is not None:
            if after.version <= (before.version if before else 0):
                raise Lost(f"version {after.version} came after {before}")
            self._figures.highest = max(self._figures.highest, after.version)
        known.acknowledged, known.in_flight = after, False

    def compare(self, found: dict[str, Stored]) -> None:
        """Compare what a restarted server has with what is known; from then on that is known."""
        for name, known in self.known.items():
            before, after = known.acknowledged, found.pop(name, None)
            if after != before:
                if not known.in_flight or (after.number if after else None) != known.wanted:
                    raise Lost(f"{name}: acknowledged {before}, in flight {known}, found {after}")
                if before and after and (after.uid != before.uid or after.version <= before.version):
                    raise Lost(f"{name}: another uid or an older version: {before}, {after}")
                self._figures.unanswered_stored += 1
            known.acknowledged, known.in_flight = after, False


@asynccontextmanager
async def server(folder: Path) -> AsyncIterator[Child]:
    """A server on the state in `folder`; it is killed at the end."""
    kubeconfig = folder / "kubeconfig"
    kubeconfig.unlink(missing_ok=True)
    command: list[str | Path] = [sys.executable, "-m", "e2e.harness.local_server", kubeconfig, folder / "data"]
    child = Child(command, folder / "log")
    try:
        yield child
    finally:
        child.kill()
        child.process.wait()


async def ready(child: Child, kubeconfig: Path) -> None:
    """Wait until the server answers."""
    while not kubeconfig.exists():  # noqa: ASYNC240  # a look at a local file, no reading
        child.check_alive()
        await asyncio.sleep(0.005)


async def follow(api: Api, version: str, figures: Figures) -> None:
    """Watch from `version` on; after a restart the history is gone, and a list gives a new version to go on from."""
    with suppress(*_ENDED):
        async for event in api.watch(CONFIG_MAPS, version):
            if event["type"] == "ERROR":
                if event["object"]["code"] != 410:
                    raise Lost(f"a watch from {version} was rejected: {event['object']}")
                figures.expired_watches += 1
                listed = await api.call("GET", CONFIG_MAPS)
                await follow(api, listed["metadata"]["resourceVersion"], figures)
                return
            if event["object"]["metadata"]["name"] != ROOT_CERTIFICATE:
                read(event["object"])
            figures.events += 1
            figures.highest = max(figures.highest, int(event["object"]["metadata"]["resourceVersion"]))


async def compare(api: Api, clients: list[Client], figures: Figures) -> None:
    """Compare a restarted server's objects with what its clients know."""
    for path in COLLECTIONS:
        listed = await api.call("GET", path)
        if (version := int(listed["metadata"]["resourceVersion"])) < figures.highest:
            raise Lost(f"the version went back from {figures.highest} to {version}")
        items = [item for item in listed["items"] if item["metadata"]["name"] != ROOT_CERTIFICATE]
        found = {item["metadata"]["name"]: read(item) for item in items}
        for client in clients:
            if client.path == path:
                client.compare(found)
        if found:
            raise Lost(f"no client created {sorted(found)}")


async def one_life(folder: Path, clients: list[Client], rng: random.Random, figures: Figures) -> None:
    """Start the server, compare, write, kill it."""
    async with server(folder) as child:
        begun = time.monotonic()
        if rng.random() < EARLIEST_KILL and figures.restarts:
            await asyncio.sleep(rng.random() * figures.restarts[-1])
            return
        await ready(child, folder / "kubeconfig")
        figures.restarts.append(time.monotonic() - begun)
        async with connect(folder / "kubeconfig") as api, asyncio.TaskGroup() as tasks:
            with suppress(ApiError):
                await api.create(DEFINITIONS, WIDGETS)
                await asyncio.sleep(0.05)  # until it is established, the first time
            await compare(api, clients, figures)
            tasks.create_task(follow(api, str(figures.listed or ""), figures))
            figures.listed = figures.highest
            for client in clients:
                tasks.create_task(client.storm(api))
            await asyncio.sleep(rng.random() * LONGEST_STORM)
            child.kill()


async def run(folder: Path, kills: int, seed: int) -> Figures:
    """Kill the server `kills` times; raises `Lost` if it lost anything."""
    rng, figures = random.Random(seed), Figures()
    clients = [Client(number, random.Random(rng.random()), figures) for number in range(CLIENTS)]
    for done in range(1, kills + 1):
        await one_life(folder, clients, rng, figures)
        if done % 10 == 0:
            print(f"{done} kills, {figures.acknowledged} writes acknowledged, none lost", flush=True)
    async with server(folder) as child:
        await ready(child, folder / "kubeconfig")
        async with connect(folder / "kubeconfig") as api:
            await compare(api, clients, figures)
    return figures


def main() -> None:
    """Run and report; exit status 1 if anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            figures = asyncio.run(run(Path(folder), given.kills, given.seed))
        except* Lost as group:
            sys.exit(f"LOST with --seed {given.seed}: {group.exceptions}")
    slowest = max(figures.restarts)
    print(
        f"{given.kills} kills with seed {given.seed}: {figures.acknowledged} writes acknowledged and none lost; "
        f"of {figures.unanswered} without an answer {figures.unanswered_stored} were stored as a whole; "
        f"{figures.events} watch events, {figures.expired_watches} watches expired and went on from a list; "
        f"version {figures.highest}; slowest start {slowest:.2f} s"
    )


if __name__ == "__main__":
    main()
