"""Jobs of every kind from creation to deletion through the SDK of v1; the session plays the nodes."""

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


@pytest.mark.shows("SDK-1.1", "SDK-1.2", "SDK-1.3", "SDK-A1", "SDK-A2", "SDK-A3", "SDK-4.5", "SDK-4.6", "SDK-4.7")
@pytest.mark.shows("SDK-4.8", "SDK-5.3.1", "SDK-5.3.2", "SDK-5.3.3", "SDK-5.3.4", "SDK-6.1", "SDK-S2")
@pytest.mark.parametrize("kind", MASTERS)
def test_a_life(seen: Seen, kind: str) -> None:
    """Created, running and succeeded, as the SDK tells them."""
    told = seen(kind.lower())
    assert (told["created"], told["running"], told["done"]) == (CREATED, RUNNING, SUCCEEDED)
    assert told["of the object"] == SUCCEEDED
    assert told["conditions"] == ["Running=False", "Created=True", "Succeeded=True"]
    assert told["succeeded"] == (2 if kind == "JAXJob" else 1)
    assert told["listed"] == [["mine", f"KubeflowOrgV1{kind}"]]


@pytest.mark.shows("SDK-1.4", "SDK-1.9", "SDK-A6", "SDK-4.10", "SDK-5.1", "SDK-5.2", "SDK-S6")
@pytest.mark.parametrize("kind", MASTERS)
def test_pods_by_role_type_and_index(seen: Seen, kind: str) -> None:
    """The labels from creation on, kept after success."""
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


@pytest.mark.shows("SDK-A4", "SDK-3.13", "SDK-4.14", "SDK-S9")
@pytest.mark.parametrize("kind", MASTERS)
def test_an_update_with_the_whole_object(seen: Seen, kind: str) -> None:
    """It changes what was changed, and neither status nor replicas."""
    assert seen(kind.lower())["update"] == {"limit": 7, "same status": True, "same replicas": True}


@pytest.mark.shows("SDK-1.5", "SDK-A12")
@pytest.mark.parametrize("kind", MASTERS)
def test_a_job_in_a_queue_that_is_not_there(seen: Seen, kind: str) -> None:
    """Without Kueue the job is made all the same, with the label."""
    assert seen(kind.lower())["labels"] == {"kueue.x-k8s.io/queue-name": "team"}


@pytest.mark.shows("SDK-A5", "SDK-4.15", "SDK-S10")
@pytest.mark.parametrize("kind", MASTERS)
def test_a_deletion_leaves_nothing(seen: Seen, kind: str) -> None:
    """In the foreground, with all that the job had beside its pods."""
    assert seen(kind.lower())["left"] == []


@pytest.mark.shows("SDK-1.8", "SDK-4.8", "SDK-5.3.4")
def test_a_restart(seen: Seen) -> None:
    """Restarting takes the place of Running."""
    assert seen("restarting") == {"restarting": True, "running": False, "conditions": ["Created", "Restarting"]}


@pytest.mark.shows("SDK-1.7", "SDK-4.14", "SDK-5.3.8")
def test_suspension_and_scale_by_update(seen: Seen) -> None:
    """Pods come and go; the SDK cannot wait for Suspended."""
    told = seen("suspended")
    assert (told["before"], told["resumed"], told["not running"]) == (0, 4, False)
    assert told["waiting for it"].startswith("ValueError: Expected conditions: {'Suspended'} must be subset of")


@pytest.mark.shows("SDK-5.1")
def test_a_paddlejob_of_workers_has_no_master(seen: Seen) -> None:
    """As in v1 (PD-020); logs of such a job need `is_master=False`."""
    assert seen("worker-only-paddle") == {"master": []}


@pytest.mark.shows("SDK-4.10", "SDK-9.8")
def test_two_jobs_of_one_name(seen: Seen) -> None:
    """The SDK mixes their pods; an event of the second one warns."""
    told = seen("two-kinds")
    assert told["pods"] == ["same-chief-0", "same-master-0", "same-worker-0"]
    assert told["warning"][0].startswith("NameTaken by TFJob same: ")
