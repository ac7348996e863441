"""The API server admits and rejects what the table says, in clear words."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from e2e.harness.client import Api, ApiError
from e2e.harness.cluster import Cluster
from e2e.support.admission import Admission, admissions
from e2e.support.paths import ROOT

from training_api.constants import GROUP, VERSION
from training_api.registry import KINDS

CASES = ROOT / "e2e" / "conformance" / "cases"


def collection(namespace: str, plural: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}"


@pytest.fixture(scope="module")
def shared_namespace(cluster: Cluster) -> Iterator[str]:
    """One namespace for all: what is judged here is not stored, or deleted again."""
    name = f"e2e-{secrets.token_hex(4)}"
    cluster.run_kubectl("create", "namespace", name)
    yield name
    cluster.run_kubectl("delete", "namespace", name, "--wait=false")


async def submit(api: Api, jobs: str, admission: Admission) -> None:
    """Send the request that the table is about, without lasting effect."""
    if admission.update is None:
        await api.create(f"{jobs}?dryRun=All", admission.job)
        return
    try:
        name = (await api.create(jobs, admission.job))["metadata"]["name"]
    except ApiError as error:
        pytest.fail(f"the job of {admission} itself was rejected: {error}")
    try:
        await api.patch(f"{jobs}/{name}?dryRun=All", admission.update)
    finally:
        await api.delete(f"{jobs}/{name}")


async def wrong(api: Api, namespace: str, admission: Admission) -> str:
    """What the API server answers to the request, unless it is as the table says."""
    try:
        await submit(api, collection(namespace, admission.info.plural), admission)
    except ApiError as error:
        explained = error.status == 422 and admission.field and admission.is_explained_by(error.message)
        return "" if explained else f"{error.status}: {error.message}"
    return "admitted" if admission.field else ""


async def test_verdicts(api: Api, shared_namespace: str) -> None:
    """The kinds beside each other; of each one by one, because some store a job of one name."""

    async def of_kind(plural: str) -> dict[str, str]:
        found = [each for each in admissions() if each.info.plural == plural]
        return {str(each): answer for each in found if (answer := await wrong(api, shared_namespace, each))}

    plurals = {each.info.plural for each in admissions()}
    assert len(plurals) >= len(KINDS)
    answers = await asyncio.gather(*map(of_kind, plurals))
    assert [found for found in answers if found] == []


async def test_recorded_verdicts_of_v1(api: Api, shared_namespace: str) -> None:
    async def rejected(job: dict[str, Any]) -> bool:
        try:
            await api.create(f"{collection(shared_namespace, KINDS[job['kind']].plural)}?dryRun=All", job)
        except ApiError as error:
            assert error.status == 422, error.message
            return True
        return False

    cases = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(CASES.glob("*.yaml"))}
    assert any(case.get("reject") for case in cases.values())
    verdicts = await asyncio.gather(*(rejected(case["job"]) for case in cases.values()))
    assert dict(zip(cases, verdicts, strict=True)) == {name: case.get("reject", False) for name, case in cases.items()}
