"""Coscheduling (scheduler-plugins): one PodGroup of all pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from training_migration.v2.draft import Draft
from training_migration.v2.policies.gang import demand
from training_migration.v2.policies.policy import Policy

Json = dict[str, Any]


def _applies(draft: Draft) -> bool:
    return draft.pod_group_policy.get("coscheduling") is not None


def _enforce(draft: Draft) -> None:
    draft.pod_labels["scheduling.x-k8s.io/pod-group"] = draft.name


def _objects(draft: Draft) -> Iterator[Json]:
    timeout = draft.pod_group_policy["coscheduling"]["scheduleTimeoutSeconds"]
    spec = {**demand(draft), "scheduleTimeoutSeconds": timeout}
    yield draft.owned("scheduling.x-k8s.io/v1alpha1", "PodGroup", draft.name, spec=spec)


POLICY = Policy(_applies, enforce=_enforce, objects=_objects)
