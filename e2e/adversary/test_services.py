"""Services with the labels of a job that are not its own: none goes with those of the job."""

from __future__ import annotations

import pytest
from e2e.harness.client import Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.floor import fast_client
from e2e.harness.jobs import Namespace, job
from e2e.support import marks

from training_operator.kube.resources import SERVICES

pytestmark = [marks.bare]

LABEL = "training.kubeflow.org/job-name"


def labelled(name: str, job_name: str) -> Object:
    return {"metadata": {"name": name, "labels": {LABEL: job_name}}, "spec": {"clusterIP": "None"}}


async def names(jobs: Namespace) -> list[str]:
    found = await jobs.api.call("GET", SERVICES.path(jobs.name))
    return sorted(each["metadata"]["name"] for each in found["items"])


@pytest.mark.usefixtures("operator")
async def test_a_service_that_has_a_job_s_label_stays_when_those_of_the_job_go(jobs: Namespace) -> None:
    body = job("lab", Master=1, Worker=2)
    await jobs.api.create(SERVICES.path(jobs.name), labelled("stranger", "lab"))
    await jobs.run_to_success(body)

    async def alone() -> bool:
        return await names(jobs) == ["stranger"]

    await eventually(alone, "the services of the job are gone")


async def test_what_gets_a_label_after_a_version_is_not_deleted_by_the_list_of_that_version(
    cluster: Cluster, jobs: Namespace
) -> None:
    """The real server lists as of exactly that version before it deletes: on that the operator relies."""
    path = SERVICES.path(jobs.name)
    for name in ("a", "b", "c"):
        await jobs.api.create(path, labelled(name, "lab"))
    version = (await jobs.api.call("GET", path))["metadata"]["resourceVersion"]
    await jobs.api.create(path, labelled("late", "lab"))
    await jobs.api.create(path, {"metadata": {"name": "other"}, "spec": {"clusterIP": "None"}})
    async with fast_client(cluster) as client:
        await client.delete_listed(SERVICES, jobs.name, selector=f"{LABEL}=lab", version=version)
    assert await names(jobs) == ["late", "other"]
