"""The recordings are what a real API server answers; `python -m e2e.fidelity` records anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.fidelity.commands import SESSIONS
from e2e.fidelity.player import session_of
from e2e.fidelity.sessions import kubectls, play_session
from e2e.fidelity.sessions import recorded as recorded_sessions
from e2e.fidelity.suite import Case, all_cases, play, prepare, recorded
from e2e.harness.cluster import Cluster

KUBECTLS = {minor: program for minor, program in kubectls().items() if recorded_sessions(minor)}
NEWEST = max(KUBECTLS, key=int, default="")
CASES = [pytest.param(module, name, case, id=f"{module}-{name}") for module, name, case in all_cases()]


@pytest.mark.parametrize(("module", "name", "case"), CASES)
async def test_recording_is_current(module: str, name: str, case: Case, cluster: Cluster) -> None:
    async with session_of(cluster.kubeconfig) as (session, server):
        await prepare(session, server)
        assert await play(case, session, server) == recorded(module)[name]


def test_every_recording_has_its_case() -> None:
    known = {(module, name) for module, name, _ in all_cases()}
    modules = {module for module, _ in known}
    assert {(module, name) for module in modules for name in recorded(module)} == known


@pytest.mark.parametrize("minor", KUBECTLS)
@pytest.mark.parametrize("name", SESSIONS)
async def test_session_is_current(minor: str, name: str, cluster: Cluster, tmp_path: Path) -> None:
    if cluster.provider != "local" and minor != NEWEST:
        pytest.skip("the real server is asked by the newest kubectl only: what older ones say changes no more")
    assert await play_session(KUBECTLS[minor], cluster.kubeconfig, name, tmp_path) == recorded_sessions(minor)[name]
