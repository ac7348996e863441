"""The decision: the policies in order, the first with an answer wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from training_api.conditions import is_finished
from training_api.constants import MANAGED_BY_US
from training_api.kinds import Job
from training_api.models.common import ConditionType
from training_controllers.engine.attempts import begin_next_attempt
from training_controllers.engine.disruptions import disruptions
from training_controllers.engine.draft import Draft
from training_controllers.engine.extensions import extension_warnings
from training_controllers.engine.finished import settle_finished
from training_controllers.engine.gang import wait_for_gang
from training_controllers.engine.limits import enforce_limits
from training_controllers.engine.lost_nodes import without_lost_pods
from training_controllers.engine.model import Counter, Plan, Snapshot
from training_controllers.engine.pod_events import abnormal_states, exits
from training_controllers.engine.replicas import run_replicas
from training_controllers.engine.situation import Situation, assess
from training_controllers.engine.suspended import hold_suspended, resume
from training_controllers.engine.templates import template_changes
from training_controllers.frameworks.base import Framework

Policy = Callable[[Situation, Draft], Plan | None]

POLICIES: Final[tuple[Policy, ...]] = (
    settle_finished,
    hold_suspended,
    wait_for_gang,  # before the limits: a job that waits for its gang is not active yet (K-62)
    enforce_limits,
    begin_next_attempt,  # before any single pod is created or replaced
    run_replicas,
)


def decide(snapshot: Snapshot, framework: Framework) -> Plan:
    """What to write, announce, delete and create for a job as it is now. Total, and a function of its arguments only.

    The plan is empty for a job that somebody else manages or that is being deleted (E-013).
    """
    job = snapshot.job
    if job.metadata.deletion_timestamp is not None or not managed_here(job):
        return Plan()
    situation = assess(without_lost_pods(snapshot), framework)
    draft = begin(situation)
    plans = (policy(situation, draft) for policy in POLICIES)
    return next(plan for plan in plans if plan is not None)


def managed_here(job: Job) -> bool:
    """Whether this operator runs the job: nobody or it itself is named as its manager, for every kind (K-19)."""
    return job.spec.run_policy.managed_by in (None, "", MANAGED_BY_US)


def begin(situation: Situation) -> Draft:
    """What every decision says first: which generation it speaks of, that the job exists (K-26), how its pods are."""
    job, draft = situation.job, Draft(situation.snapshot)
    draft.update(observed_generation=job.metadata.generation, waiting=None)
    if draft.condition(ConditionType.CREATED, f"{job.info.kind} {job.metadata.name} is created."):
        draft.count(Counter.CREATED)
    if not is_finished(draft.status):
        draft.tell(extension_warnings(job, situation.framework.extensions))
    if not is_finished(draft.status) and not job.spec.run_policy.suspend:
        resume(draft)
        draft.tell(abnormal_states(situation.snapshot.pods))
        draft.tell(disruptions(job, situation.placement))
        draft.tell(template_changes(situation))
        draft.tell(situation.framework.notices(job, situation.placement.holders))
        if situation.framework.announces_exits:
            draft.tell(exits(situation.placement.holders.values(), job.info.container))
    return draft
