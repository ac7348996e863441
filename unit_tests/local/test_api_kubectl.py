"""kubectl prints the same against the embedded API server as was recorded against a real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.fidelity.player import session_of
from e2e.fidelity.sessions import SESSIONS, kubectls, play_session, recorded
from e2e.fidelity.suite import prepare
from unit_tests.local.test_api_fidelity import local_server

KUBECTLS = {minor: program for minor, program in kubectls().items() if recorded(minor)}
NEWEST = sorted(KUBECTLS, key=int)[-1:]
"""One version has to do here: each command costs a fifth of a second."""

pytestmark = pytest.mark.skipif(not KUBECTLS, reason="there is no kubectl of a version that sessions are recorded for")


@pytest.mark.parametrize("minor", NEWEST)
@pytest.mark.parametrize("name", SESSIONS)
async def test_session(minor: str, name: str, tmp_path: Path) -> None:
    async with local_server(tmp_path) as kubeconfig:
        async with session_of(kubeconfig) as (session, url):
            await prepare(session, url)
        assert await play_session(KUBECTLS[minor], kubeconfig, name, tmp_path / "cache") == recorded(minor)[name]
