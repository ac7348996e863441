"""Policy: a job that exceeded its backoff limit or its active deadline fails."""

from __future__ import annotations

from training_api.conditions import find
from training_api.kinds import Job
from training_api.models.common import CleanPodPolicy, ConditionType, RestartPolicy
from training_controllers.engine import timers
from training_controllers.engine.disruptions import Fate, fate_of
from training_controllers.engine.draft import Draft
from training_controllers.engine.failure_message import first_failure
from training_controllers.engine.failures import is_active
from training_controllers.engine.model import EventType, JobEvent, Plan
from training_controllers.engine.situation import Situation
from training_controllers.records import PodRecord

_BACKOFF_LIMIT = "has failed because it has reached the specified backoff limit"
_DEADLINE = "has failed because it was active longer than specified deadline"


def enforce_limits(situation: Situation, draft: Draft) -> Plan | None:
    """Fail the job if it is over a limit. Its pods are cleaned up once that is stored (K-17)."""
    if _past_backoff_limit(situation):
        draft.fail(_message(situation.job, _BACKOFF_LIMIT), first_failure(_judged_pods(situation)))
    elif timers.is_past(timers.active_deadline(situation.job, draft.status), situation.snapshot.now):
        draft.fail(_message(situation.job, _DEADLINE))
    else:
        return None
    draft.set_replicas(situation.statuses)
    draft.tell(_kept_pods(situation))
    return draft.plan(again_after=0.0)


def failed_by_limit(job: Job) -> bool:
    """Whether the stored Failed condition came from a limit; its message is the only trace of that."""
    failed = find(job.status, ConditionType.FAILED)
    limits = (_message(job, _BACKOFF_LIMIT), _message(job, _DEADLINE))
    return failed is not None and failed.message.startswith(limits)


def _message(job: Job, what: str) -> str:
    return f"Job {job.metadata.name} {what}"


def _past_backoff_limit(situation: Situation) -> bool:
    """Whether replicas that may restart have done so `backoffLimit` times, or any failed where none may (K-03, K-04).

    A limit of 0 allows no restart, but does not fail a job without any; it also turns a failure under restart policy
    `Never` into a failure by limit (E-095).
    """
    limit = situation.job.spec.run_policy.backoff_limit
    if limit is None:
        return False
    restarts = sum(
        status.restarts
        for name, status in situation.statuses.items()
        if situation.job.replicas[name].restart_policy != RestartPolicy.NEVER
    )
    failed = (fate_of(situation.job, slot, pod) for slot, pod in situation.placement.holders.items())
    if limit <= 0 and any(fate in (Fate.RESTARTED, Fate.FAILED) for fate in failed):
        return True
    return restarts >= max(limit, 1)


def _judged_pods(situation: Situation) -> list[PodRecord]:
    """The pods except those whose disruption nobody counts."""
    holders = situation.placement.holders.items()
    replaced = {pod.uid for slot, pod in holders if fate_of(situation.job, slot, pod) is Fate.REPLACED}
    return [pod for pod in situation.snapshot.pods if pod.uid not in replaced]


def _kept_pods(situation: Situation) -> list[JobEvent]:
    """The warning that pods go on after their job failed because the user asked for that (K-18)."""
    kept = sum(is_active(pod) for pod in situation.snapshot.pods)
    if kept == 0 or situation.job.spec.run_policy.clean_pod_policy != CleanPodPolicy.NONE:
        return []
    text = f"{kept} pod(s) of the failed job keep running and hold their resources because cleanPodPolicy is None"
    return [JobEvent(EventType.WARNING, "PodsKeptRunning", text)]
