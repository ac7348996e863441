"""The watcher of the faults sees what must not be."""

from __future__ import annotations

from typing import cast

import pytest
from e2e.endurance.faults.watcher import Watcher
from e2e.harness.client import Api, Object


@pytest.fixture
def watcher() -> Watcher:
    return Watcher(cast(Api, None))  # it is told what happens


def pod(name: str, phase: str = "Running", **metadata: str) -> Object:
    labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": "0"}
    owner = {"uid": "job", "controller": True}
    made = {"name": name, "namespace": "a", "uid": name, "labels": labels, "ownerReferences": [owner], **metadata}
    return {"metadata": made, "status": {"phase": phase}}


def job(*ends: str, restarts: int = 0, at: str = "") -> Object:
    conditions = [{"type": end, "status": "True", "lastTransitionTime": "1"} for end in ends]
    status = {"conditions": conditions, "replicaStatuses": {"Worker": {"restarts": restarts}}}
    metadata = {"name": "job", "namespace": "a", "uid": "job"}
    return {"kind": "JAXJob", "metadata": metadata, "status": status | ({"completionTime": at} if at else {})}


def test_two_live_pods_in_one_place(watcher: Watcher) -> None:
    watcher.saw_pod("ADDED", pod("one"))
    watcher.saw_pod("ADDED", pod("two"))
    assert watcher.complaints == ["a/two lives beside ['one'], which have the same place"]


@pytest.mark.parametrize("former", [pod("one", "Failed"), pod("one", deletionTimestamp="now")])
def test_a_pod_may_follow_one_that_has_ended_or_leaves(watcher: Watcher, former: Object) -> None:
    watcher.saw_pod("ADDED", pod("one"))
    watcher.saw_pod("MODIFIED", former)
    watcher.saw_pod("ADDED", pod("two"))
    assert watcher.complaints == []


def test_what_is_completed_is_run_again(watcher: Watcher) -> None:
    watcher.saw_pod("ADDED", pod("one", "Succeeded"))
    watcher.saw_pod("DELETED", pod("one", "Succeeded"))
    watcher.saw_pod("ADDED", pod("two"))
    assert watcher.complaints == ["a/two runs what pod one had completed"]


@pytest.mark.parametrize(
    ("later", "complaint"),
    [
        (job(), "had ended"),
        (job("Failed"), "had ended"),
        (job("Succeeded", "Failed", at="noon"), "has succeeded and failed"),
        (job("Succeeded", at="one"), "was completed at noon, and now at one"),
        (job("Succeeded", restarts=1, at="noon"), "restarts of Worker fell to 1"),
    ],
)
def test_an_end_that_does_not_last(watcher: Watcher, later: Object, complaint: str) -> None:
    watcher.saw_job("MODIFIED", job("Succeeded", restarts=2, at="noon"))
    watcher.saw_job("MODIFIED", later)
    assert any(complaint in each for each in watcher.complaints)
