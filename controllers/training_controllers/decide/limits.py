"""Policy: a job that exceeded its `backoffLimit` or its `activeDeadlineSeconds` fails."""

from __future__ import annotations

from training_api.conditions import find
from training_api.kinds import Job
from training_api.models.common import CleanPodPolicy, ConditionType, RestartPolicy
from training_controllers.decide.failure_message import first_failure
from training_controllers.decide.job_state import JobState
from training_controllers.decide.pod_events import kept_pods
from training_controllers.decide.status_builder import StatusBuilder
from training_controllers.model import deadlines
from training_controllers.model.plan import Plan
from training_controllers.model.records import PodRecord
from training_controllers.observe.pod_failures import FailureAction, failure_action, is_active

_BACKOFF_LIMIT = "has failed because it has reached the specified backoff limit"
_DEADLINE = "has failed because it was active longer than specified deadline"


def enforce_limits(state: JobState, builder: StatusBuilder) -> Plan | None:
    """Fail the job if it is over a limit. Its pods are cleaned up once that is stored (K-17)."""
    if _past_backoff_limit(state):
        builder.fail(_message(state.job, _BACKOFF_LIMIT), first_failure(_counted_pods(state)))
    elif deadlines.is_past(deadlines.active_deadline(state.job, builder.status), state.snapshot.now):
        builder.fail(_message(state.job, _DEADLINE))
    else:
        return None
    builder.set_replicas(state.statuses)
    if state.job.spec.run_policy.clean_pod_policy == CleanPodPolicy.NONE:  # absent, active pods are deleted
        builder.add_events(kept_pods(sum(map(is_active, state.snapshot.pods)), "failed job keep running"))
    return builder.plan(requeue_after=0.0)


def failed_by_limit(job: Job) -> bool:
    """Whether the stored Failed condition came from a limit; its message is the only trace of that."""
    failed = find(job.status, ConditionType.FAILED)
    limits = (_message(job, _BACKOFF_LIMIT), _message(job, _DEADLINE))
    return failed is not None and failed.message.startswith(limits)


def _message(job: Job, what: str) -> str:
    return f"Job {job.metadata.name} {what}"


def _past_backoff_limit(state: JobState) -> bool:
    """Whether replicas that may restart have done so `backoffLimit` times, or any failed where none may (K-03, K-04).

    A limit of 0 allows no restart, but does not fail a job without any; it also turns a failure under restart policy
    `Never` into a failure by limit (E-095).
    """
    limit = state.job.spec.run_policy.backoff_limit
    if limit is None:
        return False
    restarts = sum(
        status.restarts
        for name, status in state.statuses.items()
        if state.job.replicas[name].restart_policy != RestartPolicy.NEVER
    )
    failed = (failure_action(state.job, slot, pod) for slot, pod in state.assignment.notable.items())
    if limit <= 0 and any(action in (FailureAction.RESTART, FailureAction.FAIL) for action in failed):
        return True
    return restarts >= max(limit, 1)


def _counted_pods(state: JobState) -> list[PodRecord]:
    """The pods except those whose disruption is not counted."""
    notable = state.assignment.notable.items()
    replaced = {pod.uid for slot, pod in notable if failure_action(state.job, slot, pod) is FailureAction.REPLACE}
    return [pod for pod in state.snapshot.pods if pod.uid not in replaced]
