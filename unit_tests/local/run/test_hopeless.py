"""When a job is called hopeless, and when it may still run."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.local.pods import RUNNING, Json, pod, terminated, waiting
from unit_tests.local.run.test_cause import JOB, UNSCHEDULABLE, progress

from training_api.registry import KINDS
from training_local.run.hopeless import crash_loop, dead_end
from training_local.run.scale import scale_requests

OFFERED = {"cpu": "2", "memory": "8Gi"}


def looping(name: str, restarts: int = 5, seconds: int = 1) -> Json:
    ended = terminated(1, f"2026-01-01T12:00:{seconds:02}Z", startedAt="2026-01-01T12:00:00Z")
    return pod(name, waiting("CrashLoopBackOff", "back-off 8s restarting"), last=ended, restarts=restarts)


@pytest.mark.parametrize(
    ("pods", "hopeless"),
    [
        ([pod("worker-0", RUNNING), pod("worker-1", phase="Pending", conditions=[UNSCHEDULABLE])], False),
        ([pod("worker-0", phase="Pending", conditions=[UNSCHEDULABLE])], True),
        ([pod("worker-0", RUNNING), pod("worker-1", waiting("FailedMount", "no x"), phase="Pending")], True),
        ([pod("worker-0", waiting("ContainerCreating"), phase="Pending")], False),
        ([pod("worker-0", waiting("CrashLoopBackOff", "back-off 8s"), phase="Running")], False),
    ],
)
def test_what_may_still_change_is_not_hopeless(pods: list[Json], hopeless: bool) -> None:
    assert bool(dead_end(JOB, progress(*pods), OFFERED)) is hopeless


def unstartable(name: str) -> Json:
    ended = terminated(128, reason="StartError", startedAt=None)
    return pod(name, waiting("CrashLoopBackOff", "back-off 8s restarting"), last=ended, restarts=5)


@pytest.mark.parametrize(
    ("pods", "hopeless"),
    [
        ([looping("worker-0"), pod("worker-1", RUNNING)], True),
        ([unstartable("worker-0"), pod("worker-1", RUNNING)], True),
        ([looping("worker-0"), looping("worker-1")], True),
        ([looping("worker-0", restarts=4), pod("worker-1", RUNNING)], False),
        ([looping("worker-0", seconds=30), pod("worker-1", RUNNING)], False),
        ([looping("worker-0"), pod("worker-1", waiting("ContainerCreating"), phase="Pending")], False),
    ],
)
def test_a_replica_that_fails_at_once_time_after_time_is_a_crash_loop(pods: list[Json], hopeless: bool) -> None:
    message = "JAXJob default/sim makes no progress: worker-0 has failed 6 times, at once"
    assert crash_loop(JOB, progress(*pods)) == (message if hopeless else "")


def test_requests_are_scaled_until_all_pods_fit_and_limits_stay() -> None:
    resources: dict[str, Any] = {"limits": {"cpu": "4", "memory": "1Gi"}}
    container = {"name": "jax", "resources": resources}
    worker = {"replicas": 4, "template": {"spec": {"containers": [container]}}}
    job = {"spec": {"jaxReplicaSpecs": {"Worker": worker}}}
    scale_requests(job, KINDS["JAXJob"], OFFERED)
    assert resources == {"limits": {"cpu": "4", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
