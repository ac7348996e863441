"""One local cluster for the tests of clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.harness.local_up import LocalUp, local_up


@pytest.fixture(scope="session")
def cluster_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalUp]:
    """One cluster for all tests of this process."""
    with local_up(tmp_path_factory.mktemp("clients")) as cluster:
        yield cluster
