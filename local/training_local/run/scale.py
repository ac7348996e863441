"""A job for a large cluster on a small machine: its requests brought down until all of its pods fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from training_api import quantity
from training_api.kinds import KindInfo

_SCALED = ("cpu", "memory")


def scale_requests(job: dict[str, Any], info: KindInfo, capacity: Mapping[str, str]) -> None:
    """Multiply the requests of all containers so that their sum is what the node offers; limits stay.

    A request that stands for a limit is written down. What fits already is left as it is.
    """
    containers = list(_containers(job, info))
    for resource in _SCALED:
        total = sum(count * _request(container, resource) for count, container in containers)
        offered = quantity.parse(capacity[resource])
        if total > offered:
            for _, container in containers:
                if own := _request(container, resource):
                    requests = container["resources"].setdefault("requests", {})
                    requests[resource] = _text(resource, own * offered / total)


def _containers(job: dict[str, Any], info: KindInfo) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each container that runs as long as its pod, with the number of pods that have it."""
    for name, replica in (job["spec"].get(info.replica_field) or {}).items():
        count = replica.get("replicas")
        for container in ((replica.get("template") or {}).get("spec") or {}).get("containers") or ():
            yield info.default_count(name) if count is None else count, container


def _request(container: Mapping[str, Any], resource: str) -> Fraction:
    resources = container.get("resources") or {}
    found = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return Fraction(quantity.parse(str(found.get(resource, 0))))


def _text(resource: str, amount: Fraction) -> str:
    return f"{int(amount * 1000)}m" if resource == "cpu" else str(int(amount))
