"""`train()` of v1's SDK on a real node: images under the names that it asks for, and a claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest
from e2e.clients.session import check_fine_tuned, session
from e2e.harness.cluster import Cluster
from e2e.node.registry import publish
from e2e.support.paths import ROOT
from e2e.training.recording import keep
from e2e.upstream.images import debian

PROGRAMS: Final = ROOT / "examples" / "pytorch" / "fine-tuning"
FOLDER: Final = "opt/fine-tuning"
IMAGES: Final = {
    "ghcr.io/kubeflow/training-v1/storage-initializer": (
        "python3", f"/{FOLDER}/initializer.py", "--folder", "/workspace"
    ),
    "ghcr.io/kubeflow/training-v1/trainer-huggingface": ("torchrun", f"/{FOLDER}/trainer.py"),
}  # fmt: skip
"""What each is started with; the SDK gives arguments alone."""
VOLUME: Final = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "tuned"},
    "spec": {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
        "hostPath": {"path": "/mnt/tuned", "type": "DirectoryOrCreate"},
    },
}
"""As an administrator makes one: without a class, as is the claim of the SDK where there is no default class."""


@pytest.fixture
def volume(cluster: Cluster) -> Iterator[None]:
    """A folder of the node for the next claim."""
    cluster.send("create", VOLUME)
    yield
    cluster.run_kubectl("delete", "persistentvolume", "tuned", "--wait=false")


@pytest.mark.usefixtures("node_operator", "volume")
def test_the_sdk_fine_tunes_on_a_node(cluster: Cluster, request: pytest.FixtureRequest) -> None:
    programs = {f"{FOLDER}/{file.name}": file.read_bytes() for file in PROGRAMS.glob("*.py")}
    for name, entrypoint in IMAGES.items():
        publish(debian(name, entrypoint, programs), cluster.kubeconfig.parent)
    check_fine_tuned(session("sdk_on_nodes", cluster.kubeconfig, "fine-tuning")("fine-tuning"))
    if request.config.getoption("--record"):
        keep(
            request.node.nodeid, library="SDK: train()", versions="kubeflow-training 1.9.4", kind="PyTorchJob",
            shown="the init container fills a claim, 2 ranks fine-tune", where="real node",
        )  # fmt: skip
