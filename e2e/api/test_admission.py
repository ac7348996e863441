"""The API server admits and refuses what the table says, in clear words."""

from __future__ import annotations

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
        pytest.fail(f"the job itself was refused: {error}")
    try:
        await api.patch(f"{jobs}/{name}?dryRun=All", admission.update)
    finally:
        await api.delete(f"{jobs}/{name}")


@pytest.mark.parametrize("admission", [*admissions()], ids=str)
async def test_verdict(api: Api, shared_namespace: str, admission: Admission) -> None:
    jobs = collection(shared_namespace, admission.info.plural)
    if not admission.field:
        await submit(api, jobs, admission)
        return
    with pytest.raises(ApiError) as refusal:
        await submit(api, jobs, admission)
    assert refusal.value.status == 422
    assert admission.is_explained_by(refusal.value.message), refusal.value.message


def recorded_jobs() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        case = yaml.safe_load(path.read_text())
        yield pytest.param(case["job"], case.get("reject", False), id=path.stem)


@pytest.mark.parametrize(("job", "refused"), [*recorded_jobs()])
async def test_recorded_verdict_of_v1(api: Api, shared_namespace: str, job: dict[str, Any], refused: bool) -> None:
    jobs = collection(shared_namespace, KINDS[job["kind"]].plural)
    try:
        await api.create(f"{jobs}?dryRun=All", job)
    except ApiError as error:
        assert refused, error.message
        assert error.status == 422
    else:
        assert not refused
