"""The embedded API server gives the answers that were recorded from a real one, over HTTPS."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
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


@asynccontextmanager
async def local_server(folder: Path) -> AsyncIterator[Path]:
    identity = server_identity(["127.0.0.1", "localhost"])
    server = ApiServer(BUILTIN, crd_types, authority=identity.authority.decode())
    async with server.running(), serving(server, identity, TOKEN) as url:
        kubeconfig = folder / "kubeconfig"
        write_kubeconfig(kubeconfig, url, identity.authority, TOKEN)
        yield kubeconfig


@pytest.mark.parametrize(("module", "name", "case"), CASES)
async def test_answers_like_a_real_server(module: str, name: str, case: Case, tmp_path: Path) -> None:
    async with local_server(tmp_path) as kubeconfig, session_of(kubeconfig) as (session, url):
        await prepare(session, url)
        assert await play(case, session, url) == recorded(module)[name]
