"""`python -m e2e.bench.requests`: how many requests the operator needs for the life of a job, from create to Succeeded.

The API server counts them (`apiserver_request_total`). Of what it counted between the creation of a job and the moment
when the operator rests, the requests of this program, which it has counted itself, are taken off; watches, leases and
what the controller manager writes about services and owners is about other resources, or other verbs. There is no
node: the program moves the pods, to Running and to Succeeded, all of them as fast as the server takes it.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

import uvloop
from e2e.bench.many.clean import empty, new_namespace
from e2e.bench.many.stage import Stage
from e2e.harness.client import Api, connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.errors import told
from e2e.harness.floor import fast_client
from e2e.harness.jobs import job
from e2e.harness.operator import Operator, running_operator
from e2e.harness.providers import provide
from e2e.harness.usage import cpu_at_rest

from training_api.registry import KINDS
from training_operator.kube.resources import SERVICES

SIZES = {4: 18, 300: 615}
"""Replicas of a job, and the most requests that its life may take."""
VERBS = ("APPLY", "DELETE", "DELETECOLLECTION", "GET", "LIST", "PATCH", "POST", "PUT")
"""Watches are as long as they like."""
RESOURCES = ("events", "pods", "services", *(info.plural for info in KINDS.values()))
_SERIES = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')

Requests = Counter[tuple[str, str]]
"""How many, by verb and resource with its subresource."""


async def counted(api: Api) -> Requests:
    """What the API server has answered so far that may come from the operator."""
    found: Requests = Counter()
    for series in _SERIES.finditer(await api.text("/metrics")):
        labels = dict(_LABEL.findall(series["labels"]))
        if labels["verb"] in VERBS and labels["resource"] in RESOURCES:
            name = "/".join(filter(None, (labels["resource"], labels["subresource"])))
            found[labels["verb"], name] += int(float(series["value"]))
    return found


async def life(cluster: Cluster, api: Api, operator: Operator, replicas: int) -> Requests:
    """The operator's requests in the life of one job."""
    namespace = await new_namespace(api, f"life-{replicas}")

    looks = 0

    async def no_services() -> bool:
        nonlocal looks
        looks += 1
        return not (await api.call("GET", SERVICES.path(namespace)))["items"]

    async with fast_client(cluster) as client:
        stage = Stage(client, namespace)
        async with stage.watched():
            before = await counted(api)
            await stage.create_jobs([job("life", Master=1, Worker=replicas - 1)])
            await stage.until(lambda: len(stage.pods) == replicas, "all pods")
            await cpu_at_rest(operator.child.pid)
            for phase in ("Running", "Succeeded"):
                await stage.run(phase)
                await cpu_at_rest(operator.child.pid)
            await eventually(no_services, "the services are gone")
            made = await counted(api) - before
    made.subtract({("POST", "pytorchjobs"): 1, ("PATCH", "pods/status"): 2 * replicas, ("LIST", "services"): looks})
    await empty(api, namespace)
    return +made


async def measure(cluster: Cluster, sizes: list[int]) -> dict[int, Requests]:
    """The requests of one life of each size, after one that is not counted."""
    with (
        tempfile.TemporaryDirectory(prefix="training-bench-") as folder,
        running_operator(cluster.kubeconfig, Path(folder) / "operator.log") as operator,
    ):
        async with connect(cluster.kubeconfig) as api:
            await life(cluster, api, operator, 2)
            return {replicas: await life(cluster, api, operator, replicas) for replicas in sizes}


def table(found: dict[int, Requests]) -> str:
    """A line for each verb and resource, and the sum with its target."""
    lines = []
    for replicas, requests in found.items():
        most = SIZES.get(replicas)
        goal = "" if most is None else f"   <= {most}  {'met' if requests.total() <= most else 'MISSED'}"
        lines.append(f"{f'a job of 1 + {replicas - 1}':<40}{requests.total():>7}{goal}")
        lines += [f"    {verb + ' ' + what:<36}{count:>7}" for (verb, what), count in sorted(requests.items())]
    return "\n".join(lines)


def main() -> None:
    """Measure and print; the exit status tells only whether the measurement could be made."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.requests", description=__doc__)
    parser.add_argument("--replicas", type=int, nargs="+", default=[*SIZES], help="sizes of jobs (default: 4 300)")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    arguments = parser.parse_args()
    with told("bench"), provide("bare") as cluster:
        found = uvloop.run(measure(cluster, arguments.replicas))
    if arguments.json:
        named = {size: {" ".join(what): count for what, count in each.items()} for size, each in found.items()}
        print(json.dumps(named, indent=1))
    else:
        print(table(found))


if __name__ == "__main__":
    main()
