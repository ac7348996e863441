"""The ClusterTrainingRuntimes that come with Trainer, as a cluster has them after an ordinary installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_migration.targets import Target
from training_migration.v2.names import ANCESTOR, CLUSTER_RUNTIME, FRAMEWORK, LAUNCHER, NODE, TRAINER, TRAINER_API

Json = dict[str, Any]

_USER: Final = 1000
_KEYS: Final = "/home/mpiuser"


@dataclass(frozen=True, slots=True)
class _Release:
    """What the runtimes of a release have of their own."""

    torch_image: str
    tag: str
    """Of the project's own images."""
    later: bool
    """Whether there are runtimes for JAX and XGBoost."""
    nodes_first: bool
    """Whether the launcher of MPI waits for the nodes, and files belong to its user."""
    torch: Json


_RELEASES: Final[Mapping[Target, _Release]] = {
    Target.V2_0: _Release("2.7.1-cuda12.8", "v2.0.1", False, False, {"numProcPerNode": "auto"}),
    Target.V2_1: _Release("2.7.1-cuda12.8", "v2.1.0", False, False, {"numProcPerNode": "auto"}),
    Target.V2_2: _Release("2.10.0-cuda12.8", "v2.2.1", True, False, {}),
    Target.V2_3: _Release("2.13.0-cuda13.0", "v2.3.0", True, True, {}),
    Target.NEXT: _Release("2.13.0-cuda13.0", "latest", True, True, {}),
}


def stock(target: Target) -> Mapping[str, Json]:
    """The runtimes for training by name; without those for torchtune, and without 2.0's commands of demonstration."""
    release = _RELEASES[target]
    runtimes = [
        _runtime("torch", {"torch": release.torch}, [_nodes(f"pytorch/pytorch:{release.torch_image}-cudnn9-runtime")]),
        _mpi_runtime("deepspeed", release),
        _mpi_runtime("mlx", release),
    ]
    if release.later:
        runtimes += [
            _runtime("jax", {"jax": {}}, [_nodes("nvcr.io/nvidia/jax:25.10-py3")]),
            _runtime("xgboost", {"xgboost": {}}, [_nodes(_own_image("xgboost", release))]),
        ]
    return {each["metadata"]["name"]: each for each in runtimes}


def _own_image(framework: str, release: _Release) -> str:
    return f"ghcr.io/kubeflow/trainer/{framework}-runtime:{release.tag}"


def _runtime(framework: str, policy: Json, jobs: list[Json], **template: Any) -> Json:
    return {
        "apiVersion": TRAINER_API,
        "kind": CLUSTER_RUNTIME,
        "metadata": {"name": f"{framework}-distributed", "labels": {FRAMEWORK: framework}},
        "spec": {"mlPolicy": {"numNodes": 1, **policy}, "template": {"spec": {**template, "replicatedJobs": jobs}}},
    }


def _nodes(image: str) -> Json:
    return _replicated_job(NODE, {"containers": [{"name": NODE, "image": image}]}, trains=True)


def _replicated_job(name: str, pod: Json, *, trains: bool, **fields: Any) -> Json:
    metadata = {"metadata": {"labels": {ANCESTOR: TRAINER}}} if trains else {}
    return {"name": name, **fields, "template": {**metadata, "spec": {"template": {"spec": pod}}}}


def _mpi_runtime(framework: str, release: _Release) -> Json:
    """The launcher trains as well; the nodes wait for it as SSH servers of an ordinary user."""
    policy = {
        "numProcPerNode": 1,
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": f"{_KEYS}/.ssh",
        "runLauncherAsNode": True,
    }
    container: Json = {
        "name": NODE,
        "image": _own_image(framework, release),
        "securityContext": {"runAsUser": _USER},
    }
    server = {
        "command": ["/usr/sbin/sshd"],
        "args": ["-De", "-f", f"{_KEYS}/.sshd_config"],
        "readinessProbe": {"tcpSocket": {"port": 2222}, "initialDelaySeconds": 5},
    }
    pod: Json = {"securityContext": {"fsGroup": _USER}} if release.nodes_first else {}
    order: Json = {"dependsOn": [{"name": NODE, "status": "Ready"}]} if release.nodes_first else {}
    nodes = _replicated_job(NODE, {**pod, "containers": [{**container, **server}]}, trains=False)
    launcher = _replicated_job(LAUNCHER, {**pod, "containers": [container]}, trains=True, **order)
    return _runtime(
        framework,
        {"mpi": policy},
        [nodes, launcher] if release.nodes_first else [launcher, nodes],
        network={"publishNotReadyAddresses": True},
        successPolicy={"operator": "All", "targetReplicatedJobs": [LAUNCHER]},
    )
