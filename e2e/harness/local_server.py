"""`python -m e2e.harness.local_server KUBECONFIG [DATA]`: the embedded API server, without node, until SIGTERM."""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.journal import Journal
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN


async def serve(kubeconfig: Path, data: Path | None = None) -> None:
    """Serve on a free port, what `data` keeps; the kubeconfig appears, whole, once the server answers."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    identity = server_identity(["127.0.0.1"])
    token = secrets.token_urlsafe(24)
    with ExitStack() as stack:
        journal = stack.enter_context(Journal.open(data)) if data else None
        api = ApiServer(BUILTIN, crd_types, authority=identity.authority.decode(), journal=journal)
        async with api.running(), serving(api, identity, token) as url:
            write_kubeconfig(kubeconfig, url, identity.authority, token)
            await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(*map(Path, sys.argv[1:])))
