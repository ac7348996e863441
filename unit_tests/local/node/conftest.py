"""Nodes to test with, in each mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from e2e.support.local_node import NO_NAMESPACES, Cluster, cluster_in, needs_namespaces


@pytest.fixture(params=[pytest.param("netns", marks=needs_namespaces), "host"])
async def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Cluster]:
    # Some pods have volumes only to show what becomes of these, and name no path of them.
    async with cluster_in(tmp_path / "state", request.param, allow_missing_mounts=True) as running:
        yield running


@pytest.fixture
async def sandboxed(tmp_path: Path) -> AsyncIterator[Cluster]:
    if NO_NAMESPACES:
        pytest.skip(f"this machine denies the sandbox: {NO_NAMESPACES}")
    async with cluster_in(tmp_path / "state", "netns") as running:
        yield running


@pytest.fixture
async def on_host(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_in(tmp_path / "state", "host") as running:
        yield running
