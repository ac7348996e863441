"""What the counted replicas mean for their job, put into conditions, events and counters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from training_api.conditions import TERMINAL
from training_api.models.common import ConditionType, RestartPolicy
from training_controllers.engine.disruptions import Fate, fate_of, is_disrupted
from training_controllers.engine.draft import Draft
from training_controllers.engine.failure_message import first_failure
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
    if conditions.isdisjoint(TERMINAL):
        verdicts = (*verdicts, *_disrupted(situation, verdicts))
        conditions |= {verdict.condition for verdict in verdicts}
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
    """The first type, in processing order (K-10), with a replica that failed for good though replicas of it restart."""
    broken = {
        slot.replica_type for slot, pod in situation.placement.holders.items() if _is_broken(situation, slot, pod)
    }
    return next((replica_type for replica_type in situation.job.replicas if replica_type in broken), None)


def _is_broken(situation: Situation, slot: Slot, pod: PodRecord) -> bool:
    policy = situation.job.replicas[slot.replica_type].restart_policy
    return policy != RestartPolicy.NEVER and fate_of(situation.job, slot, pod) is Fate.FAILED


def _disrupted(situation: Situation, verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Types of which replicas restart because they were disrupted, beside those that restart anyway."""
    told = {verdict.replica_type for verdict in verdicts if verdict.condition == ConditionType.RESTARTING}
    job, holders = situation.job, situation.placement.holders.items()
    restarting = [
        slot.replica_type
        for slot, pod in holders
        if is_disrupted(pod) and fate_of(job, slot, pod) is Fate.RESTARTED and slot.replica_type not in told
    ]
    for replica_type in dict.fromkeys(restarting):
        because = f"because {restarting.count(replica_type)} {replica_type} replica(s) were disrupted."
        text = f"{job.info.kind} {job.metadata.name} is restarting {because}"
        yield Verdict(ConditionType.RESTARTING, text, replica_type)


def _restart(situation: Situation, draft: Draft, verdict: Verdict, *, others_run: bool) -> None:
    """The condition says what v1's says; the events come when a replica has failed anew, not per pass."""
    name, replica_type = situation.job.metadata.name, verdict.replica_type
    failed = situation.statuses[replica_type].failed > 0
    plain = f"job {name} is restarting because {replica_type} replica(s) failed." if failed else verdict.message
    draft.condition(ConditionType.RESTARTING, verdict.message if others_run else plain)
    if uncounted_indexes(situation.snapshot, situation.placement, replica_type):
        for text in dict.fromkeys((plain, verdict.message)):
            draft.announce(EventType.WARNING, "Restarting", text)
        draft.count(Counter.RESTARTED)


def _details(situation: Situation, replica_type: str) -> str:
    holders = situation.placement.holders
    return first_failure(pod for slot, pod in holders.items() if slot.replica_type == replica_type)
