"""Volcano: one PodGroup of all pods, in the queue that the runtime's template names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from training_migration.v2.denied import Denied
from training_migration.v2.draft import Draft
from training_migration.v2.policies.gang import demand
from training_migration.v2.policies.policy import Policy

Json = dict[str, Any]

QUEUE: Final = "scheduling.volcano.sh/queue-name"


def _applies(draft: Draft) -> bool:
    return draft.pod_group_policy.get("volcano") is not None


def _check(draft: Draft) -> None:
    if draft.annotations.get(QUEUE) == "":
        raise Denied(f"spec.template.metadata.annotations[{QUEUE}]", "the queue's name must not be empty")


def _enforce(draft: Draft) -> None:
    draft.pod_annotations["scheduling.k8s.io/group-name"] = draft.name


def _objects(draft: Draft) -> Iterator[Json]:
    spec = demand(draft)
    if (queue := draft.annotations.get(QUEUE)) is not None:
        spec["queue"] = queue
    for role in draft.roles:
        if (name := role.pod_spec.get("priorityClassName")) is not None:
            spec["priorityClassName"] = name
    if topology := draft.pod_group_policy["volcano"].get("networkTopology"):
        spec["networkTopology"] = topology
    yield draft.owned("scheduling.volcano.sh/v1beta1", "PodGroup", draft.name, spec=spec)


POLICY = Policy(_applies, _check, _enforce, _objects)
