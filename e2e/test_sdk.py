"""The SDK `kubeflow-training` 1.9.4, unmodified, on the local cluster: `make e2e PROVIDER=local`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from e2e.clients.environment import client_python
from e2e.harness.errors import HarnessError
from e2e.harness.local_up import local_up

SESSION = Path(__file__).with_name("clients") / "sdk_session.py"
LIMIT = 120.0
ALL_POSSIBLE = ("PyTorchJob", "JAXJob", "TFJob", "XGBoostJob", "PaddleJob")


@pytest.fixture(scope="module")
def seen(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a session with the SDK saw."""
    if pytestconfig.getoption("--provider") != "local":
        pytest.skip("pods must run: the SDK is tested with --provider local")
    try:
        python = client_python()
    except HarnessError as error:
        pytest.skip(str(error))
    with local_up(tmp_path_factory.mktemp("sdk")) as cluster:
        environment = {"KUBECONFIG": str(cluster.kubeconfig), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            [python, SESSION], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT
        )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", ALL_POSSIBLE)
def test_a_job_from_an_object(seen: dict[str, Any], kind: str) -> None:
    told, name = seen[kind], f"from-object-{kind.lower()}"
    workers = [f"{name}-worker-{index}" for index in (0, 1)]
    first = {"JAXJob": "worker", "TFJob": "chief"}.get(kind, "master")
    pods = sorted({f"{name}-{first}-0", *workers})
    assert told["created"] == f"KubeflowOrgV1{kind}"
    assert told["started"]
    assert told["conditions"] == ["Created", "Succeeded"]
    assert told["is"] == [True, False, False, True, False]
    assert told["succeeded"] == {"Worker": 2} | ({first.capitalize(): 1} if first != "worker" else {})
    assert (told["pods"], told["workers"], told["first worker"]) == (pods, workers, workers[:1])
    assert told["master"] == [f"{name}-{first}-0"]
    # The SDK leaves out the ends of lines while it follows.
    assert told["followed"] == {f"{name}-{first}-0": "hellodone"}
    assert told["logs"] == dict.fromkeys(pods, "hello\ndone\n")
    assert told["listed"] == [name]


def test_a_job_from_a_function(seen: dict[str, Any]) -> None:
    assert seen["function"] == {
        "logs": {"from-function-master-0": "rank 0 of 1 says hello\n"},
        "events": ["pod/from-function-master-0", "pytorchjob/from-function"],
    }


def test_changes_and_refusals(seen: dict[str, Any]) -> None:
    told = seen["changes"]
    assert (told["suspended"], told["replicas"], told["is failed"]) == (True, 3, True)
    assert told["failed"].startswith("RuntimeError: PyTorchJob default/failing is Failed")
    assert "backoff limit" in told["failed"]
    assert "(404)" in told["gone"]
    assert "already exists" in told["twice"]
    assert "spec.runPolicy.managedBy: Unsupported value" in told["bad"]


def test_every_kind_can_be_created_read_and_deleted(seen: dict[str, Any]) -> None:
    kinds = (*ALL_POSSIBLE, "MPIJob")
    assert seen["kinds"] == {kind: [kind, True] for kind in kinds}
