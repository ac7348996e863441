"""kubectl prints the same against the embedded API server as was recorded against a real one."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.fidelity.sessions import kubectls, play_session, recorded
from unit_tests.local.test_api_fidelity import local_server

KUBECTLS = kubectls()
NEWEST = sorted(KUBECTLS, key=int)[-1:]
QUICK = ("apply", "move_to_the_server", "show", "change", "custom", "select", "job")
"""One version and some sessions have to do here, for each command costs a tenth of a second; `make e2e` plays all."""

pytestmark = pytest.mark.skipif(not KUBECTLS, reason="kubectl is built by `python -m e2e.harness build`")


@pytest.mark.parametrize("minor", NEWEST)
@pytest.mark.parametrize("name", QUICK)
async def test_session(minor: str, name: str, tmp_path: Path) -> None:
    async with local_server(tmp_path) as kubeconfig:
        assert await play_session(KUBECTLS[minor], kubeconfig, name, tmp_path / "cache") == recorded(minor)[name]
