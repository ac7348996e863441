"""One control plane with the controllers of Trainer v2 and JobSet for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from e2e.harness.client import Api, connect
from e2e.harness.cluster import Cluster
from e2e.migration.controllers import trainer_cluster


@pytest.fixture(scope="package")
def trainer(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The control plane."""
    if pytestconfig.getoption("--provider") != "bare":
        pytest.skip("Trainer v2 is installed into a cluster of its own: this is about --provider bare")
    with trainer_cluster(tmp_path_factory.mktemp("trainer")) as cluster:
        yield cluster


@pytest.fixture
def on_this_machine(pytestconfig: pytest.Config) -> None:
    """For tests with local clusters of their own: they run once, beside the others that need no real API server."""
    if pytestconfig.getoption("--provider") != "local":
        pytest.skip("runs on local clusters of its own: this is about --provider local")


@pytest.fixture
async def api(trainer: Cluster) -> AsyncIterator[Api]:
    async with connect(trainer.kubeconfig) as api:
        yield api
