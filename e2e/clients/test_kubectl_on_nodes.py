"""What users do with kubectl and jobs whose pods really run: `make e2e PROVIDER=local`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from e2e.harness.client import Object
from e2e.harness.errors import HarnessError
from e2e.harness.jobs import CONTAINERS, PLURALS, REPLICAS, master_pod, typical
from e2e.harness.local_up import local_up
from e2e.support import marks
from e2e.support.profiles import KINDS_NOW, often

pytestmark = marks.local  # pods must run

Kubectl = Callable[..., str]
JOB = "training.kubeflow.org/job-name"
SCRIPT = """
echo $HOSTNAME begins
until test -s /work/go; do sleep 0.1; done
while kill -0 $(cat /work/go) 2> /dev/null; do sleep 0.1; done
echo $HOSTNAME ends
"""
"""Waits until `kubectl exec` lets it end, so that logs can be followed without haste; an exec does not survive it."""


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    with local_up(tmp_path_factory.mktemp("kubectl")) as up:
        yield up.cluster.run_kubectl


def running(name: str, kind: str, script: str) -> Object:
    """A job of two or three replicas that run a shell script."""
    body = typical(name, kind, workers=2)
    container = {
        "name": CONTAINERS[kind],
        "image": "example.com/train:1",
        "command": ["sh", "-c", script],
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }
    # A shell that is the first process of its pod does not heed SIGTERM.
    pod = {
        "containers": [container],
        "volumes": [{"name": "work", "emptyDir": {}}],
        "terminationGracePeriodSeconds": 1,
    }
    for spec in body["spec"][REPLICAS[kind]].values():
        spec["template"] = {"spec": pod}
    return body


@pytest.mark.shows("SDK-5.1", "SDK-6.4", "SDK-8.5", "SDK-8.9")
@pytest.mark.parametrize("kind", often(PLURALS, *KINDS_NOW))
def test_logs_and_exec(kubectl: Kubectl, kind: str) -> None:
    """Logs of all replicas by label, prefixed and followed; exec lets them end."""
    name, one = f"talk-{kind.lower()}", kind.lower()
    lead, container = master_pod(name, kind), CONTAINERS[kind]
    workers = [f"{name}-worker-0", f"{name}-worker-1"]
    everyone = sorted({lead, *workers})
    kubectl("create", "-f", "-", stdin=json.dumps(running(name, kind, SCRIPT)))
    kubectl("wait", f"{one}/{name}", "--for=condition=Running", "--timeout=60s")
    # All of them, before one may end: a master that is gone has no name for workers to wait for.
    kubectl("wait", *(f"pod/{pod}" for pod in everyone), "--for=condition=Ready", "--timeout=60s")
    for pod in everyone:
        # One after the other: each waits for its own volume.
        kubectl("exec", pod, "-c", container, "--", "sh", "-c", "echo $$ > /work/go")
    kubectl("wait", f"{one}/{name}", "--for=condition=Succeeded", "--timeout=60s")

    selector = f"{JOB}={name}"
    lines = kubectl("logs", "-f", "-l", selector, "-c", container, "--prefix", "--max-log-requests=9").splitlines()
    assert sorted(lines) == sorted(
        f"[pod/{pod}/{container}] {pod} {word}" for pod in everyone for word in ("begins", "ends")
    )
    of_workers = kubectl("logs", "-l", f"{selector},training.kubeflow.org/replica-type=worker", "-c", container)
    assert sorted(of_workers.splitlines()) == sorted(f"{pod} {word}" for pod in workers for word in ("begins", "ends"))
    assert kubectl("logs", lead, "-c", container, "--tail=1") == f"{lead} ends\n"
    everything = kubectl("logs", "-l", f"{selector},training.kubeflow.org/job-role=master", "--all-containers")
    assert f"{lead} begins\n" in everything
    kubectl("delete", one, name, "--timeout=60s")
    kubectl("wait", "--for=delete", "pod", "-l", selector, "--timeout=60s")


@pytest.mark.shows("SDK-8.6", "SDK-8.7")
@pytest.mark.parametrize("kind", often(PLURALS, *KINDS_NOW))
def test_a_failing_job(kubectl: Kubectl, kind: str) -> None:
    """Waiting for failure, and the reason in what `describe` says."""
    name = f"fail-{kind.lower()}"
    kubectl("create", "-f", "-", stdin=json.dumps(running(name, kind, "exit 3")))
    kubectl("wait", f"{kind.lower()}/{name}", "--for=condition=Failed", "--timeout=60s")
    assert "exited with code 3" in kubectl("describe", kind.lower(), name)


@pytest.mark.shows("SDK-8.10", "SDK-8.17")
def test_scale_on_one_machine(kubectl: Kubectl) -> None:
    """A worker more and a worker less; one that is deleted comes back."""
    body = running("wide", "JAXJob", SCRIPT)
    kubectl("create", "-f", "-", stdin=json.dumps(body))
    kubectl("scale", "jaxjob/wide", "--replicas=3")
    kubectl("wait", "--for=create", "pod/wide-worker-2", "--timeout=60s")
    kubectl("wait", "pod/wide-worker-2", "--for=condition=Ready", "--timeout=60s")
    kubectl("delete", "pod/wide-worker-1")
    kubectl("wait", "--for=create", "pod/wide-worker-1", "--timeout=60s")
    kubectl("scale", "jaxjob/wide", "--replicas=1")
    kubectl("wait", "--for=delete", "pod/wide-worker-1", "pod/wide-worker-2", "--timeout=60s")
    assert kubectl("get", "pods", "-l", f"{JOB}=wide", "-o", "name") == "pod/wide-worker-0\n"
    kubectl("delete", "jaxjob/wide", "--cascade=foreground", "--timeout=60s")


@pytest.mark.shows("SDK-8.18")
def test_no_one_scales_by_itself(kubectl: Kubectl) -> None:
    """An autoscaler can be stored, but the local cluster has no controller for it."""
    kubectl("create", "-f", "-", stdin=json.dumps(running("alone", "JAXJob", SCRIPT)))
    kubectl("autoscale", "jaxjob/alone", "--min=3", "--max=4", "--cpu=80%")
    assert kubectl("get", "hpa/alone", "-o", "jsonpath={.spec.minReplicas} {.status.conditions}") == "3 "
    with pytest.raises(HarnessError, match="no kind"):
        kubectl("rollout", "status", "jaxjob/alone")
    kubectl("delete", "jaxjob/alone", "hpa/alone")
