"""Jobs of every kind from creation to deletion through the SDK `kubeflow-training` 1.9.4; the session plays the nodes.

Each test names the items of the SDK's contract (`e2e/sdk_contract.yaml`) that it proves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.clients.session import Seen, session
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator

MASTERS = {
    "PyTorchJob": "master-0",
    "TFJob": "chief-0",
    "XGBoostJob": "master-0",
    "MPIJob": "launcher",
    "PaddleJob": "master-0",
    "JAXJob": "worker-0",
}
CREATED, RUNNING, SUCCEEDED = (
    [True, False, False, False, False],
    [True, True, False, False, False],
    [True, False, False, True, False],
)
"""What `is_job_created`, `running`, `restarting`, `succeeded` and `failed` say."""


@pytest.fixture(scope="module")
def seen(cluster: Cluster, operator: Operator) -> Iterator[Seen]:
    yield session("sdk_lives", cluster.kubeconfig)
    operator.child.check_alive()


@pytest.mark.parametrize("kind", MASTERS)
def test_a_life(seen: Seen, kind: str) -> None:
    """Created, running and succeeded, as the SDK tells them.

    SDK-S2, SDK-A1 to SDK-A3, SDK-1.1 to SDK-1.3, SDK-4.5 to SDK-4.8, SDK-5.3.1 to SDK-5.3.4, SDK-6.1.
    """
    told = seen(kind.lower())
    assert (told["created"], told["running"], told["done"]) == (CREATED, RUNNING, SUCCEEDED)
    assert told["of the object"] == SUCCEEDED
    assert told["conditions"] == ["Running=False", "Created=True", "Succeeded=True"]
    assert told["succeeded"] == (2 if kind == "JAXJob" else 1)
    assert told["listed"] == [["mine", f"KubeflowOrgV1{kind}"]]


@pytest.mark.parametrize("kind", MASTERS)
def test_pods_by_role_type_and_index(seen: Seen, kind: str) -> None:
    """SDK-S6, SDK-A6, SDK-1.4, SDK-1.9, SDK-4.10, SDK-5.1, SDK-5.2: the labels from creation on, kept after success."""
    told, master, workers = seen(kind.lower()), f"mine-{MASTERS[kind]}", ["mine-worker-0", "mine-worker-1"]
    everyone = sorted({master, *workers})
    assert told["pods"] == {
        "all": everyone,
        "master": [master],
        "workers": workers,
        "second worker": ["mine-worker-1"],
        # v1 gives launchers no index.
        "first": [each for each in everyone if each.endswith("-0")],
    }
    assert told["pods at the end"] == everyone


@pytest.mark.parametrize("kind", MASTERS)
def test_an_update_with_the_whole_object(seen: Seen, kind: str) -> None:
    """SDK-S9, SDK-A4, SDK-3.13, SDK-4.14: it changes what was changed, and neither status nor replicas."""
    assert seen(kind.lower())["update"] == {"limit": 7, "same status": True, "same replicas": True}


@pytest.mark.parametrize("kind", MASTERS)
def test_a_job_in_a_queue_that_is_not_there(seen: Seen, kind: str) -> None:
    """SDK-A12, SDK-1.5: without Kueue the job is made all the same, with the label."""
    assert seen(kind.lower())["labels"] == {"kueue.x-k8s.io/queue-name": "team"}


@pytest.mark.parametrize("kind", MASTERS)
def test_a_deletion_leaves_nothing(seen: Seen, kind: str) -> None:
    """SDK-S10, SDK-A5, SDK-4.15: in the foreground, with all that the job had beside its pods."""
    assert seen(kind.lower())["left"] == []


def test_a_restart(seen: Seen) -> None:
    """SDK-5.3.4, SDK-4.8, SDK-1.8: Restarting takes the place of Running."""
    assert seen("restarting") == {"restarting": True, "running": False, "conditions": ["Created", "Restarting"]}


def test_suspension_and_scale_by_update(seen: Seen) -> None:
    """SDK-4.14, SDK-5.3.8, SDK-1.7: pods come and go; the SDK cannot wait for Suspended."""
    told = seen("suspended")
    assert (told["before"], told["resumed"], told["not running"]) == (0, 4, False)
    assert told["waiting for it"].startswith("ValueError: Expected conditions: {'Suspended'} must be subset of")


def test_a_paddlejob_of_workers_has_no_master(seen: Seen) -> None:
    """SDK-5.1: as in v1 (PD-020); logs of such a job need `is_master=False`."""
    assert seen("worker-only-paddle") == {"master": []}


def test_two_jobs_of_one_name(seen: Seen) -> None:
    """SDK-9.8, SDK-4.10: the SDK mixes their pods; an event of the second one warns."""
    told = seen("two-kinds")
    assert told["pods"] == ["same-chief-0", "same-master-0", "same-worker-0"]
    assert told["warning"][0].startswith("NameTaken by TFJob same: ")
