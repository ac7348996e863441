"""Whom the launcher of an MPIJob may enter, as the API server says, where pods of others have names of workers."""

from __future__ import annotations

import pytest
from e2e.adversary.test_foreign_objects import may, try_again
from e2e.harness.client import Object, eventually
from e2e.harness.jobs import NO_SCHEDULER, Namespace, typical
from e2e.support import marks

pytestmark = [marks.bare, pytest.mark.usefixtures("operator")]

POD = {"schedulerName": NO_SCHEDULER, "containers": [{"name": "db", "image": "example.com/db:1"}]}
THEIRS: Object = {"metadata": {"name": "db-worker-0"}, "spec": POD}


async def entered(jobs: Namespace) -> list[str]:
    """The pods of these names that the launcher of `db` may enter."""
    enter = {"verb": "create", "resource": "pods", "subresource": "exec"}
    names = [f"db-worker-{index}" for index in range(3)]
    return [name for name in names if await may(jobs.api, jobs.name, "db-launcher", name=name, **enter)]


async def may_enter(jobs: Namespace, *indexes: int) -> None:
    wanted = [f"db-worker-{index}" for index in indexes]

    async def so() -> bool:
        return await entered(jobs) == wanted

    await eventually(so, f"the launcher may enter {wanted}, and no others")


async def test_a_pod_of_somebody_else_is_never_among_them(jobs: Namespace) -> None:
    pods, job = f"/api/v1/namespaces/{jobs.name}/pods", f"{jobs.jobs('MPIJob')}/db"
    await jobs.api.create(pods, THEIRS)
    await jobs.create(typical("db", "MPIJob", workers=2))
    await may_enter(jobs, 1)
    assert [pod["metadata"]["name"] for pod in await jobs.pods("db")] == ["db-worker-1"]
    await jobs.api.call("DELETE", f"{pods}/db-worker-0", {"gracePeriodSeconds": 0})
    await try_again(jobs, "db")
    await may_enter(jobs, 0, 1)
    await jobs.pods_reach("db", 3)
    await jobs.api.patch(job, {"spec": {"runPolicy": {"suspend": True}}})
    await may_enter(jobs)
    await jobs.pods_reach("db", 0)
    await jobs.api.create(pods, THEIRS)
    await jobs.api.patch(job, {"spec": {"runPolicy": {"suspend": False}}})
    await may_enter(jobs, 1)
    assert "db-worker-0" not in await entered(jobs)
