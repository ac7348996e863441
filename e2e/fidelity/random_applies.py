"""`python -m e2e.fidelity.random_applies`: random applies and updates, equal on the real and the embedded API server.

Each run is a sequence of requests by several managers about one object; answers and owners of fields are compared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from e2e.fidelity.owners import apply, config_map, define_jobs, job, job_status, service, show_owners, worker
from e2e.fidelity.player import MERGE, Json, Player, session_of
from e2e.fidelity.suite import Case, play, prepare
from e2e.harness.providers import provide
from e2e.support.embedded import embedded

STEPS = 12
_FIRST_VERSION = 100_000
"""No number of a port can be taken for a version."""
MANAGERS = ("one", "two", "kubectl")
Sort = tuple[str, Callable[[Random], Json]]


def some(rng: Random, values: Json) -> Json:
    """A random part of a map."""
    return {key: value for key, value in values.items() if rng.random() < 0.5}


def word(rng: Random) -> str:
    """A short text; few, so that managers agree now and then."""
    return rng.choice("ab")


def random_config_map(rng: Random) -> Json:
    """A configuration of a config map."""
    finalizers = [f"example.com/{name}" for name in "xyz" if rng.random() < 0.4]
    meta = some(rng, {"labels": some(rng, {"l": word(rng), "m": word(rng)}), "finalizers": finalizers})
    return config_map(some(rng, {key: word(rng) for key in "xyz"}) if rng.random() < 0.8 else None, **meta)


def random_service(rng: Random) -> Json:
    """A configuration of a service."""
    names = rng.sample(["http", "ssh", "dns"], rng.randint(1, 3))
    numbers = {"http": 80, "ssh": 22, "dns": 53}
    ports = [{"name": name, "port": numbers[name], **some(rng, {"targetPort": rng.choice([1, 2])})} for name in names]
    return service(*ports, selector={word(rng): word(rng)}, **some(rng, {"publishNotReadyAddresses": True}))


def random_job(rng: Random) -> Json:
    """A configuration of a custom resource."""
    port = {
        "containerPort": rng.choice([1, 2]),
        **some(rng, {"protocol": rng.choice(["TCP", "UDP"]), "name": word(rng)}),
    }
    containers = [{"name": name, **some(rng, {"image": word(rng), "ports": [port]})} for name in rng.sample("mn", 1)]
    parts = {
        "replicaSpecs": some(rng, {"Worker": worker(rng.choice([None, 1, 2]), *containers), "Master": worker(1)}),
        "tags": rng.sample("abc", rng.randint(1, 3)),
        "args": [word(rng)],
        "selector": {word(rng): word(rng)},
        "settings": {word(rng): word(rng)},
        "free": {word(rng): rng.choice([1, [1], {"x": {"y": word(rng)}}])},
        "slots": rng.choice([1, "auto"]),
        "runPolicy": some(rng, {"cleanPodPolicy": word(rng), "backoffLimit": 1}),
    }
    return job(**some(rng, parts))


def random_status(rng: Random) -> Json:
    """A configuration of a custom resource's status."""
    keyed = [{"type": each, **some(rng, {"status": word(rng)})} for each in rng.sample("AB", rng.randint(1, 2))]
    active = {"Worker": {"active": rng.choice([1, 2])}}
    return job_status(**some(rng, {"keyed": keyed, "conditions": keyed, "replicas": 1, "replicaStatuses": active}))


def case_of(seed: int) -> Case:
    """The sequence of a seed."""

    async def case(api: Player) -> None:
        rng = Random(seed)
        jobs = await define_jobs(api)
        collection, make = rng.choice(
            [("configmaps", random_config_map), ("services", random_service), (jobs, random_job)]
        )
        for _ in range(STEPS):
            await _step(api, rng, collection, make)

    return case


async def _step(api: Player, rng: Random, collection: str, make: Callable[[Random], Json]) -> None:
    path, manager, config = f"{collection}/a", rng.choice(MANAGERS), make(rng)
    force: Any = {"force": "true"} if rng.random() < 0.4 else {}
    if collection.endswith("appliedjobs") and rng.random() < 0.2:
        path, config = f"{path}/status", random_status(rng)
    if rng.random() < 0.6:
        answer = await api.quietly(
            "PATCH", f"{path}?fieldManager={manager}{'&force=true' if force else ''}", config, _APPLY
        )
        if answer.status == 409:
            # The real server lists conflicts with several managers in any order.
            causes = sorted((each["message"], each["field"]) for each in answer.body["details"]["causes"])
            api.note("conflicts", causes)
            return
        await apply(api, path, config, manager, **force)
    else:
        change = {key: value for key, value in config.items() if key in ("data", "spec", "status")}
        meta = {key: value for key, value in config["metadata"].items() if key != "name"}
        await api.patch(path, {**change, "metadata": meta}, MERGE, fieldManager=manager)
    if (await api.quietly("GET", path)).status == 200:
        await show_owners(api, path)


_APPLY = "application/apply-patch+yaml"


@asynccontextmanager
async def _embedded() -> AsyncIterator[Path]:
    """The kubeconfig of an embedded server."""
    with TemporaryDirectory() as folder:
        async with embedded(Path(folder)) as (server, kubeconfig):
            server.state.storage.version = _FIRST_VERSION
            yield kubeconfig


async def compare(real: Path, first: int, runs: int) -> int:
    """Play the sequences on both servers; return how many differ."""
    different = 0
    async with (
        _embedded() as local,
        session_of(real) as (real_session, real_url),
        session_of(local) as (local_session, local_url),
    ):
        await prepare(real_session, real_url)
        await prepare(local_session, local_url)
        for seed in range(first, first + runs):
            expected = await play(case_of(seed), real_session, real_url)
            found = await play(case_of(seed), local_session, local_url)
            if expected != found:
                different += 1
                pairs = enumerate(zip(expected, found, strict=False))
                number = next((number for number, (one, other) in pairs if one != other), -1)
                print(f"seed {seed}, note {number}:")
                print(f"  real  {json.dumps(expected[number])}\n  local {json.dumps(found[number])}")
    print(f"{runs} sequences of {STEPS} requests, {different} different")
    return different


def main() -> int:
    """Compare; the exit status is 1 if anything differs."""
    parser = argparse.ArgumentParser(prog="python -m e2e.fidelity.random_applies", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help="of a real cluster; without it one is started")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    if arguments.kubeconfig:
        return min(1, asyncio.run(compare(arguments.kubeconfig, arguments.seed, arguments.runs)))
    with provide("bare") as cluster:
        return min(1, asyncio.run(compare(cluster.kubeconfig, arguments.seed, arguments.runs)))


if __name__ == "__main__":
    sys.exit(main())
