"""Whether another operator, the Go one above all, works in the cluster, for a process that takes no lease.

Two operators would work on the same jobs. The check needs permissions that the operator's role does not have and does
not get: where they are missing, as in a pod, that is logged, and the operator starts.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from training_operator.kube.transport import Request, Transport
from training_operator.leader import LEASE_SECONDS

DEPLOYMENT: Final = "training-operator"
WEBHOOKS: Final = "validator.training-operator.kubeflow.org"
"""Of the Go operator; this one has none."""
REQUEST_SECONDS: Final = 5.0

Object = dict[str, Any]


class AnotherOperator(Exception):
    """Another operator works here; the text is one sentence with the evidence and what to do."""


@dataclass(frozen=True, slots=True)
class Detection:
    """What was found of other operators."""

    signs: tuple[str, ...]
    """The evidence for one; empty if none was found."""
    unseen: tuple[str, ...]
    """What could not be read, with the reason."""


async def detect(
    transport: Transport, namespace: str, lease: str, *, in_pod: bool, now: datetime | None = None
) -> Detection:
    """Read the lease, the Deployment and the webhooks of another operator; a pod's Deployment is its own."""
    moment = now or datetime.now(UTC)
    places: list[tuple[str, str, Callable[[Object], str]]] = [
        (
            f"lease {namespace}/{lease}",
            f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease}",
            lambda found: _of_lease(found, moment),
        ),
        (
            f"webhook configuration {WEBHOOKS}",
            f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{WEBHOOKS}",
            lambda found: "which calls the Go operator",
        ),
    ]
    if not in_pod:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{DEPLOYMENT}"
        places.append((f"Deployment {namespace}/{DEPLOYMENT}", path, _of_deployment))
    answers = await asyncio.gather(*(_read(transport, path) for _, path, _ in places))
    signs, unseen = [], []
    for (name, _, sign), (found, why) in zip(places, answers, strict=True):
        if why:
            unseen.append(f"{name} ({why})")
        elif found is not None and (evidence := sign(found)):
            signs.append(f"{name}, {evidence}")
    return Detection(tuple(signs), tuple(unseen))


def rejection(detected: Detection, namespace: str) -> AnotherOperator:
    """The error for an operator that would be the second one."""
    return AnotherOperator(
        f"another operator runs in this cluster: {'; '.join(detected.signs)}. Two operators would reconcile the same "
        f"jobs: stop the other one (kubectl -n {namespace} scale deployment {DEPLOYMENT} --replicas=0, and delete its "
        "webhooks), or use leader election (--leader-elect, for both), or start it nevertheless (--force)"
    )


async def _read(transport: Transport, path: str) -> tuple[Object | None, str]:
    """The object, None if there is none, and why it could not be read."""
    try:
        answer = await transport.request(Request("GET", path, timeout=REQUEST_SECONDS))
    except OSError as error:
        return None, str(error) or "no answer"
    if answer.status == 404:
        return None, ""
    if answer.status != 200:
        return None, "no permission" if answer.status == 403 else f"status {answer.status}"
    found: Object = json.loads(answer.body)
    return found, ""


def _of_deployment(found: Object) -> str:
    replicas = (found.get("spec") or {}).get("replicas", 1)
    return f"with replicas: {replicas}" if replicas else ""


def _of_lease(found: Object, now: datetime) -> str:
    """Who holds it, if it was renewed recently by the clock of this machine."""
    spec = found.get("spec") or {}
    try:
        age = (now - datetime.fromisoformat(spec["renewTime"])).total_seconds()
    except (KeyError, TypeError, ValueError):
        return ""
    lasting = 2 * float(spec.get("leaseDurationSeconds") or LEASE_SECONDS)  # clocks of two machines differ
    return f"held by {spec['holderIdentity']}" if spec.get("holderIdentity") and age < lasting else ""
