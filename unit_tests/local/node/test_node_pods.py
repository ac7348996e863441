"""Pods become processes, and their status says what became of them."""

from __future__ import annotations

from unit_tests.local.node.support import Cluster


async def test_a_pod_runs_and_succeeds(cluster: Cluster) -> None:
    status = await cluster.run("hello", "sh", "-c", "echo hello; echo oops >&2")
    assert status["phase"] == "Succeeded"
    (container,) = status["containerStatuses"]
    assert container["state"]["terminated"]["exitCode"] == 0
    assert container["state"]["terminated"]["reason"] == "Completed"
    assert sorted((await cluster.log("hello")).splitlines()) == ["hello", "oops"]
