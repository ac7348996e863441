"""Workers that wait in their own image satisfy Pod Security `restricted`, as they inherit their security context."""

from __future__ import annotations

import pytest
from e2e.harness.client import Api
from e2e.harness.jobs import Namespace, job
from e2e.harness.operator import Operator

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
ANNOTATION = "extension.training.kubeflow.org/init-container"


@pytest.mark.parametrize("mode", ["image", "worker-image", "none"])
async def test_under_pod_security_restricted(
    api: Api, namespace: str, operator: Operator, mode: str, pytestconfig: pytest.Config
) -> None:
    jobs, core = Namespace(api, namespace), f"/api/v1/namespaces/{namespace}"
    await api.patch(core, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    body = job("meet", Master=1, Worker=1)
    body["metadata"]["annotations"] = {ANNOTATION: mode}
    for spec in body["spec"]["pytorchReplicaSpecs"].values():
        spec["template"]["spec"]["containers"][0]["securityContext"] = RESTRICTED
    await jobs.create(body)
    if mode == "image" and pytestconfig.getoption("--provider") != "local":
        await jobs.waits(body, "InvalidTemplate", "init-pytorch")
        return
    await jobs.pods_reach("meet", 2)
    worker = await api.call("GET", f"{core}/pods/meet-worker-0")
    images = [each["image"] for each in worker["spec"].get("initContainers", ())]
    assert images == {"image": ["alpine:3.10"], "worker-image": ["example.com/train:1"], "none": []}[mode]
