"""Fixtures for tests whose pods run: `make e2e-node`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator, running_operator
from e2e.node.images import KUBECTL, WAITING


@pytest.fixture(scope="session", autouse=True)
def node_only(pytestconfig: pytest.Config) -> None:
    if pytestconfig.getoption("--provider") != "node":
        pytest.skip("pods must run on a real node: make e2e-node")


@pytest.fixture(scope="session")
def node_operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """One operator for all tests, with the images that exist here."""
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    images = (f"--pytorch-init-container-image={WAITING}", f"--mpi-kubectl-delivery-image={KUBECTL}")
    with running_operator(cluster.kubeconfig, log, *images) as operator:
        yield operator
