"""An installation with users' roles, on a real API server, and the operator as its own account."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.adversary.installation import installed, running
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A control plane of this folder's own: tenants do what they may with it."""
    with installed() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def operator(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """The operator with the Deployment's flags, as its account."""
    with running(cluster, tmp_path_factory.mktemp("operator")) as operator:
        yield operator
