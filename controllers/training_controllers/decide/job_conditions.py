"""Job conditions: evaluates the counted replicas, sets conditions, emits events and counts transitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from training_api.conditions import TERMINAL
from training_api.models.common import ConditionType, RestartPolicy
from training_controllers.decide.failure_message import first_failure
from training_controllers.decide.job_state import JobState
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.frameworks.base import ConditionUpdate
from training_controllers.model.plan import Counter, EventType, Slot
from training_controllers.model.records import PodRecord
from training_controllers.observe.pod_failures import FailureAction, failure_action, is_disrupted
from training_controllers.observe.restarts import uncounted_indexes


def apply_conditions(state: JobState, builder: StatusBuilder) -> bool:
    """Set the conditions that follow from the replicas; whether that ends the job."""
    broken = _broken_type(state)
    if broken is not None:
        message = f'job "{state.job.metadata.name}" is failing because "{broken}" replica(s) failed.'
        builder.fail(message, _details(state, broken))
        return True
    updates = state.framework.evaluate(state.job, state.statuses)
    conditions = {update.condition for update in updates}
    if conditions.isdisjoint(TERMINAL):
        updates = (*updates, *_disrupted(state, updates))
        conditions = {update.condition for update in updates}
    for update in updates:
        match update.condition:
            # Running would be replaced by Restarting at once; setting both would move their times on every pass.
            case ConditionType.RUNNING if ConditionType.RESTARTING not in conditions:
                builder.set_condition(ConditionType.RUNNING, update.message)
            case ConditionType.RESTARTING:
                _restart(state, builder, update, others_run=ConditionType.RUNNING in conditions)
            case ConditionType.SUCCEEDED:
                builder.succeed(update.message)
            case ConditionType.FAILED:
                builder.fail(update.message, _details(state, update.replica_type), update.word)
    return not conditions.isdisjoint(TERMINAL)


def ends_job(state: JobState) -> bool:
    """Whether `apply_conditions` would end the job."""
    updates = state.framework.evaluate(state.job, state.statuses)
    return _broken_type(state) is not None or any(update.condition in TERMINAL for update in updates)


def _broken_type(state: JobState) -> str | None:
    """The first type, in processing order (K-10), with a replica that failed for good though replicas of it restart."""
    broken = {slot.replica_type for slot, pod in state.assignment.notable.items() if _is_broken(state, slot, pod)}
    return next((replica_type for replica_type in state.job.replicas if replica_type in broken), None)


def _is_broken(state: JobState, slot: Slot, pod: PodRecord) -> bool:
    policy = state.job.replicas[slot.replica_type].restart_policy
    return policy != RestartPolicy.NEVER and failure_action(state.job, slot, pod) is FailureAction.FAIL


def _disrupted(state: JobState, updates: Sequence[ConditionUpdate]) -> Iterator[ConditionUpdate]:
    """Types of which replicas restart because they were disrupted, next to those that restart anyway."""
    restarting_types = {update.replica_type for update in updates if update.condition == ConditionType.RESTARTING}
    job, notable = state.job, state.assignment.notable.items()
    restarting = [
        slot.replica_type
        for slot, pod in notable
        if is_disrupted(pod)
        and failure_action(job, slot, pod) is FailureAction.RESTART
        and slot.replica_type not in restarting_types
    ]
    for replica_type in dict.fromkeys(restarting):
        because = f"because {restarting.count(replica_type)} {replica_type} replica(s) were disrupted."
        text = f"{job.info.kind} {job.metadata.name} is restarting {because}"
        yield ConditionUpdate(ConditionType.RESTARTING, text, replica_type)


def _restart(state: JobState, builder: StatusBuilder, update: ConditionUpdate, *, others_run: bool) -> None:
    """The condition's message is v1's; one event for each new failure, with the number, not for every reconcile."""
    name, replica_type = state.job.metadata.name, update.replica_type
    failed = state.statuses[replica_type].failed > 0
    plain = f"job {name} is restarting because {replica_type} replica(s) failed." if failed else update.message
    builder.set_condition(ConditionType.RESTARTING, update.message if others_run else plain)
    if uncounted_indexes(state.snapshot, state.assignment, replica_type):
        builder.emit(EventType.WARNING, "Restarting", update.message)
        builder.count(Counter.RESTARTED)


def _details(state: JobState, replica_type: str) -> str:
    notable = state.assignment.notable.items()
    return first_failure(pod for slot, pod in notable if slot.replica_type == replica_type)
