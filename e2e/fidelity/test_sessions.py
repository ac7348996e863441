"""What kubectl prints in front of a real API server; `python -m e2e.fidelity sessions` records anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.fidelity.commands import SESSIONS
from e2e.fidelity.sessions import play_session, recording
from e2e.fidelity.suite import recorded
from e2e.harness.binaries import KUBECTLS
from e2e.harness.cluster import Cluster
from e2e.support import marks

*OLDER, NEWEST = KUBECTLS
MINORS = [
    *(pytest.param(minor, marks=[marks.local, pytest.mark.weekly]) for minor in OLDER),  # they change no more
    pytest.param(NEWEST, marks=pytest.mark.provider("bare", "local")),
]


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("name", SESSIONS)
async def test_session_is_current(minor: str, name: str, cluster: Cluster, tmp_path: Path) -> None:
    assert await play_session(minor, cluster.kubeconfig, name, tmp_path) == recorded(recording(minor))[name]


@pytest.mark.parametrize("minor", KUBECTLS)
def test_every_session_is_recorded(minor: str) -> None:
    assert recorded(recording(minor)).keys() == SESSIONS.keys()
