"""What may be chosen about a node, and what all of its pods share."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.node import ephemeral_storage
from training_local.node.api import TransportApi
from training_local.node.claims import Claims
from training_local.node.container import Backoff
from training_local.node.egress.mode import NetworkMode
from training_local.node.gpus import GpuPool
from training_local.node.limits import Limits
from training_local.node.log_files import LogFiles, LogLimits
from training_local.node.network import Network
from training_local.node.pod_python import PythonOfKind
from training_local.node.podspec import Pod

HOST_IP = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """What may be chosen about a node."""

    state: Path
    """Folder for everything; made with mode 0700."""
    mode: str
    """`netns` or `host`, as `sandbox.doctor.choose` finds it."""
    name: str = "local"
    python: Path = Path(sys.executable)
    """The interpreter that `python` and `python3` mean inside pods of no job."""
    python_of_kind: PythonOfKind | None = None
    """The interpreters of pods of jobs; None for the same in all."""
    working_directory: Path = field(default_factory=Path.cwd)
    """Where containers without `workingDir` run."""
    entry_points: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Image -> command, for containers that rely on their image's."""
    backoff: Backoff = field(default_factory=Backoff)
    disk_seconds: float = ephemeral_storage.SECONDS
    """How often to look what pods use of the disk."""
    log_limits: LogLimits = field(default_factory=LogLimits)
    gpus: int | None = None
    """How many GPUs to offer, be they there or not; None: those of the machine."""
    cpus: int | None = None
    """How many processors to offer; None: those of the machine."""
    memory: str = ""
    """How much memory to offer, as a quantity; empty: that of the machine."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Further labels of the node, for pods that select nodes."""
    claims: Path | None = None
    """Folder for the data of volume claims; None for one in `state`, which goes with it."""
    control_groups: bool = True
    """Whether to make control groups where this machine lets us and `cluster` names them; else memory is watched."""
    logs: Path | None = None
    """Folder for logs that outlive the node; None for one in `state`, which goes with it."""
    hidden: Path | None = None
    """Folder around `state` of which pods see nothing; None for `state` itself."""
    private: Sequence[Path] = ()
    """Files and folders elsewhere of which pods see nothing."""
    allow_missing_mounts: bool = False
    """Whether containers run in host mode without volumes to which nothing leads."""
    network: NetworkMode = NetworkMode.NONE
    """What pods reach outside of the cluster, where they have a network of their own."""
    cluster: str = ""
    """Marks the node's processes, so that they are found after it has been killed."""


@dataclass(frozen=True, slots=True)
class NodeContext:
    """What all pods of a node share."""

    api: TransportApi
    network: Network
    config: NodeConfig
    search_path: str
    """Of pods with the Python of `config`."""
    capacity: Mapping[str, Fraction]
    gpus: GpuPool
    limits: Limits
    claims: Claims
    log_files: LogFiles
    needed: Sequence[Path] = ()
    """Folders that pods see as they are on the machine, also below its temporary ones."""
    private: Sequence[Path] = ()
    """Files and folders of the cluster, of which pods see their own parts at most."""
    endpoint: InClusterEndpoint | None = None
    """How pods reach the API server; None if they do not."""
    own_environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def tools(self) -> Path:
        """The folder of the programs that pods find first."""
        return self.config.state / "bin"

    def logs(self, pod: Pod) -> Path:
        """The folder of a pod's logs."""
        metadata = pod.metadata
        return self.log_files.folder / f"{metadata.namespace}_{metadata.name}_{metadata.uid}"

    def work(self, pod: Pod) -> Path:
        """The folder of everything else of a pod."""
        return self.config.state / "work" / pod.metadata.uid
