"""What kubectl prints in front of a real API server; `python -m e2e.fidelity sessions` records anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.fidelity.commands import SESSIONS
from e2e.fidelity.sessions import kubectls, play_session, recorded
from e2e.harness.cluster import Cluster

KUBECTLS = kubectls()
NEWEST = max(KUBECTLS, key=int, default="")


@pytest.mark.parametrize("minor", KUBECTLS)
@pytest.mark.parametrize("name", SESSIONS)
async def test_session_is_current(minor: str, name: str, cluster: Cluster, tmp_path: Path) -> None:
    if cluster.provider != "local" and minor != NEWEST:
        pytest.skip("the real server is asked by the newest kubectl only: what older ones say changes no more")
    assert await play_session(KUBECTLS[minor], cluster.kubeconfig, name, tmp_path) == recorded(minor)[name]


@pytest.mark.parametrize("minor", ["28", "34"])
def test_every_session_is_recorded(minor: str) -> None:
    assert recorded(minor).keys() == SESSIONS.keys()
