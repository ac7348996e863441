"""`status.waiting` on a real API server: what it rejects, and what scheduler and kubelet would say of pods.

What gangs wait for is in `test_gang.py`.
"""

from __future__ import annotations

from typing import Any

import pytest
from e2e.harness.client import Api, Object, eventually
from e2e.harness.jobs import NO_SCHEDULER, Namespace, job
from e2e.harness.operator import Operator
from e2e.support import marks

NAME = "waits"
NOT_PLACED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes: no GPU"}


class Stage:
    """A namespace with one job whose master is its only pod."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.core = f"/api/v1/namespaces/{namespace}"
        self.jobs = Namespace(api, namespace)
        self.body = job(NAME, Master=1)
        self.pod = f"{self.core}/pods/{NAME}-master-0"

    async def create(self, **pod_spec: Any) -> None:
        body = job(NAME, Master=1)
        body["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"] |= pod_spec
        body["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "OnFailure"
        await self.jobs.create(body)

    async def started(self) -> None:
        await self.create()
        await self.jobs.pods_reach(NAME, 1)

    async def tell(self, **status: Any) -> None:
        """Have scheduler or kubelet say something of the pod."""
        await self.api.patch(f"{self.pod}/status", {"status": status})

    async def container(self, reason: str, message: str) -> None:
        state = {"waiting": {"reason": reason, "message": message}}
        told = {"name": "pytorch", "image": "i", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        await self.tell(containerStatuses=[told])

    async def waits(self, reason: str | None, text: str = "") -> Object:
        return await self.jobs.waits(self.body, reason, text)


@pytest.fixture
def stage(api: Api, namespace: str, operator: Operator) -> Stage:
    return Stage(api, namespace)


@marks.real  # the embedded API server enforces no quotas
async def test_quota(stage: Stage) -> None:
    quota = {"metadata": {"name": "small"}, "spec": {"hard": {"pods": "0"}}}
    await stage.api.create(f"{stage.core}/resourcequotas", quota)

    async def counted() -> bool:
        stored = await stage.api.call("GET", f"{stage.core}/resourcequotas/small")
        return "pods" in stored.get("status", {}).get("hard", {})

    await eventually(counted, "the quota is enforced")
    await stage.create()
    since = (await stage.waits("Quota", f"pod {NAME}-master-0 cannot be created: "))["since"]
    assert (await stage.waits("Quota", "exceeded quota: small"))["since"] == since
    await stage.api.delete(f"{stage.core}/resourcequotas/small")
    await stage.waits(None)
    await stage.jobs.pods_reach(NAME, 1)


async def test_a_template_that_the_api_server_rejects(stage: Stage) -> None:
    mounts = [{"name": "nowhere", "mountPath": "/data"}]
    container = {"name": "pytorch", "image": "example.com/train:1", "volumeMounts": mounts}
    await stage.create(containers=[container])
    await stage.waits("InvalidTemplate", 'volumeMounts[0].name: Not found: "nowhere"')
    await stage.api.delete(stage.jobs.path(stage.body))
    await stage.started()
    await stage.waits(None)


@marks.real  # nor Pod Security
async def test_a_template_that_a_policy_of_the_namespace_rejects(stage: Stage) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await stage.api.patch(stage.core, {"metadata": {"labels": labels}})
    await stage.create()
    await stage.waits("InvalidTemplate", 'violates PodSecurity "restricted:latest"')


async def test_a_name_that_somebody_else_has(stage: Stage) -> None:
    spec = {"schedulerName": NO_SCHEDULER, "containers": [{"name": "a", "image": "b"}]}
    theirs = {"metadata": {"name": f"{NAME}-master-0"}, "spec": spec}
    uid = (await stage.api.create(f"{stage.core}/pods", theirs))["metadata"]["uid"]
    await stage.create()
    await stage.waits("NameTaken", f"pod {NAME}-master-0 already exists and is not changed")
    assert (await stage.api.call("GET", stage.pod))["metadata"]["uid"] == uid


async def test_a_pod_that_cannot_be_placed_until_it_is(stage: Stage) -> None:
    await stage.started()
    await stage.tell(conditions=[NOT_PLACED])
    await stage.waits("Unschedulable", f"pod {NAME}-master-0 cannot be scheduled: 0/3 nodes: no GPU")
    await stage.tell(conditions=[{"type": "PodScheduled", "status": "True"}], phase="Running")
    await stage.waits(None)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("ImagePullBackOff", "ImagePull"),
        ("CrashLoopBackOff", "CrashLoop"),
        ("CreateContainerConfigError", "InvalidTemplate"),
    ],
)
async def test_a_container_that_does_not_start_until_it_does(stage: Stage, word: str, reason: str) -> None:
    await stage.started()
    await stage.container(word, "the kubelet's words")
    await stage.waits(reason, "the kubelet's words")
    await stage.jobs.set_phase(NAME, "Running")
    await stage.tell(containerStatuses=None)
    await stage.waits(None)


async def test_a_pod_that_does_not_go(stage: Stage) -> None:
    await stage.started()
    await stage.api.patch(stage.pod, {"metadata": {"finalizers": ["example.com/hold"]}})
    await stage.api.delete(stage.pod)
    await stage.waits("Terminating", f"pod {NAME}-master-0 was deleted but still exists")
    await stage.api.patch(stage.pod, {"metadata": {"finalizers": None}})
    await stage.waits(None)
    await stage.jobs.pods_reach(NAME, 1)
