"""`python -m e2e.bench.many.follower KUBECONFIG NAMESPACE PODS`: the least that follows pods, as a floor for lags.

A process with the operator's client and decoders that watches the pods of a namespace, and once all `PODS` of a job are
in one phase says so in its status, by one write without a condition. It decides nothing, caches nothing, and sends
nothing else.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import uvloop
from e2e.bench.many.stage import JOBS
from e2e.harness.cluster import Cluster
from e2e.harness.floor import fast_client

from training_controllers.model.records import PodRecord
from training_operator.kube.client import KubeClient
from training_operator.kube.resources import PODS

FOLLOWING = "following"
"""What it prints once it watches."""
AT_ONCE = 64
"""Statuses in flight: as many as the operator sends."""


def status(name: str, phase: str) -> dict[str, object]:
    """A status that says the phase, about as long as the operator's."""
    now = "2026-01-01T00:00:00Z"
    sentence = f"PyTorchJob default/{name} is {phase} because all of its replicas are."
    condition = {"type": phase, "status": "True", "reason": f"PyTorchJob{phase}", "message": sentence}
    labels = f"training.kubeflow.org/job-name={name},training.kubeflow.org/replica-type=worker"
    counters = {"active": 1, "selector": labels}
    return {
        "conditions": [{**condition, "lastUpdateTime": now, "lastTransitionTime": now}],
        "replicaStatuses": {"Master": counters, "Worker": counters},
        "startTime": now,
    }


async def follow(client: KubeClient, namespace: str, pods: int) -> None:
    """Follow the pods until cancelled."""
    phases: dict[str, dict[str, str]] = {}

    async def say(name: str, phase: str) -> None:
        await client.patch(JOBS, namespace, name, {"status": status(name, phase)}, subresource="status")

    def saw(pod: PodRecord) -> bool:
        """Whether all pods of the job are in the phase of this one now."""
        if pod.owner is None or pod.phase not in ("Running", "Succeeded"):
            return False
        known = phases.setdefault(pod.owner.name, {})
        if known.get(pod.name) == pod.phase:
            return False
        known[pod.name] = pod.phase
        return list(known.values()).count(pod.phase) == pods

    version = "0"
    async with asyncio.TaskGroup() as saying:
        while True:  # a busy API server ends watches
            async with client.watch(PODS, namespace, version=version, seconds=3600) as events:
                print(FOLLOWING, flush=True)
                async for event in events:
                    if event.type not in ("ADDED", "MODIFIED"):
                        continue
                    pod = PODS.decode(event.object)
                    version = pod.version
                    if saw(pod) and pod.owner is not None:
                        saying.create_task(say(pod.owner.name, pod.phase))


async def main(kubeconfig: str, namespace: str, pods: int) -> None:
    """Connect, and follow."""
    async with fast_client(Cluster("bare", Path(kubeconfig), ""), AT_ONCE) as client:
        await follow(client, namespace, pods)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
