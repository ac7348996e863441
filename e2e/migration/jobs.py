"""All the v1 jobs whose conversions are verified, each with a name that no other one has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import yaml
from e2e.conformance.case import FOLDER as CASES
from e2e.harness.client import Api, ApiError, Object, connect
from e2e.migration import generated
from e2e.migration.building import JOBSET, meet_dependencies
from e2e.migration.controllers import MINOR
from e2e.support.paths import ROOT
from e2e.support.v1_examples.expected import examples as v1_examples

from training_migration.cluster import connected
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.convert.sharing import shared
from training_migration.runs.api import Api as ProductsApi
from training_migration.targets import NEWEST, Target
from training_migration.v1_job import Invalid, V1Job, v1_job
from training_migration.verify.outcome import Subject, Verification
from training_migration.verify.subjects import converted
from training_migration.verify.verify import How, verify

TARGET = Target(MINOR) if MINOR else NEWEST
"""The release that the cluster has."""
GOLDEN = ROOT / "unit_tests" / "migration" / "golden"
POLL = 0.5


def examples() -> list[V1Job]:
    """The example jobs of v1."""
    return list(_accepted("example", (each.job for each in v1_examples(f"v1-{number}" for number in count()))))


def cases() -> list[V1Job]:
    """The jobs of the conformance suite, but for those that v1 rejects."""
    return list(_accepted("case", (yaml.safe_load(file.read_text())["job"] for file in sorted(CASES.glob("*.yaml")))))


def golden() -> list[V1Job]:
    """The jobs of the corpus of conversions."""
    return list(_accepted("golden", (yaml.safe_load(file.read_text()) for file in sorted(GOLDEN.glob("*/v1.yaml")))))


def made(seed: int, number: int) -> list[V1Job]:
    """Jobs by chance."""
    return list(_accepted("made", generated.jobs(seed, number)))


def _accepted(prefix: str, objects: Iterable[Object]) -> Iterable[V1Job]:
    for number, obj in enumerate(objects):
        name = f"{prefix}-{number}"
        try:
            yield v1_job({**obj, "metadata": {**obj["metadata"], "name": name}}, source=obj["metadata"]["name"])
        except Invalid:
            assert prefix == "case", f"v1 rejects {prefix} {number}"


async def verified(
    kubeconfig: Path, namespace: str, jobs: Sequence[V1Job], *, pods: bool, limit: float = 180.0
) -> list[Verification]:
    """Create a namespace and verify conversions of the jobs there, with their pods or suspended."""
    subjects = [converted(job, TARGET) for job in jobs]
    return await verified_subjects(kubeconfig, namespace, subjects, pods=pods, limit=limit)


def sharing(jobs: Sequence[V1Job]) -> list[Subject]:
    """Conversions on shared runtimes, each under a name of its own: verified one by one, they come and go."""
    results, _ = shared([convert(job, Options(TARGET, namespace="shared")) for job in jobs])
    subjects = []
    for number, each in enumerate(each for each in results if each.runtime_is_shared and each.runtime is not None):
        assert each.runtime is not None
        name = f"{each.runtime['metadata']['name']}-{number}"
        runtime = {**each.runtime, "metadata": {**each.runtime["metadata"], "name": name}}
        reference = {**each.train_job["spec"]["runtimeRef"], "name": name}
        train_job = {**each.train_job, "spec": {**each.train_job["spec"], "runtimeRef": reference}}
        subjects.append(Subject(each.job.source, each.job.line, each.job.job.info.kind, train_job, runtime))
    return subjects


async def verified_subjects(
    kubeconfig: Path, namespace: str, subjects: Sequence[Subject], *, pods: bool, limit: float = 180.0
) -> list[Verification]:
    """Create a namespace and verify these there, with their pods or suspended."""
    how = How(TARGET, namespace, unsuspended=pods, limit=limit)
    async with connect(kubeconfig) as api, connected(str(kubeconfig), "") as transport:
        await api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        with suppress(ApiError):  # it is there already
            await api.create(
                "/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 1000}
            )
        async with node(api, namespace):
            return await verify(ProductsApi(transport), subjects, how)


@asynccontextmanager
async def node(api: Api, namespace: str) -> AsyncIterator[None]:
    """While the context lasts pods get ready where other Jobs wait for that."""

    async def play() -> None:
        while True:
            jobsets = (await api.call("GET", f"{JOBSET}/namespaces/{namespace}/jobsets"))["items"]
            for jobset in jobsets:
                if any(each.get("dependsOn") for each in jobset["spec"]["replicatedJobs"]):
                    await meet_dependencies(api, namespace, jobset["metadata"]["name"])
            await asyncio.sleep(POLL)

    playing = asyncio.create_task(play())
    try:
        yield
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)
