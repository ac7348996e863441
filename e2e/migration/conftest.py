"""One control plane with the controllers of Trainer v2 and JobSet for all tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from e2e.harness.client import Api, connect
from e2e.harness.cluster import Cluster
from e2e.migration.controllers import trainer_cluster


@pytest.fixture(scope="package")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The control plane."""
    with trainer_cluster(tmp_path_factory.mktemp("trainer")) as cluster:
        yield cluster


@pytest.fixture
async def api(trainer: Cluster) -> AsyncIterator[Api]:
    async with connect(trainer.kubeconfig) as api:
        yield api
