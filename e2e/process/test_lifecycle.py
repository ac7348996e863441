"""Start, stop and hand-over of operator processes."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace, job
from e2e.harness.operator import Operator, running_operator
from e2e.support.profiles import often


async def test_sigterm_ends_it_with_status_0_and_a_successor_goes_on(
    cluster: Cluster, jobs: Namespace, tmp_path: Path
) -> None:
    body = job("handed-over", Master=1)
    with running_operator(cluster.kubeconfig, tmp_path / "first.log"):
        await jobs.create(body)
        await jobs.pods_reach("handed-over", 1)
    await jobs.set_phase("handed-over", "Succeeded")
    with running_operator(cluster.kubeconfig, tmp_path / "second.log"):
        await jobs.condition(body, "Succeeded")


async def _holder(api: Api, namespace: str) -> str:
    """Who holds the lease, once there is a holder."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/1ca428e5.training-operator.kubeflow.org"

    async def holder() -> str | None:
        lease: Object = await api.get(path) or {"spec": {}}
        found: str | None = lease["spec"].get("holderIdentity")
        return found

    return await eventually(holder, f"a holder of {path}")


@pytest.mark.parametrize("ending", often(["crash", "stop"], "crash"))
async def test_another_process_takes_over(cluster: Cluster, jobs: Namespace, tmp_path: Path, ending: str) -> None:
    flags = ("--leader-elect", f"--operator-namespace={jobs.name}")
    with ExitStack() as stack:
        leader = Operator(cluster.kubeconfig, tmp_path / "leader.log", *flags)
        stack.callback(leader.child.kill)
        first = await _holder(jobs.api, jobs.name)
        stack.enter_context(running_operator(cluster.kubeconfig, tmp_path / "follower.log", *flags))
        await jobs.run_to_success(job("first", Master=1))
        if ending == "crash":
            leader.child.kill()
        else:
            assert leader.child.stop() == 0

        body = job("second", Master=1)
        await jobs.create(body)
        await jobs.pods_reach("second", 1, limit=40)
        assert await _holder(jobs.api, jobs.name) != first
        await jobs.set_phase("second", "Succeeded")
        await jobs.condition(body, "Succeeded")
