"""What users do with kubectl."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from e2e.harness.client import Api
from e2e.harness.jobs import Namespace, job

pytestmark = pytest.mark.usefixtures("operator")
Kubectl = Callable[..., str]


@pytest.fixture
def jobs(api: Api, namespace: str) -> Namespace:
    return Namespace(api, namespace)


async def test_apply_wait_get_delete(jobs: Namespace, kubectl: Kubectl) -> None:
    body = job("mnist", Master=1, Worker=2)
    assert kubectl("apply", "-f", "-", stdin=json.dumps(body)) == "pytorchjob.kubeflow.org/mnist created\n"
    kubectl("wait", "pytorchjob/mnist", "--for=condition=Created", "--timeout=30s")
    await jobs.pods_reach("mnist", 3)
    await jobs.set_phase("mnist", "Running")
    kubectl("wait", "pytorchjob/mnist", "--for=condition=Running", "--timeout=30s")

    heading, row = kubectl("get", "pytorchjobs").splitlines()
    assert heading.split() == ["NAME", "STATE", "AGE"]
    assert row.split()[:2] == ["mnist", "Running"]
    wide = kubectl("get", "pytorchjobs", "-o", "wide").splitlines()
    assert wide[0].split("  ")[0] == "NAME"
    assert {"MASTER", "WORKER", "WAITING"} <= set(wide[0].split())

    await jobs.set_phase("mnist", "Succeeded")
    kubectl("wait", "pytorchjob/mnist", "--for=condition=Succeeded", "--timeout=30s")
    assert kubectl("get", "pytorchjobs").splitlines()[1].split()[:2] == ["mnist", "Succeeded"]
    assert "JobSucceeded" in kubectl("describe", "pytorchjob", "mnist")

    kubectl("delete", "pytorchjob", "mnist")
    await jobs.pods_reach("mnist", 0)


async def test_scale(jobs: Namespace, kubectl: Kubectl) -> None:
    await jobs.create(job("elastic", Master=1, Worker=1))
    await jobs.pods_reach("elastic", 2)
    kubectl("scale", "pytorchjob/elastic", "--replicas=3")
    await jobs.pods_reach("elastic", 4)
    kubectl("scale", "pytorchjob/elastic", "--replicas=1")
    await jobs.pods_reach("elastic", 2)


def test_explain_reaches_into_the_pod_template(kubectl: Kubectl) -> None:
    assert "FIELD: command" in kubectl(
        "explain", "pytorchjob.spec.pytorchReplicaSpecs.template.spec.containers.command"
    )
