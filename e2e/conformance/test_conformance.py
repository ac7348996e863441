"""The operator behaves as recorded from the Go operator, but for differences that are meant."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.conformance.activity import watching
from e2e.conformance.case import Case, case_names
from e2e.conformance.compare import Deviations, Record, Snapshot, differences, differences_of_step
from e2e.deployment.installation import account_kubeconfig, asked, grant
from e2e.harness.client import ApiError, connect
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import PLURALS
from e2e.harness.operator import Operator, running_operator
from e2e.support import marks

HERE = Path(__file__).parent
DEVIATIONS = HERE / "deviations.yaml"
CASES = case_names(["*"])

Outcome = Record | Exception


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """One operator for all cases, where it can be with the rights of an installation and no others."""
    folder = tmp_path_factory.mktemp("operator")
    kubeconfig = cluster.kubeconfig
    if cluster.provider == "bare":
        grant(cluster)
        kubeconfig = account_kubeconfig(cluster, "kubeflow", folder)
    with running_operator(kubeconfig, folder / "operator.log") as operator:
        yield operator


@pytest.fixture(scope="module")
def outcomes(cluster: Cluster, operator: Operator) -> dict[str, Outcome]:
    """All cases, played at the same time in front of one operator."""
    return asyncio.run(_play_all(cluster.kubeconfig))


async def _play_all(kubeconfig: Path) -> dict[str, Outcome]:
    async with connect(kubeconfig) as api:
        try:
            pod = await api.create("/api/v1/namespaces/default/pods?dryRun=All", PROBE)
        except ApiError as error:
            pytest.fail(f"the API server rejects a plain pod: {error}")
        if "serviceAccountName" in pod["spec"]:
            pytest.skip("the recordings were made without ServiceAccount admission, which this cluster has")
        async with watching(api, PLURALS.values()) as activity:
            cases = [Case(api, activity, name, _as_meant(name)) for name in CASES]
            found = await asyncio.gather(*map(_outcome, cases))
    return dict(zip(CASES, found, strict=True))


def _as_meant(case: str) -> Callable[[Snapshot], bool]:
    """Whether a step's state is as meant; after the last one also all that only this operator does, as its events."""
    golden, deviations = _golden(case), Deviations.load(DEVIATIONS)

    def as_meant(snapshot: Snapshot) -> bool:
        if deviations.unexplained(case, differences_of_step(golden, snapshot)):
            return False
        return snapshot["step"] != golden["snapshots"][-1]["step"] or not deviations.unused(case)

    return as_meant


def _golden(case: str) -> Record:
    golden: Record = json.loads((HERE / "golden" / f"{case}.json").read_text())
    return golden


async def _outcome(case: Case) -> Outcome:
    try:
        return await case.record()
    except Exception as error:  # fails the test of this case, not those of the others
        return error


PROBE = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "probe", "image": "probe:1"}]}}


def _differences(case: str, outcomes: dict[str, Outcome], deviations: Deviations) -> list[str]:
    outcome = outcomes[case]
    if isinstance(outcome, Exception):
        raise outcome
    return [str(difference) for difference in deviations.unexplained(case, differences(_golden(case), outcome))]


@pytest.fixture(scope="module")
def deviations() -> Deviations:
    return Deviations.load(DEVIATIONS)


@pytest.mark.parametrize("case", CASES)
def test_case_equals_its_recording(case: str, outcomes: dict[str, Outcome], deviations: Deviations) -> None:
    found = _differences(case, outcomes, deviations)
    assert not found, "\n".join([f"{len(found)} leaves differ:", *found])


def test_every_deviation_is_seen(outcomes: dict[str, Outcome], deviations: Deviations) -> None:
    for case in CASES:
        _differences(case, outcomes, deviations)
    assert deviations.unused() == []


@marks.bare  # the API server's audit log is needed
def test_no_case_needs_a_right_that_an_installation_lacks(cluster: Cluster, outcomes: dict[str, Outcome]) -> None:
    requests = list(asked(cluster))
    assert requests, "the operator has not run as its account"
    assert not sorted({right for right, allowed in requests if not allowed})
