"""The recordings are what a real API server answers; `python -m e2e.fidelity` records anew."""

from __future__ import annotations

import pytest
from e2e.fidelity.player import session_of
from e2e.fidelity.suite import Case, all_cases, play, prepare, recorded
from e2e.harness.cluster import Cluster
from e2e.support import marks

CASES = [pytest.param(module, name, case, id=f"{module}-{name}") for module, name, case in all_cases()]


@pytest.mark.parametrize(("module", "name", "case"), CASES)
@marks.real  # those of the embedded one are compared in test_in_process.py
async def test_recording_is_current(module: str, name: str, case: Case, cluster: Cluster) -> None:
    async with session_of(cluster.kubeconfig) as (session, server):
        await prepare(session, server)
        assert await play(case, session, server) == recorded(module)[name]


def test_every_recording_has_its_case() -> None:
    known = {(module, name) for module, name, _ in all_cases()}
    modules = {module for module, _ in known}
    assert {(module, name) for module in modules for name in recorded(module)} == known
