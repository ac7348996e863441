"""Fixtures for tests whose pods run: `make e2e-node`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.harness.cluster import Cluster
from e2e.node.installed import IN_NAMESPACE, SELECTOR, story, wait_until_leading, write_overlay
from e2e.node.operator_image import operator_image
from e2e.node.worker import load


def pytest_itemcollected(item: pytest.Item) -> None:
    """All tests of this folder need pods that run on a real node."""
    item.add_marker(pytest.mark.provider("node"))


@pytest.fixture(scope="session")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The standalone overlay with the images that exist on the node."""
    return write_overlay(tmp_path_factory.mktemp("overlay"))


@pytest.fixture(scope="session")
def node_operator(cluster: Cluster, overlay: Path) -> Iterator[None]:
    """One operator for all tests, installed as administrators do, and at work."""
    load(operator_image(), cluster.kubeconfig.parent)
    cluster.run_kubectl("apply", "-k", str(overlay))
    wait_until_leading(cluster)
    yield
    pods = json.loads(cluster.run_kubectl("get", "pods", IN_NAMESPACE, f"--selector={SELECTOR}", "--output=json"))
    ends = [status["restartCount"] for pod in pods["items"] for status in pod["status"]["containerStatuses"]]
    assert ends == [0, 0], story(cluster)
