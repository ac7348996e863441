"""Local clusters that are killed leave nothing; `python -m e2e.endurance.survivors` kills more of them."""

from __future__ import annotations

import pytest
from e2e.endurance.survivors import prove
from e2e.support.local_node import needs_namespaces


@pytest.mark.parametrize("mode", [pytest.param("netns", marks=needs_namespaces), "host"])
def test_nothing_is_left_of_killed_clusters(mode: str) -> None:
    proof = prove(mode, kills=3, interrupts=0, deletions=0, seed=7)
    assert proof.survivors == []
    assert proof.most > 0
