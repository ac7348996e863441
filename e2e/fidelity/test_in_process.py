"""The embedded API server gives the answers that were recorded from a real one, over HTTPS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import cache

import pytest
import pytest_asyncio
from aiohttp import ClientSession
from e2e.fidelity.player import session_of
from e2e.fidelity.suite import Case, all_cases, play, prepare, recorded

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN

CASES = [pytest.param(module, name, case, id=f"{module}-{name}") for module, name, case in all_cases()]
TOKEN = "token-of-the-test"
transcripts = cache(recorded)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[ClientSession, str]]:
    """A session with one server for all cases, and its URL: each case has a namespace of its own."""
    identity = server_identity(["127.0.0.1", "localhost"])
    server = ApiServer(BUILTIN, crd_types, authority=identity.authority.decode())
    kubeconfig = tmp_path_factory.mktemp("server") / "kubeconfig"
    async with server.running(), serving(server, identity, TOKEN) as url:
        write_kubeconfig(kubeconfig, url, identity.authority, TOKEN)
        async with session_of(kubeconfig) as (session, _):
            await prepare(session, url)
            yield session, url


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("module", "name", "case"), CASES)
async def test_answers_like_a_real_server(
    module: str, name: str, case: Case, played: tuple[ClientSession, str]
) -> None:
    assert await play(case, *played) == transcripts(module)[name]
