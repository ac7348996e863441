"""`python -m e2e.harness.local_server KUBECONFIG`: the embedded API server alone, without node, until SIGTERM."""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from pathlib import Path

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.crd import crd_types
from training_local.apiserver.http import serving
from training_local.apiserver.kubeconfig import write_kubeconfig
from training_local.apiserver.server import ApiServer
from training_local.apiserver.types import BUILTIN


async def serve(kubeconfig: Path) -> None:
    """Serve on a free port; the kubeconfig appears, whole, once the server answers."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    identity = server_identity(["127.0.0.1"])
    token = secrets.token_urlsafe(24)
    api = ApiServer(BUILTIN, crd_types, authority=identity.authority.decode())
    async with api.running(), serving(api, identity, token) as url:
        write_kubeconfig(kubeconfig, url, identity.authority, token)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
