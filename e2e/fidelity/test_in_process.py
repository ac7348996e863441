"""The embedded API server gives the answers that were recorded from a real one, over HTTPS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from e2e.fidelity.player import session_of
from e2e.fidelity.suite import Case, all_cases, play, prepare, recorded
from e2e.support.embedded import embedded

CASES = defaultdict[str, list[tuple[str, Case]]](list)
for _module, _name, _case in all_cases():
    CASES[_module].append((_name, _case))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[ClientSession, str]]:
    """A session with one server for all cases, and its URL: each case has a namespace of its own."""
    async with embedded(tmp_path_factory.mktemp("server")) as (_, kubeconfig), session_of(kubeconfig) as played:
        await prepare(*played)
        yield played


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("module", CASES)
async def test_answers_like_a_real_server(module: str, played: tuple[ClientSession, str]) -> None:
    transcripts = recorded(module)
    for name, case in CASES[module]:
        assert await play(case, *played) == transcripts[name], name
