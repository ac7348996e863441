"""What all pods of a node share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.node.api import TransportApi
from training_local.node.claims import Claims
from training_local.node.container import Backoff
from training_local.node.gpus import GpuPool
from training_local.node.limits import Limits
from training_local.node.log_files import LogFiles
from training_local.node.network import Network
from training_local.node.pod_python import PythonOfKind
from training_local.node.podspec import Pod

HOST_IP = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class NodeContext:
    """What all pods of a node share."""

    api: TransportApi
    network: Network
    node_name: str
    mode: str
    state: Path
    python: Path
    """The interpreter for which `search_path` is."""
    search_path: str
    python_of_kind: PythonOfKind
    working_directory: Path
    capacity: Mapping[str, Fraction]
    gpus: GpuPool
    limits: Limits
    claims: Claims
    entry_points: Mapping[str, Sequence[str]]
    backoff: Backoff
    log_files: LogFiles
    needed: Sequence[Path] = ()
    """Folders that pods see as they are on the machine, also below its temporary ones."""
    private: Sequence[Path] = ()
    """Files and folders of the cluster, of which pods see their own parts at most."""
    allow_missing_mounts: bool = False
    """Whether containers run in host mode without volumes to which nothing leads."""
    endpoint: InClusterEndpoint | None = None
    """How pods reach the API server; None if they do not."""
    own_environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def tools(self) -> Path:
        """The folder of the programs that pods find first."""
        return self.state / "bin"

    def logs(self, pod: Pod) -> Path:
        """The folder of a pod's logs."""
        metadata = pod.metadata
        return self.log_files.folder / f"{metadata.namespace}_{metadata.name}_{metadata.uid}"

    def work(self, pod: Pod) -> Path:
        """The folder of everything else of a pod."""
        return self.state / "work" / pod.metadata.uid
