"""What pods request, reckoned as the Kubernetes scheduler does (K-43; "Pod overhead", "Sidecar containers")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training_api.quantity import Amount, amount
from training_controllers.model.pod_spec import Container, PodSpec

Amounts = Mapping[str, Amount]
"""Amounts by name of the resource."""


def pod_requests(spec: PodSpec) -> Amounts:
    """What a pod takes from its node.

    Init containers run one after the other, so the largest counts, next to the sidecars that are running by then;
    regular containers and sidecars run together. Requests of the pod as a whole replace sums, its limits fill gaps.
    """
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        together = plus(sidecars, _requests(container))
        peak = _highest(peak, together)
        if container.get("restartPolicy") == "Always":
            sidecars = together
    running = sidecars
    for container in spec.get("containers") or ():
        running = plus(running, _requests(container))
    resources = spec.get("resources") or {}
    whole = {**_amounts(resources.get("limits")), **_highest(running, peak), **_amounts(resources.get("requests"))}
    return plus(whole, _amounts(spec.get("overhead")))


def plus(first: Amounts, second: Amounts) -> Amounts:
    """The sum, resource by resource."""
    return {**first, **{name: first[name].plus(more) if name in first else more for name, more in second.items()}}


def times(amounts: Amounts, count: int) -> Amounts:
    """So many times the amounts."""
    return {name: each.times(count) for name, each in amounts.items()}


def _highest(first: Amounts, second: Amounts) -> Amounts:
    larger = {name: each for name, each in second.items() if name not in first or each.value > first[name].value}
    return {**first, **larger}


def _requests(container: Container) -> Amounts:
    """Limits stand in for requests that are absent, as the API server fills them in."""
    resources = container.get("resources") or {}
    return {**_amounts(resources.get("limits")), **_amounts(resources.get("requests"))}


def _amounts(stated: Mapping[str, Any] | None) -> Amounts:
    """Invalid quantities are left out: the API server rejects the pod for them."""
    found = {}
    for name, text in (stated or {}).items():
        try:
            found[name] = amount(str(text))
        except ValueError:
            continue
    return found
