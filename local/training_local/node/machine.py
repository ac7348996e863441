"""This machine as a node: what it has, and the Node object that says so."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from training_api.models.common import rfc3339
from training_local.node.container import RUNTIME
from training_local.node.context import HOST_IP
from training_local.node.gpus import RESOURCE
from training_local.node.podspec import Wire

_MOST_PODS = 1000


def capacity(state: Path, gpus: int, own: tuple[int | None, int | None] = (None, None)) -> Mapping[str, str]:
    """What the machine has, as quantities in their canonical form; `state` lies on the disk that counts.

    `own` is what this process is held to, in bytes and thousandths of processors: in a container the machine is larger
    than what pods can have of it.
    """
    memory, processors = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), _processors() * 1000
    memory, processors = min(memory, own[0] or memory), min(processors, own[1] or processors)
    return {
        "cpu": f"{processors}m" if processors % 1000 else str(processors // 1000),
        "ephemeral-storage": f"{shutil.disk_usage(state).total // 1024}Ki",
        "memory": f"{memory // 1024}Ki",
        "pods": str(_MOST_PODS),
        **({RESOURCE: str(gpus)} if gpus else {}),
    }


def offered(found: Mapping[str, str], cpus: int | None, memory: str) -> Mapping[str, str]:
    """The capacity with processors and memory that the user sets in place of the machine's."""
    pretended = {"cpu": str(cpus) if cpus else "", "memory": memory}
    return {**found, **{name: amount for name, amount in pretended.items() if amount}}


def _processors() -> int:
    """Those that this process may use, where the system says."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def node_object(name: str, amounts: Mapping[str, str], labels: Mapping[str, str]) -> Wire:
    """The Node object to register."""
    now = rfc3339(datetime.now(UTC))
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    own = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": sys.platform,
        "kubernetes.io/arch": machine,
        # Jobs may spread over zones; one zone satisfies them.
        "topology.kubernetes.io/region": name,
        "topology.kubernetes.io/zone": name,
    }
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "the local node is ready",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**own, **labels}},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": HOST_IP}, {"type": "Hostname", "address": name}],
            "nodeInfo": {
                "architecture": machine,
                "bootID": "",
                "containerRuntimeVersion": f"{RUNTIME}://1",
                "kernelVersion": platform.release(),
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.34.0",
                "machineID": "",
                "operatingSystem": sys.platform,
                "osImage": platform.platform(),
                "systemUUID": "",
            },
        },
    }
