"""What tests of definitions need beside those of the six kinds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from e2e.harness.cluster import Cluster
from e2e.support.every_kind import DEEPSPEED

from training_api.crd.build import build


@pytest.fixture(scope="package", autouse=True)
def kind_of_the_plugin(cluster: Cluster) -> Iterator[None]:
    """Define the kind of `examples/plugin-deepspeed`, too."""
    definition = build(DEEPSPEED.info)
    cluster.send("apply", definition)
    cluster.wait_established("crd", definition["metadata"]["name"])
    yield
    cluster.run_kubectl("delete", "customresourcedefinition", definition["metadata"]["name"])
