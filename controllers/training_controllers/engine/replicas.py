"""Policy: an active job has the pods and services it wants, and a status that says how they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from training_api.conditions import holds
from training_api.models.common import ConditionType
from training_controllers.companions import SORTS
from training_controllers.engine import restarts, timers
from training_controllers.engine.attempts import outdated_pods, wait_for_attempt
from training_controllers.engine.companions import companion_changes
from training_controllers.engine.draft import Draft
from training_controllers.engine.gang import pod_groups
from training_controllers.engine.lost_nodes import forced_deletions, given_up_at, must_be_forced, tell_of_force
from training_controllers.engine.model import NewPod, Plan, PodDeletion, Slot
from training_controllers.engine.pod_events import template_warnings
from training_controllers.engine.replica_status import completed_indexes
from training_controllers.engine.situation import Situation
from training_controllers.engine.slots import of_removed_type, slot_of, wanted_slots
from training_controllers.engine.verdicts import apply_verdicts
from training_controllers.engine.waiting import pod_causes, tardy_at
from training_controllers.records import ServiceRecord


def run_replicas(situation: Situation, draft: Draft) -> Plan:
    """Write down how the replicas are; if that does not end the job, bring pods and services to what it wants."""
    snapshot, job = situation.snapshot, situation.job
    if draft.status.start_time is None:
        draft.update(start_time=draft.now)
    draft.set_replicas(situation.statuses)
    own = situation.framework.companions(job, situation.placement.holders)
    companions = companion_changes(snapshot, (*pod_groups(situation), *own))
    if apply_verdicts(situation, draft):
        if holds(draft.status, ConditionType.SUCCEEDED):
            draft.set_replicas(situation.statuses_after_success)
        return draft.plan(companions=companions, again_after=0.0)

    new_pods = _new_pods(situation)
    waiting, due = _recreations(situation)
    deletions = (*_superfluous_pods(situation), *forced_deletions(snapshot), *due)
    draft.tell(tell_of_force(deletions))
    missing_services, superfluous_services = _services(situation)
    _say_why_it_waits(situation, draft, lacks_objects=bool(new_pods or missing_services))
    return draft.plan(
        companions=companions,
        delete_pods=deletions,
        delete_services=tuple(superfluous_services),
        create_services=tuple(missing_services),
        create_pods=new_pods,
        again_after=timers.seconds_until(
            snapshot.now,
            [
                timers.active_deadline(job, draft.status),
                *waiting,
                *_moments_of_news(situation),
                *given_up_at(snapshot),
            ],
        ),
    )


def _say_why_it_waits(situation: Situation, draft: Draft, *, lacks_objects: bool) -> None:
    """Everything that keeps the job from getting on; the status gives the most urgent."""
    snapshot = situation.snapshot
    for kind, cause in snapshot.lacking.items():
        if not SORTS[kind].gates:
            draft.wait(*cause)
    for cause in snapshot.refused.values() if lacks_objects else ():
        draft.wait(*cause)
    for cause in pod_causes(situation):
        draft.wait(*cause)
    wait_for_attempt(situation, draft)


def _moments_of_news(situation: Situation) -> Iterator[datetime]:
    """When it is to be told that pods are still there that should have gone."""
    for pod in situation.placement.holders.values():
        moment = tardy_at(pod) if pod.deleting else None
        if moment is not None and moment > situation.snapshot.now:
            yield moment


def _new_pods(situation: Situation) -> tuple[NewPod, ...]:
    """Pods for the empty slots: those of helpers, and those of the others once no helper lacks its pod.

    Helpers need not run by then. No pod of one attempt comes before the last one of those before it has gone.
    """
    if situation.placement.outdated:
        return ()
    types, helpers = situation.job.replicas, situation.framework.helpers
    first, then = [name for name in types if name in helpers], [name for name in types if name not in helpers]
    return tuple(_missing_pods(situation, first)) or tuple(_missing_pods(situation, then))


def _missing_pods(situation: Situation, replica_types: Iterable[str]) -> Iterator[NewPod]:
    """Pods for the empty slots of these types whose work is not done (K-13)."""
    job, placement = situation.job, situation.placement
    for replica_type in replica_types:
        done = completed_indexes(job, situation.statuses[replica_type], replica_type)
        empty = [s for s in wanted_slots(job, replica_type) if s not in placement.holders and s.index not in done]
        inherited = restarts.inheritance(situation.snapshot, placement, replica_type, empty)
        events = tuple(template_warnings(job, situation.framework, replica_type))
        yield from (NewPod(slot, inherited[slot], placement.attempt, events) for slot in empty)


def _recreations(situation: Situation) -> tuple[list[datetime], list[PodDeletion]]:
    """When the failed pods that have to wait may go, and those that go now; replacements follow when they are gone."""
    snapshot = situation.snapshot
    waiting, due = [], []
    for slot, pod in situation.placement.holders.items():
        if not restarts.will_be_replaced(snapshot, slot, pod):
            continue
        moment = restarts.replaced_at(snapshot, slot, pod)
        if moment is not None and moment > snapshot.now:
            waiting.append(moment)
        elif not pod.deleting:
            carried = restarts.passed_on(snapshot, slot, pod)
            due.append(PodDeletion(pod, slot, carried, force=must_be_forced(snapshot, pod)))
    return waiting, due


def _superfluous_pods(situation: Situation) -> Iterator[PodDeletion]:
    """Pods beyond the desired number, of removed types, of slots that an older one holds, and of earlier attempts.

    Each of them is deleted once (K-12, K-14).
    """
    snapshot, placement = situation.snapshot, situation.placement
    for slot, pod in placement.out_of_range:
        if not pod.deleting:
            yield PodDeletion(pod, slot, restarts.passed_on(snapshot, slot, pod))
    yield from (PodDeletion(pod) for pod in (*placement.twins, *placement.removed) if not pod.deleting)
    yield from outdated_pods(situation)


def _services(situation: Situation) -> tuple[list[Slot], list[ServiceRecord]]:
    """The slots that lack a service, and the services of indexes that the job does not want any more (E-032)."""
    job = situation.job
    if not job.info.services:
        return [], []
    wanted = dict.fromkeys(slot for replica_type in job.replicas for slot in wanted_slots(job, replica_type))
    present = [(slot_of(job, each.replica_type, each.index), each) for each in situation.snapshot.services]
    filled = {slot for slot, _ in present}
    missing = [slot for slot in wanted if slot not in filled]
    superfluous = (
        each
        for slot, each in present
        if (slot not in wanted if slot else of_removed_type(job, each.replica_type, each.index))
    )
    return missing, [each for each in superfluous if not each.deleting]
