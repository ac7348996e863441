"""A run on a cluster with the real controllers of Trainer v2 and JobSet; the test plays the kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from e2e.harness.client import Api, Object
from e2e.harness.cluster import Cluster
from e2e.migration.test_cluster_runs import plan
from e2e.support import marks

from training_migration.runs.both_cluster import cluster_both
from training_migration.runs.cluster import RUN_LABEL, ClusterOptions
from training_migration.runs.record import EndState
from training_migration.runs.recording import Seen, record_of
from training_migration.runs.what import Plan, What

pytestmark = marks.bare  # Trainer v2 is installed into a cluster of its own

ENDED = {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}
TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"


@asynccontextmanager
async def kubelet(api: Api, namespace: str, *exit_codes: int) -> AsyncIterator[None]:
    """End each pod as its index says."""

    async def work() -> None:
        done: set[str] = set()
        while True:
            for pod in (await api.call("GET", f"/api/v1/namespaces/{namespace}/pods"))["items"]:
                if pod["metadata"]["uid"] not in done:
                    done.add(pod["metadata"]["uid"])
                    await end(pod)
            await asyncio.sleep(0.1)

    async def end(pod: Object) -> None:
        code = exit_codes[int(pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"])]
        ended = {"terminated": {"exitCode": code, "finishedAt": "2030-01-01T00:00:00Z"}}
        container = {"name": "node", "image": "any", "imageID": "", "ready": False, "restartCount": 0, "state": ended}
        status = {**ENDED, "phase": "Failed" if code else "Succeeded", "containerStatuses": [container]}
        path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/status"
        await api.call("PATCH", path, {"status": status}, "application/merge-patch+json")

    playing = asyncio.create_task(work())
    try:
        yield
    finally:
        playing.cancel()


async def run(trainer: Cluster, api: Api, namespace: str, *exit_codes: int) -> Seen:
    """Run v2's side of a small job with a witness in it, whose pods end so."""
    both = plan()
    side = Plan(None, both.v2, both.target, both.others)
    options = ClusterOptions(str(trainer.kubeconfig), "", namespace, limit=90.0, settle=10.0, run="r1")
    async with kubelet(api, namespace, *exit_codes):
        [seen] = await cluster_both(side, What(), options, options, print)
    return seen


async def left(api: Api, namespace: str) -> list[str]:
    """What bears the label of a run, and the pods."""
    found = []
    for path in (
        f"/api/v1/namespaces/{namespace}/configmaps",
        *(f"{TRAINER}/namespaces/{namespace}/{p}" for p in KINDS),
    ):
        items = (await api.call("GET", path))["items"]
        found += [each["metadata"]["name"] for each in items if RUN_LABEL in each["metadata"].get("labels", {})]
    return found + [
        p["metadata"]["name"] for p in (await api.call("GET", f"/api/v1/namespaces/{namespace}/pods"))["items"]
    ]


KINDS = ("trainjobs", "trainingruntimes")


async def test_a_train_job_is_followed_to_its_end_and_removed(trainer: Cluster, api: Api, namespace: str) -> None:
    record = record_of(await run(trainer, api, namespace, 0, 0), ())
    assert record.end is EndState.SUCCEEDED, record.reasons
    assert any("jobset completed successfully" in reason for reason in record.reasons), record.reasons
    assert [(pod.role, pod.index, pod.exit_code) for pod in record.pods] == [("node", 0, 0), ("node", 1, 0)]
    assert await left(api, namespace) == []


async def test_a_train_job_that_fails_is_reported(trainer: Cluster, api: Api, namespace: str) -> None:
    record = record_of(await run(trainer, api, namespace, 0, 3), ())
    assert record.end is EndState.FAILED, record.reasons
    assert any("failed job" in reason for reason in record.reasons), record.reasons
    assert (record.pods[1].role, record.pods[1].index, record.pods[1].exit_code) == ("node", 1, 3)
    assert await left(api, namespace) == []
