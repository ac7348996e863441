"""Jobs of all kinds on a real node: replicas meet by service name, fail, restart, and give up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from e2e.harness.client import Api, Object, connect
from e2e.harness.cluster import Cluster
from e2e.node.jobs import KINDS, Kind, giving_up, meeting, programs, trying_twice

NAMESPACE = "kinds"
LIMIT = 150.0
"""Seconds until every job must have ended."""
BY_JOB = "training.kubeflow.org/job-name"
BY_TYPE = "training.kubeflow.org/replica-type"

of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job that has ended, or that has not within the limit, and its pods."""

    job: Object
    pods: list[Object] = field(default_factory=list)

    @property
    def conditions(self) -> dict[str, str]:
        """Status by type."""
        return {c["type"]: c["status"] for c in self.job.get("status", {}).get("conditions", ())}

    @property
    def ended(self) -> bool:
        """Whether there is a terminal condition."""
        return "True" in (self.conditions.get("Succeeded"), self.conditions.get("Failed"))

    def restarts(self, replica_type: str) -> int:
        """What the job says of a type."""
        return int(self.job["status"]["replicaStatuses"][replica_type].get("restarts", 0))

    def container_restarts(self, replica_type: str) -> list[int]:
        """What the kubelet says of the containers of each pod of a type."""
        return [
            sum(container["restartCount"] for container in pod["status"]["containerStatuses"])
            for pod in self.pods
            if pod["metadata"]["labels"][BY_TYPE] == replica_type.lower()
        ]


@pytest.fixture(scope="module")
def outcomes(cluster: Cluster, node_operator: None) -> dict[str, Outcome]:
    """All jobs, run at the same time, by name."""
    return asyncio.run(_run_all(cluster))


async def _run_all(cluster: Cluster) -> dict[str, Outcome]:
    async with connect(cluster.kubeconfig) as api:
        await api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        await api.create(f"/api/v1/namespaces/{NAMESPACE}/configmaps", programs())
        found = await asyncio.gather(*(_run(api, kind, job) for kind in KINDS for job in _jobs(kind)))
    return {outcome.job["metadata"]["name"]: outcome for outcome in found}


def _jobs(kind: Kind) -> list[dict[str, Any]]:
    return [
        meeting(kind),
        trying_twice(kind, "restarts", ("false",), "OnFailure"),
        trying_twice(kind, "is-replaced", ("sh", "-c", "exit 138"), "ExitCode"),
        giving_up(kind),
    ]


async def _run(api: Api, kind: Kind, job: Mapping[str, Any]) -> Outcome:
    collection = f"/apis/kubeflow.org/v1/namespaces/{NAMESPACE}/{kind.plural}"
    outcome = Outcome(await api.create(collection, dict(job)))
    name = outcome.job["metadata"]["name"]
    deadline = asyncio.get_running_loop().time() + LIMIT
    while not outcome.ended and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.5)
        outcome = Outcome(await api.call("GET", f"{collection}/{name}"))
    pods = await api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={BY_JOB}%3D{name}")
    return Outcome(outcome.job, pods["items"])


@of_each_kind
def test_replicas_meet_by_service_name(cluster: Cluster, outcomes: dict[str, Outcome], kind: Kind) -> None:
    name = f"{kind.name.lower()}-meet"
    outcome = outcomes[name]
    assert outcome.conditions.get("Succeeded") == "True", _story(cluster, outcome)
    assert "completionTime" in outcome.job["status"]
    said = cluster.run_kubectl(f"--namespace={NAMESPACE}", "logs", f"--selector={BY_JOB}={name}", "--tail=-1")
    meetings = [line.split(" met ") for line in said.splitlines() if " met " in line]
    attendants = 1 if kind.name == "MPIJob" else sum(kind.world.values())
    assert len({host for host, _ in meetings}) == attendants, said
    for host, met in meetings:
        # A task of TensorFlow names those whom it has met.
        missing = sorted(set(kind.met) - set(met.split()))
        assert missing == ([_task(host)] if kind.name == "TFJob" else []), said


def _task(pod: str) -> str:
    """`tfjob-meet-worker-1` -> `worker/1`."""
    return "/".join(pod.rsplit("-", 2)[1:])


@of_each_kind
def test_a_container_is_restarted_in_its_pod(cluster: Cluster, outcomes: dict[str, Outcome], kind: Kind) -> None:
    outcome = outcomes[f"{kind.name.lower()}-restarts"]
    assert outcome.conditions.get("Succeeded") == "True", _story(cluster, outcome)
    counted = outcome.container_restarts(kind.failing)
    assert counted == [1] * kind.pair[kind.failing]
    assert outcome.restarts(kind.failing) == sum(counted)


@of_each_kind
def test_a_pod_with_a_retryable_exit_code_is_replaced(
    cluster: Cluster, outcomes: dict[str, Outcome], kind: Kind
) -> None:
    outcome = outcomes[f"{kind.name.lower()}-is-replaced"]
    count = kind.pair[kind.failing]
    assert outcome.conditions.get("Succeeded") == "True", _story(cluster, outcome)
    assert outcome.restarts(kind.failing) == count
    assert outcome.container_restarts(kind.failing) == [0] * count
    about_it = f"--field-selector=involvedObject.name={outcome.job['metadata']['name']},type=Warning"
    events = json.loads(cluster.run_kubectl(f"--namespace={NAMESPACE}", "get", "events", about_it, "--output=json"))
    # One for each restart, or one for several at once; and none because pods had no node in their first seconds.
    warned = [event["reason"] for event in events["items"] for _ in range(event["count"])]
    assert 1 <= warned.count(f"{kind.name}Restarting") <= count, warned
    assert "Unschedulable" not in warned


@of_each_kind
def test_a_job_gives_up_at_its_backoff_limit(cluster: Cluster, outcomes: dict[str, Outcome], kind: Kind) -> None:
    outcome = outcomes[f"{kind.name.lower()}-gives-up"]
    assert outcome.conditions.get("Failed") == "True", _story(cluster, outcome)
    message = next(c["message"] for c in outcome.job["status"]["conditions"] if c["type"] == "Failed")
    assert "has failed because it has reached the specified backoff limit" in message
    assert [status["restarts"] for status in outcome.job["status"]["replicaStatuses"].values()] == [1]
    pods = cluster.run_kubectl(
        f"--namespace={NAMESPACE}", "wait", "--for=delete", "pod", f"--selector={BY_JOB}={kind.name.lower()}-gives-up"
    )
    assert "timed out" not in pods


def _story(cluster: Cluster, outcome: Outcome) -> str:
    """What is known of a job that did not end as it should."""
    name = outcome.job["metadata"]["name"]
    select = (f"--namespace={NAMESPACE}", f"--selector={BY_JOB}={name}")
    status = outcome.job.get("status")
    pods = cluster.run_kubectl(*select[:1], "get", "pods", *select[1:], "--output=wide")
    logs = cluster.run_kubectl(*select[:1], "logs", *select[1:], "--all-containers", "--prefix", "--ignore-errors")
    return f"{name}: {status}\n{pods}\n{logs}"
