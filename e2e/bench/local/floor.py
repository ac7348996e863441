"""`python -m e2e.bench.local.floor KUBECONFIG`: a server that answers every request with the same JSON, over TLS."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from aiohttp import web
from e2e.bench.local.pods import pod

from training_local.apiserver.certificates import ServerIdentity, server_identity
from training_local.apiserver.http import tls
from training_local.apiserver.kubeconfig import write_kubeconfig


async def serve(kubeconfig: Path) -> None:
    """Serve until killed."""
    answer = pod("floor") + b" " * 800  # what the server fills in
    identity: ServerIdentity = server_identity(["127.0.0.1"])

    async def same(request: web.BaseRequest) -> web.Response:
        await request.read()
        return web.Response(status=201, body=answer, headers={"content-type": "application/json"})

    runner = web.ServerRunner(web.Server(same, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls(identity)).start()
    write_kubeconfig(kubeconfig, f"https://127.0.0.1:{runner.addresses[0][1]}", identity.authority, "token")
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
