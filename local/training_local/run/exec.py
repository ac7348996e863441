"""Entering a pod of which a user speaks: which container, which shell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp

from training_local.errors import BadInput
from training_local.execution.client import Execution, execute
from training_local.run.targets import PodRef
from training_operator.kube.config import ClusterConfig

FIND_SHELL: Final = """\
[ -n "$2" ] && TERM=$2 && export TERM
for shell in "$1" bash sh; do command -v "$shell" >/dev/null 2>&1 && exec "$shell"; done"""
"""Becomes the shell that the user prefers and the container has. Its arguments: that shell, the kind of terminal."""


def shell_command(environment: Mapping[str, str]) -> list[str]:
    """Return the command of the user's shell, or of one that is there."""
    return ["sh", "-c", FIND_SHELL, "sh", environment.get("SHELL", ""), environment.get("TERM", "")]


def container_of(pod: PodRef, named: str) -> str:
    """Return the container to enter; raises `BadInput` if there is none of that name, or if it does not run."""
    names = [
        container["name"]
        for field in ("containers", "initContainers")
        for container in pod.stored["spec"].get(field) or ()
    ]
    container = named or pod.container or names[0]
    if container not in names:
        raise BadInput(f"{pod} has no container {container}; it has: {', '.join(names)}")
    replica = pod.replica
    if replica.phase in ("Succeeded", "Failed"):
        how = f" with {replica.last_end.brief}" if replica.last_end else ""
        look = f"training-operator local logs {replica.pod} -n {pod.namespace}"
        raise BadInput(f"{pod} has ended{how}: commands run in running containers only; its log: {look}")
    state = _state(pod.stored.get("status") or {}, container)
    if "running" not in state:
        why = replica.waiting or "it is being started"
        raise BadInput(f"container {container} of {pod} does not run: {why}")
    return container


def _state(status: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    known = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((each.get("state") or {} for each in known if each["name"] == container), {})


async def execute_in(config: ClusterConfig, execution: Execution) -> int:
    """Run a program in a pod of a cluster with the user's streams; see `execute`."""
    async with session_with(config) as session:
        return await execute(session, config.server, execution, config.server_name or None, config.proxy or None)


@asynccontextmanager
async def session_with(config: ClusterConfig) -> AsyncIterator[aiohttp.ClientSession]:
    """Yield what sends requests that leave HTTP."""
    authorization = await config.credentials.authorization()
    headers = {"Authorization": authorization} if authorization else {}
    connector = aiohttp.TCPConnector(ssl=config.tls or False, limit=0)
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        yield session
