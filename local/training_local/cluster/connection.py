"""The cluster that a command is about: a running one of this user, or any that a kubeconfig names."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from training_local.cluster.registry import ClusterRecord, find
from training_local.errors import BadInput
from training_operator.kube.config import ClusterConfig, ConfigError, from_kubeconfig, trusting
from training_operator.kube.credentials import Fixed
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Transport

DEFAULT_NAMESPACE: Final = "default"


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """What the user said about the cluster and the namespace."""

    name: str | None = None
    kubeconfig: Path | None = None
    namespace: str | None = None

    @property
    def searched(self) -> str | None:
        """The namespace to look in; None for all, which is too much of a shared cluster."""
        return self.namespace or (DEFAULT_NAMESPACE if self.kubeconfig else None)


@dataclass(frozen=True, slots=True)
class Connection:
    """A cluster and the connection to it."""

    title: str
    config: ClusterConfig
    transport: Transport


def access(record: ClusterRecord) -> ClusterConfig:
    """Return how to speak with a cluster of the registry."""
    kubeconfig = yaml.safe_load(record.kubeconfig.read_text())
    authority = base64.b64decode(kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
    credentials = Fixed(f"Bearer {kubeconfig['users'][0]['user']['token']}")
    return ClusterConfig(record.url, credentials, trusting(cadata=authority))


@asynccontextmanager
async def connected(config: ClusterConfig) -> AsyncIterator[Transport]:
    """Talk to a cluster over HTTPS, through as many connections as it takes: every log that is followed holds one."""
    transport = HttpTransport(config, connections=0)
    try:
        yield transport
    finally:
        await transport.close()


@asynccontextmanager
async def connect(choice: ClusterChoice) -> AsyncIterator[Connection]:
    """Connect to the chosen cluster; raises `BadInput` if there is none, or if its kubeconfig cannot be used."""
    if choice.kubeconfig is None:
        record = find(choice.name)
        title, config = f"cluster {record.name}", access(record)
    elif choice.name is None:
        title, config = f"the cluster of {choice.kubeconfig}", await _read(choice.kubeconfig)
    else:
        raise BadInput("--name and --kubeconfig are mutually exclusive: use one of them")
    async with connected(config) as transport:
        yield Connection(title, config, transport)


async def _read(kubeconfig: Path) -> ClusterConfig:
    try:
        return await from_kubeconfig(str(kubeconfig))
    except ConfigError as error:
        raise BadInput(str(error)) from None
