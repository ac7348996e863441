"""New jobs: their pods come before their first status, because there is nothing yet that a status would account for."""

from __future__ import annotations

from typing import Final

from training_controllers.model.plan import Plan, Snapshot

MAX_PODS_BEFORE_STATUS: Final = 32
"""So many pods are made so fast that the first status can wait for them; more of them, and people wonder."""


def is_fresh(snapshot: Snapshot, plan: Plan) -> bool:
    """Whether nothing at all has been done for the job yet, and all there is to do is to make a few pods.

    A crash in between leaves pods that the next look finds. Where a thousand jobs come at once the pods of all of them
    are made first, and many a first status says already that the job runs. If anything could not be made the job is
    not fresh any more, so that its status says why.
    """
    touched = snapshot.job.status.conditions or snapshot.pods or snapshot.create_errors or snapshot.owned_errors
    return not touched and 0 < len(plan.create_pods) <= MAX_PODS_BEFORE_STATUS
