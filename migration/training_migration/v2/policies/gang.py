"""What both schedulers of groups of pods want to know."""

from __future__ import annotations

from typing import Any

from training_controllers.gang.resources import Amounts, plus, times
from training_migration.v2.draft import Draft

Json = dict[str, Any]


def demand(draft: Draft) -> Json:
    """Number and requests of all pods, initializers included."""
    total: Amounts = {}
    for role in draft.roles:
        total = plus(total, times(role.requests, role.count))
    resources = {name: str(total[name]) for name in sorted(total)}
    return {"minMember": sum(role.count for role in draft.roles), "minResources": resources}
