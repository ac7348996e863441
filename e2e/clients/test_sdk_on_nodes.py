"""The SDK `kubeflow-training` 1.9.4, unmodified, where pods really run: `make e2e PROVIDER=local`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from e2e.clients.session import Seen, check_fine_tuned, session
from e2e.harness.local_up import local_up
from e2e.support import marks
from e2e.support.paths import ROOT
from e2e.support.profiles import KINDS_NOW, WEEKLY, often
from e2e.support.skips import without_pytorch

pytestmark = marks.local  # pods must run

FIRST = {"JAXJob": "worker-0", "TFJob": "chief-0", "MPIJob": "launcher"}
"""The master pod of a kind that calls it otherwise."""
KINDS = ("PyTorchJob", "TFJob", "XGBoostJob", "MPIJob", "PaddleJob", "JAXJob")
FINE_TUNING = ROOT / "examples/pytorch/fine-tuning/images.txt"
PYTHON = Path("/usr/bin/python3")
"""The machine's own, for which distributions have torch."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What a session with the SDK saw, by topic."""
    kinds = map(str.lower, KINDS if WEEKLY else KINDS_NOW)
    topics = [*kinds, "function", "tensorflow-function", "failing", "expiring", "preparing", "inside"]
    with local_up(tmp_path_factory.mktemp("sdk")) as cluster:
        return session("sdk_on_nodes", cluster.kubeconfig, *topics)


@pytest.mark.shows("SDK-1.8", "SDK-A6", "SDK-A7", "SDK-A8", "SDK-4.2", "SDK-4.8", "SDK-4.9", "SDK-4.10", "SDK-4.11")
@pytest.mark.shows("SDK-4.12", "SDK-4.15", "SDK-5.1", "SDK-5.2", "SDK-S2")
@pytest.mark.parametrize("kind", often(KINDS, *KINDS_NOW))
def test_a_job_from_an_object(seen: Seen, kind: str) -> None:
    """From creation to deletion."""
    told = seen(kind.lower())
    workers = ["mine-worker-0", "mine-worker-1"]
    first = FIRST.get(kind, "master-0")
    pods = sorted({f"mine-{first}", *workers})
    assert told["created"] == told["callback"] == f"KubeflowOrgV1{kind}"
    assert told["started"]
    assert told["conditions"] == ["Created", "Succeeded"]
    assert told["is"] == told["is, of the object"] == [True, False, False, True, False]
    # The replicas that decide: others may still run when the job is over.
    deciding, count = (first.removesuffix("-0").capitalize(), 1) if kind != "JAXJob" else ("Worker", 2)
    assert told["succeeded"][deciding] == count
    assert told["pods"] == pods
    assert told["master"] == [f"mine-{first}"]
    # The SDK leaves out the ends of lines while it follows.
    assert told["followed"] == {f"mine-{first}": "hellodone"}
    assert told["logs"] == dict.fromkeys(pods, "hello\ndone\n")
    assert told["logs of a worker"] == {"mine-worker-1": "hello\ndone\n"}
    assert told["listed"] == ["mine"]
    assert "(404)" in told["gone"]


@pytest.mark.shows("SDK-A8", "SDK-4.12", "SDK-6.2", "SDK-6.3", "SDK-6.4", "SDK-S3")
@pytest.mark.shows("SDK-A9", "SDK-4.3", "SDK-4.13", "SDK-5.4", "SDK-6.5", "SDK-S7")
def test_a_job_from_a_function(seen: Seen) -> None:
    """One master, its log, and the events of job and pod."""
    told = seen("function")
    assert told["logs"] == {"function-master-0": "rank 0 of 1 says hello 1\n"}
    assert sorted(told["events"]) == ["pod/function-master-0", "pytorchjob/function"]
    of_job = [text.split(" ", 2)[2] for text in told["events"]["pytorchjob/function"]]
    for expected in (
        "Created pod: function-master-0",
        "Created service: function-master-0",
        "Pod: sdk-on-nodes-function.function-master-0 exited with code 0",
        "PyTorchJob function is successfully completed.",
    ):
        assert expected in of_job


@pytest.mark.shows("SDK-4.3")
def test_a_tfjob_from_a_function(seen: Seen) -> None:
    """Every replica runs the function as the one that TF_CONFIG says; the chief decides."""
    cluster = "[('chief', 1), ('ps', 1), ('worker', 2)]"
    logs = seen("tensorflow-function")["logs"]
    assert logs == {
        f"function-{who.replace(' ', '-')}": f"{who} {cluster}\n" for who in ("chief 0", "ps 0", "worker 0", "worker 1")
    }


@pytest.fixture(scope="module")
def seen_with_torch(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """The same where pods have PyTorch, and programs for the images of `train()`."""
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
        without_pytorch(f"{PYTHON} has no torch")
    flags = ("--python", str(PYTHON), "--image-program", str(FINE_TUNING))
    with local_up(tmp_path_factory.mktemp("torch"), *flags) as cluster:
        return session("sdk_on_nodes", cluster.kubeconfig, "torchrun", "fine-tuning")


@pytest.mark.weekly  # e2e/clients/test_sdk_requests.py checks the job, and two ranks take a minute of a core
@pytest.mark.shows("SDK-4.4", "SDK-7.1", "SDK-7.2", "SDK-7.3")
def test_train(seen_with_torch: Seen) -> None:
    """The master's init container fills the volume, then both processes fine-tune one model as the user wants it."""
    check_fine_tuned(seen_with_torch("fine-tuning"))


@pytest.mark.weekly  # three times torch
def test_three_nodes_from_a_function(seen_with_torch: Seen) -> None:
    """`torchrun` without a flag makes three nodes meet, and what it prints is seen while it runs."""
    told = seen_with_torch("torchrun")
    # `[default0]:` is the mark of torchrun's own log of a local rank.
    assert told["logs"] == {
        f"torchrun-{pod}": f"[default0]:rank {rank} of 3: sum 6, local 0"
        for rank, pod in enumerate(("master-0", "worker-0", "worker-1"))
    }


@pytest.mark.shows("SDK-4.9")
def test_a_job_that_fails_and_one_that_lasts(seen: Seen) -> None:
    """Waiting ends with the conditions of a failed job, or with the limit."""
    told = seen("failing")
    assert told["told"].startswith("RuntimeError: PyTorchJob sdk-on-nodes-failing/failing is Failed")
    assert "backoff limit" in told["told"]
    assert (told["expected"], told["is failed"]) == ("PyTorchJob", True)
    assert told["too late"].startswith("TimeoutError: Timeout waiting for JAXJob: sdk-on-nodes-failing/slow")


@pytest.mark.shows("SDK-4.9", "SDK-S11")
def test_a_job_with_a_short_time_to_live(seen: Seen) -> None:
    """It can be seen as long as promised, counted from its completion; then waiting for it fails."""
    told = seen("expiring")
    assert told["lived"] >= 2
    assert told["waited for"].startswith("RuntimeError: Failed to get JAXJob: sdk-on-nodes-expiring/short")


@pytest.mark.shows("SDK-7.2", "SDK-7.3", "SDK-S8")
def test_workers_start_after_the_master_has_prepared(seen: Seen) -> None:
    """No worker starts on the empty volume."""
    told = seen("preparing")
    pods = [f"preparing-{each}" for each in ("master-0", "worker-0", "worker-1")]
    assert told["logs"] == dict.fromkeys(pods, "weights\n")
    assert told["started"][pods[0]] <= min(told["started"][each] for each in pods[1:])


@pytest.mark.shows("SDK-1.11", "SDK-4.1")
def test_the_sdk_inside_a_pod(seen: Seen) -> None:
    """A client without arguments is the pod's service account, in the pod's namespace."""
    assert seen("inside")["logs"] == {"inside-worker-0": "sdk-on-nodes-inside ['inside']\n"}
