"""The API server admits and refuses what the table says, in clear words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.admission import Admission, admissions
from e2e.harness.client import Api, ApiError

from training_api.constants import GROUP, VERSION
from training_api.registry import KINDS

CASES = Path(__file__).with_name("conformance") / "cases"


def collection(namespace: str, plural: str) -> str:
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}"


@pytest.mark.parametrize("admission", [*admissions()], ids=str)
async def test_verdict(api: Api, namespace: str, admission: Admission) -> None:
    jobs = collection(namespace, admission.info.plural)

    async def act() -> None:
        if admission.update is None:
            await api.create(jobs, admission.job)
        else:
            name = (await api.create(jobs, admission.job))["metadata"]["name"]
            acted.append("created")
            await api.patch(f"{jobs}/{name}", admission.update)

    acted: list[str] = []
    if not admission.field:
        await act()
        return
    with pytest.raises(ApiError) as refusal:
        await act()
    assert refusal.value.status == 422
    assert bool(acted) == (admission.update is not None), "the wrong request was refused"
    assert admission.is_explained_by(refusal.value.message), refusal.value.message


def recorded_jobs() -> Iterator[Any]:
    for path in sorted(CASES.glob("*.yaml")):
        case = yaml.safe_load(path.read_text())
        yield pytest.param(case["job"], case.get("reject", False), id=path.stem)


@pytest.mark.parametrize(("job", "refused"), [*recorded_jobs()])
async def test_recorded_verdict_of_v1(api: Api, namespace: str, job: dict[str, Any], refused: bool) -> None:
    jobs = collection(namespace, KINDS[job["kind"]].plural)
    try:
        await api.create(jobs, job)
    except ApiError as error:
        assert refused, error.message
        assert error.status == 422
    else:
        assert not refused
