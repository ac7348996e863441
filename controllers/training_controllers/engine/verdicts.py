"""What the counted replicas mean for their job, put into conditions, events and counters (engine.md S13, 6.3)."""

from __future__ import annotations

from training_api.conditions import TERMINAL
from training_api.models.common import ConditionType, RestartPolicy
from training_controllers.engine.draft import Draft
from training_controllers.engine.failure_message import first_failure
from training_controllers.engine.failures import has_failed, may_restart
from training_controllers.engine.model import Counter, EventType, Slot
from training_controllers.engine.restarts import uncounted_indexes
from training_controllers.engine.situation import Situation
from training_controllers.frameworks.base import Verdict
from training_controllers.records import PodRecord


def apply_verdicts(situation: Situation, draft: Draft) -> bool:
    """Write down what the replicas say; whether that ends the job."""
    broken = _broken_type(situation)
    if broken is not None:
        message = f'job "{situation.job.metadata.name}" is failing because "{broken}" replica(s) failed.'
        draft.fail(message, _details(situation, broken))
        return True
    verdicts = situation.framework.judge(situation.job, situation.statuses)
    conditions = {verdict.condition for verdict in verdicts}
    for verdict in verdicts:
        match verdict.condition:
            # Running would be replaced by Restarting at once; setting both would move their times on every pass.
            case ConditionType.RUNNING if ConditionType.RESTARTING not in conditions:
                draft.condition(ConditionType.RUNNING, verdict.message)
            case ConditionType.RESTARTING:
                _restart(situation, draft, verdict, others_run=ConditionType.RUNNING in conditions)
            case ConditionType.SUCCEEDED:
                draft.succeed(verdict.message)
            case ConditionType.FAILED:
                draft.fail(verdict.message, _details(situation, verdict.replica_type), verdict.word)
    return not conditions.isdisjoint(TERMINAL)


def ends_job(situation: Situation) -> bool:
    """Whether `apply_verdicts` would end the job."""
    verdicts = situation.framework.judge(situation.job, situation.statuses)
    return _broken_type(situation) is not None or any(verdict.condition in TERMINAL for verdict in verdicts)


def _broken_type(situation: Situation) -> str | None:
    """The first type, in processing order (K-10), with a replica that failed for good under policy `ExitCode`."""
    broken = {
        slot.replica_type for slot, pod in situation.placement.holders.items() if _is_broken(situation, slot, pod)
    }
    return next((replica_type for replica_type in situation.job.replicas if replica_type in broken), None)


def _is_broken(situation: Situation, slot: Slot, pod: PodRecord) -> bool:
    if not has_failed(pod):
        return False
    policy = situation.job.replicas[slot.replica_type].restart_policy
    return policy == RestartPolicy.EXIT_CODE and not may_restart(
        pod, policy, situation.job.main_container(slot.replica_type)
    )


def _restart(situation: Situation, draft: Draft, verdict: Verdict, *, others_run: bool) -> None:
    """The condition says what v1's says; the events come when a replica has failed anew, not per pass."""
    name, replica_type = situation.job.metadata.name, verdict.replica_type
    plain = f"job {name} is restarting because {replica_type} replica(s) failed."
    draft.condition(ConditionType.RESTARTING, verdict.message if others_run else plain)
    if uncounted_indexes(situation.snapshot, situation.placement, replica_type):
        for text in dict.fromkeys((plain, verdict.message)):
            draft.announce(EventType.WARNING, "Restarting", text)
        draft.count(Counter.RESTARTED)


def _details(situation: Situation, replica_type: str) -> str:
    holders = situation.placement.holders
    return first_failure(pod for slot, pod in holders.items() if slot.replica_type == replica_type)
