"""`training-operator local forward`: a port of a pod on this machine."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from typing import Any

import click

from training_local.cluster.connection import ClusterChoice, Connection, connect
from training_local.errors import innermost
from training_local.execution.forward import PodGone, PodPort
from training_local.run.exec import container_of, session_with
from training_local.run.forward import LOOPBACK, Forwarder, Ports
from training_local.run.targets import PodRef, chosen_pod, contents
from training_local.verbs.finish import EXIT_FAILED, finish


def forward(*, pod: str, ports: str, open_browser: bool, container: str, **choice: Any) -> None:
    """Reach a port of a pod on this machine until Ctrl-C: local forward worker-0 6006, then http://127.0.0.1:6006."""
    try:
        parsed = Ports.parse(ports)
    except ValueError:
        message = f"{ports!r} is not a port from 1 to 65535, such as 6006, 8080:6006 or :6006"
        raise click.BadParameter(message, param_hint="'PORT'") from None
    finish(_forward(pod, parsed, open_browser, container, ClusterChoice(**choice)))


async def _forward(text: str, ports: Ports, open_browser: bool, container: str, choice: ClusterChoice) -> int:
    try:
        async with connect(choice) as cluster:
            pod = chosen_pod(text, await contents(cluster.transport, choice.searched))
            container_of(pod, container)
            print(f"training-operator local: {await _until_gone(cluster, pod, ports, open_browser)}", file=sys.stderr)
    except* OSError as group:
        print(f"training-operator local: {innermost(group)}", file=sys.stderr)
    return EXIT_FAILED


async def _until_gone(cluster: Connection, pod: PodRef, ports: Ports, open_browser: bool) -> str:
    """Forward until the pod cannot be reached any more; return why."""
    config = cluster.config
    async with session_with(config) as session:
        target = PodPort(
            session,
            config.server,
            pod.namespace,
            pod.replica.pod,
            ports.remote,
            config.server_name or None,
            config.proxy or None,
        )
        forwarder = Forwarder(target, lambda said: print(f"training-operator local: {said}", file=sys.stderr))
        async with await forwarder.listen(ports.local) as server:
            here = f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
            print(f"http://{here} leads to port {ports.remote} of {pod}. Ctrl-C ends it.", flush=True)
            try:
                if open_browser:
                    await forwarder.until_listening()
                    await asyncio.to_thread(webbrowser.open, f"http://{here}/")  # one in a terminal takes its time
                return await forwarder.until_over()
            except PodGone as error:
                return str(error)
            finally:
                await forwarder.close()
