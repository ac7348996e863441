"""The models of the SDK `kubeflow-training` 1.9.4 and the jobs that are stored."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from e2e.clients.session import Seen, session
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator

KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "MPIJob", "PaddleJob", "JAXJob")
EXTENSIONS = re.compile(
    r"status\.(observedGeneration|attempt|waiting\..*|replicaStatuses\.\w+\.(restarts|ready|completedIndexes))"
)
"""What our status has beyond v1's."""


@pytest.fixture(scope="module")
def seen(cluster: Cluster, operator: Operator) -> Iterator[Seen]:
    yield session("sdk_models", cluster.kubeconfig)
    operator.child.check_alive()


@pytest.mark.shows("SDK-3.9", "SDK-3.13", "SDK-4.5")
@pytest.mark.parametrize("kind", KINDS)
def test_a_round_trip(seen: Seen, kind: str) -> None:
    """Every field comes back but those of our status that v1 has not."""
    told = seen(kind.lower())
    assert told["fields"] >= 27
    assert "status.observedGeneration" in told["lost"]
    assert [path for path in told["lost"] if not EXTENSIONS.fullmatch(path)] == []
    assert told["invented"] == []
    # A quantity that is written as a number is the same one as text.
    assert [path for path in told["changed"] if not path.endswith(".resources.limits.cpu")] == []
    assert told["listed"] == [True]


@pytest.mark.shows("SDK-A3", "SDK-3.1", "SDK-3.2", "SDK-4.6", "SDK-S1")
@pytest.mark.parametrize("kind", KINDS)
def test_jobs_without_run_policy_can_be_read(seen: Seen, kind: str) -> None:
    """Better than with v1, where they break the whole list."""
    assert seen("without-policy")[kind] == [{"suspend": False}, kind, [f"plain-{kind.lower()}"]]


TRAPS = {
    "no replicas": "not created: .*spec.pytorchReplicaSpecs: Required value",
    "null replicas": "not created: .*spec.pytorchReplicaSpecs: Required value",
    "null policy": "fine: None None",
    "metrics": "not read: Failed to get PyTorchJob: sdk-models-traps/d",
    "minimal resources": "not read: Failed to get PyTorchJob: sdk-models-traps/e",
    "processes as a number": "not created: .*spec.nprocPerNode.* string",
    "processes": "fine: 2 None",
    "limit as text": "not created: .*spec.runPolicy.backoffLimit.* integer",
    "limit": "fine: None 3",
}


@pytest.mark.shows("SDK-3.1", "SDK-3.3", "SDK-3.4", "SDK-3.5", "SDK-3.10", "SDK-3.11")
@pytest.mark.parametrize("case", TRAPS)
def test_what_the_deserialiser_stumbles_over(seen: Seen, case: str) -> None:
    assert re.match(TRAPS[case], seen("traps")[case]), seen("traps")[case]


STATUSES = {
    "none": "it worked, 0 conditions",
    "no conditions": "it worked, 0 conditions",
    "a condition without status": "not stored: .*status.conditions.0..status: Required",
    "a condition": "it worked, 1 conditions",
    "an empty time": "not stored: .*startTime in body must be of type date-time",
    "a fraction of a second": "it worked, 0 conditions",
    "unknown fields": "it worked, 0 conditions",
    "empty counters": "it worked, 0 conditions",
}


@pytest.mark.shows("SDK-3.6", "SDK-3.7", "SDK-3.8", "SDK-3.9", "SDK-3.12")
@pytest.mark.parametrize("case", STATUSES)
def test_statuses(seen: Seen, case: str) -> None:
    assert re.match(STATUSES[case], seen("statuses")[case]), seen("statuses")[case]


@pytest.mark.shows("SDK-3.4", "SDK-3.5", "SDK-9.1")
def test_the_operator_writes_no_spec(seen: Seen) -> None:
    """Metrics of a user's own are what v1's SDK cannot read, for the whole namespace."""
    told = seen("autoscaled")
    assert told["same spec"]
    assert told["list"] == "RuntimeError: Failed to list PyTorchJobs in namespace: sdk-models-autoscaled"
