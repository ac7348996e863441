"""The decision: the policies in order, the first with an answer wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from training_api.conditions import is_finished
from training_api.constants import MANAGED_BY_US
from training_api.kinds import Job
from training_api.models.common import ConditionType
from training_controllers.decide.attempts import begin_next_attempt
from training_controllers.decide.finished import settle_finished
from training_controllers.decide.gang import wait_for_gang
from training_controllers.decide.job_state import JobState, observe
from training_controllers.decide.limits import enforce_limits
from training_controllers.decide.pod_events import abnormal_states, disruptions, exits
from training_controllers.decide.replicas import run_replicas
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.decide.suspended import hold_suspended, resume
from training_controllers.decide.template_changes import template_changes
from training_controllers.frameworks.base import Framework
from training_controllers.model.annotations import annotation_warnings
from training_controllers.model.plan import Counter, Plan, Snapshot
from training_controllers.observe.lost_nodes import without_lost_pods

Policy = Callable[[JobState, StatusBuilder], Plan | None]

POLICIES: Final[tuple[Policy, ...]] = (
    settle_finished,
    hold_suspended,
    wait_for_gang,  # before the limits: a job that waits for its gang is not active yet (K-62)
    enforce_limits,
    begin_next_attempt,  # before any single pod is created or replaced
    run_replicas,
)


def decide(snapshot: Snapshot, framework: Framework) -> Plan:
    """What to write, emit, delete and create for a job as it is now. Total, and a function of its arguments only.

    The plan is empty for a job that another client manages or that is being deleted (E-013).
    """
    job = snapshot.job
    if job.metadata.deletion_timestamp is not None or not managed_here(job):
        return Plan()
    state = observe(without_lost_pods(snapshot), framework)
    builder = begin(state)
    for policy in POLICIES:
        if (plan := policy(state, builder)) is not None:
            return replace(plan, policy=policy.__name__)
    raise AssertionError("the last policy always has an answer")


def managed_here(job: Job) -> bool:
    """Whether this operator runs the job: `managedBy` is absent or names it, for every kind (K-19)."""
    return job.spec.run_policy.managed_by in (None, "", MANAGED_BY_US)


def begin(state: JobState) -> StatusBuilder:
    """What every plan has: the observed generation, condition Created (K-26), events of the pods."""
    job, builder = state.job, StatusBuilder(state.snapshot)
    builder.update(observed_generation=job.metadata.generation, waiting=None)
    if builder.set_condition(ConditionType.CREATED, f"{job.info.kind} {job.metadata.name} is created."):
        builder.count(Counter.CREATED)
    if not is_finished(builder.status):
        builder.add_events(annotation_warnings(job, state.framework.annotations))
    if not is_finished(builder.status) and not job.spec.run_policy.suspend:
        resume(builder)
        builder.add_events(abnormal_states(state.snapshot.pods, state.snapshot.now))
        builder.add_events(disruptions(job, state.assignment))
        builder.add_events(template_changes(state))
        builder.add_events(state.framework.events(job, state.assignment.pods_by_slot))
        if state.framework.emits_exit_events:
            builder.add_events(exits(state.assignment.notable.values(), job.info.container))
    return builder
