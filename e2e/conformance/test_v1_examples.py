"""The example jobs of Training Operator 1.9 are accepted, and become exactly the objects that v1 makes of them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from e2e.harness.client import Api, ApiError, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator
from e2e.support.v1_examples.expected import Example, examples

Object = dict[str, Any]

RUN = f"v1-{secrets.token_hex(3)}"
EXAMPLES = tuple(examples(f"{RUN}-{number}" for number in count()))
SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
"""What of the metadata is the API server's."""


@dataclass(frozen=True)
class Outcome:
    """What the API server made of one example, and the operator of the job."""

    stored: Object
    """The spec as it was stored."""
    expected: dict[str, list[Object]]
    """By collection, with the defaults that the API server adds."""
    found: dict[str, list[Object]]
    conditions: list[str]


async def play(api: Api, example: Example) -> Outcome:
    """Create the job, wait until all is there that is expected, and return everything that is there."""
    job = await api.create(example.collection, example.job)
    wanted = example.objects(job["metadata"]["uid"])

    async def found() -> dict[str, list[Object]] | None:
        lists = {path: [*map(shown, await owned(api, path, job))] for path in wanted}
        return lists if all(len(lists[path]) >= len(wanted[path]) for path in wanted) else None

    there = await eventually(found, f"the objects of {example}: {sorted(wanted)}")
    for name in [each["metadata"]["name"] for each in there[next(iter(wanted))]]:
        path = f"/api/v1/namespaces/{example.namespace}/pods/{name}/status"
        try:
            await api.patch(path, {"status": {"phase": "Succeeded"}})
        except ApiError as error:
            if error.status != 404:  # cleaned up, because the pods before have ended the job
                raise
    path = f"{example.collection}/{example.job_name}"

    async def conditions() -> list[str] | None:
        listed = (await api.call("GET", path)).get("status", {}).get("conditions", [])
        held = [each["type"] for each in listed if each["status"] == "True"]
        return held if held[-1:] == ["Succeeded"] else None

    ended = await eventually(conditions, f"the end of {example}")
    return Outcome(job["spec"], await defaulted(api, wanted), there, ended)


async def defaulted(api: Api, wanted: dict[str, list[Object]]) -> dict[str, list[Object]]:
    """The objects as the API server would store them, under names that are free."""
    complete: dict[str, list[Object]] = {}
    for path, objects in wanted.items():
        complete[path] = []
        for each in objects:
            name = each["metadata"]["name"]
            free = {**each, "metadata": {**each["metadata"], "name": f"x-{name}"[:63].rstrip("-")}}
            stored = shown(await api.call("POST", f"{path}?dryRun=All", free))
            complete[path].append({**stored, "metadata": {**stored["metadata"], "name": name}})
    return complete


async def owned(api: Api, path: str, job: Object) -> list[Object]:
    listed = (await api.call("GET", path))["items"]
    uid = job["metadata"]["uid"]
    return [each for each in listed if uid in {o["uid"] for o in each["metadata"].get("ownerReferences", ())}]


def shown(obj: Object) -> Object:
    """The object without what is the API server's, and without the words of the script of an init container."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in SERVERS_OWN}
    rest = {key: value for key, value in obj.items() if key not in ("metadata", "status", "apiVersion", "kind")}
    for container in rest.get("spec", {}).get("initContainers", ()):
        if container.get("command", [])[:2] == ["sh", "-c"]:
            container["command"] = ["sh", "-c", "(a script)"]
    return {"metadata": meta, **rest}


@pytest.fixture(scope="module")
def outcomes(cluster: Cluster, operator: Operator) -> Iterator[dict[str, Outcome]]:
    """All examples, played at the same time to one operator."""

    async def play_all() -> dict[str, Outcome]:
        async with connect(cluster.kubeconfig) as api:
            for example in EXAMPLES:
                await api.create("/api/v1/namespaces", {"metadata": {"name": example.namespace}})
            played = await asyncio.gather(*(play(api, example) for example in EXAMPLES))
            return dict(zip(map(str, EXAMPLES), played, strict=True))

    async def clean_up() -> None:
        async with connect(cluster.kubeconfig) as api:
            await asyncio.gather(*(api.delete(f"/api/v1/namespaces/{each.namespace}") for each in EXAMPLES))

    try:
        yield asyncio.run(play_all())
    finally:
        asyncio.run(clean_up())
    assert "Traceback" not in operator.child.output()


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
class TestExample:
    """One example."""

    def test_is_stored_as_it_was_written(self, outcomes: dict[str, Outcome], example: Example) -> None:
        stored = dict(outcomes[str(example)].stored)
        assert stored.pop("runPolicy") == {"suspend": False, **example.job["spec"].get("runPolicy", {})}
        given = {key: value for key, value in example.job["spec"].items() if key != "runPolicy"}
        assert stored == as_stored(given)

    def test_becomes_the_objects_of_v1(self, outcomes: dict[str, Outcome], example: Example) -> None:
        outcome = outcomes[str(example)]
        assert outcome.found.keys() == outcome.expected.keys()
        for path, expected in outcome.expected.items():
            assert by_name(outcome.found[path]) == by_name(expected)

    def test_succeeds_with_its_pods(self, outcomes: dict[str, Outcome], example: Example) -> None:
        assert outcomes[str(example)].conditions == ["Created", "Succeeded"]


def by_name(objects: list[Object]) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in objects}


def as_stored(value: Any) -> Any:
    """A spec as v1's CRDs store it, too: templates lose `apiVersion` and `kind`, ports are of TCP by default."""
    if isinstance(value, list):
        return [as_stored(each) for each in value]
    if not isinstance(value, dict):
        return value
    stored = {key: as_stored(each) for key, each in value.items()}
    if "containerPort" in stored:
        stored.setdefault("protocol", "TCP")
    if "template" in stored:
        stored["template"] = {k: v for k, v in stored["template"].items() if k not in ("apiVersion", "kind")}
    return stored


def test_there_are_as_many_as_in_v1() -> None:
    """9, 8, 2, 2, 2 in release 1.9; of the five TFJobs one is of an older release."""
    kinds = [example.job["kind"] for example in EXAMPLES]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "PyTorchJob": 9,
        "TFJob": 5,
        "XGBoostJob": 8,
        "MPIJob": 2,
        "PaddleJob": 2,
        "JAXJob": 2,
    }
