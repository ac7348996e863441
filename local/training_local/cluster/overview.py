"""What runs in a cluster of the registry."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.quantity import parse
from training_controllers.frameworks.plugins import kinds
from training_local.cluster.connection import access, connected
from training_local.cluster.registry import ClusterRecord
from training_operator.kube.transport import Request, Transport

PATIENCE_SECONDS: Final = 10.0
"""A cluster that has not answered by then is said not to answer."""
_METRICS: Final = "/apis/metrics.k8s.io/v1beta1/pods"


@dataclass(frozen=True, slots=True)
class Overview:
    """What a cluster has to do."""

    pods: Mapping[str, int]
    """Phase -> how many."""
    jobs: Mapping[str, int]
    """Newest condition (`New` before the first) -> how many."""
    cpu: float
    """Cores that its pods use now."""
    memory: int
    """Bytes that its pods use now."""


async def overview(record: ClusterRecord) -> Overview | None:
    """Ask a cluster what runs in it; None if it does not answer."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS), connected(access(record)) as transport:
            paths = [f"/apis/{API_VERSION}/{info.plural}" for info in kinds().values()]
            pods, measured, *jobs = await asyncio.gather(
                *(_items(transport, path) for path in ("/api/v1/pods", _METRICS, *paths))
            )
    except OSError:  # a timeout is one, too
        return None
    used = [container["usage"] for pod in measured for container in pod["containers"]]
    return Overview(
        pods=Counter((pod.get("status") or {}).get("phase", "Pending") for pod in pods),
        jobs=Counter(_state(job) for kind in jobs for job in kind),
        cpu=float(sum(parse(each["cpu"]) for each in used)),
        memory=int(sum(parse(each["memory"]) for each in used)),
    )


async def _items(transport: Transport, path: str) -> list[dict[str, Any]]:
    answer = await transport.request(Request("GET", path))
    return list(json.loads(answer.body)["items"]) if answer.status == 200 else []


def _state(job: Mapping[str, Any]) -> str:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return str(conditions[-1]["type"]) if conditions else "New"
