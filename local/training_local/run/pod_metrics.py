"""What pods use of the machine, as the metrics API reports it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from training_api.quantity import parse
from training_local.run.progress import JobRef
from training_operator.kube.transport import Request, Transport

EVERY_SECONDS: Final = 2.0
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class Usage:
    """What a pod uses now."""

    cpu: float
    """Cores."""
    memory: int
    """Bytes."""


async def poll_usage(transport: Transport, job: JobRef, take: Callable[[Mapping[str, Usage]], None]) -> None:
    """Call `take` with what the job's pods use, by name, again and again; nothing where there is no metrics API."""
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{job.namespace}/pods"
    while True:
        with suppress(OSError):
            answer = await transport.request(Request("GET", path, {"labelSelector": job.pod_selector}))
            take(usage_of(json.loads(answer.body)) if answer.status == 200 else {})
        await asyncio.sleep(EVERY_SECONDS)


def usage_of(pod_metrics: Mapping[str, Any]) -> dict[str, Usage]:
    """Read a PodMetricsList: the sum of each pod's containers."""
    return {
        item["metadata"]["name"]: Usage(
            float(sum(parse(c["usage"].get("cpu", "0")) for c in item["containers"])),
            int(sum(parse(c["usage"].get("memory", "0")) for c in item["containers"])),
        )
        for item in pod_metrics.get("items", ())
    }


def in_bytes(amount: int) -> str:
    """Return bytes with a binary unit: `153 MiB`."""
    value, unit = float(amount), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if value < 10 and unit else f"{value:.0f} {_UNITS[unit]}"
