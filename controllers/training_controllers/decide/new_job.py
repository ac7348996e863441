"""New jobs: a few pods are created before the first status, because a status has nothing to account for yet."""

from __future__ import annotations

from typing import Final

from training_controllers.model.plan import Plan, Snapshot

MAX_PODS_BEFORE_STATUS: Final = 32
"""So many pods are created so fast that the first status can wait for them."""


def creates_pods_first(snapshot: Snapshot, plan: Plan) -> bool:
    """Whether nothing has been done for the job yet, and all there is to do is to create a few pods.

    A crash in between leaves pods that the next reconcile finds. Where a thousand jobs come at once the pods of all of
    them are created first, and the first status often has condition Running already. If anything could not be created
    the job is not new any more, so that its status has the reason.
    """
    touched = snapshot.job.status.conditions or snapshot.pods or snapshot.create_errors or snapshot.owned_errors
    return not touched and 0 < len(plan.create_pods) <= MAX_PODS_BEFORE_STATUS
