"""The failure policy: why a pod failed, and what happens to its replica.

Pods fail by themselves, and restart by their `restartPolicy`; or the cluster ends them (disruptions): evicted,
preempted, shut down with their node, lost with it. The action after a disruption is the job's choice (annotation
`disruptions`): the pod is replaced, the pod is replaced and that counts as a restart, or its replica has failed.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from training_api.kinds import Job
from training_api.models.common import RestartPolicy
from training_controllers.model.annotations import DISRUPTIONS
from training_controllers.model.plan import Slot
from training_controllers.model.records import PodRecord

FIRST_RETRYABLE_EXIT_CODE = 128
"""With restart policy `ExitCode`: a process ended by a signal may be tried again, one that gave up may not."""


def exit_code(pod: PodRecord, container: str) -> int | None:
    """Exit code of the pod's container of this name, None while unknown."""
    own = (c.exit_code for c in pod.containers if c.exit_code is not None and c.name == container and not c.init)
    return next(own, None)


def may_restart(pod: PodRecord, policy: RestartPolicy | None, container: str) -> bool:
    """Whether a replica with this policy gets a new pod after `pod` failed; it does if the exit code is unknown."""
    if policy == RestartPolicy.EXIT_CODE:
        code = exit_code(pod, container)
        return code is None or code >= FIRST_RETRYABLE_EXIT_CODE
    return policy in (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)


def has_failed(pod: PodRecord) -> bool:
    """Whether the pod counts as failed; a terminating one is being replaced instead (K-09)."""
    return pod.phase == "Failed" and not pod.deleting


def is_running(pod: PodRecord) -> bool:
    """Whether the pod runs and is not being deleted: what the counter `active` counts (K-09)."""
    return pod.phase == "Running" and not pod.deleting


def is_active(pod: PodRecord) -> bool:
    """Whether the pod holds resources and keeps them: neither ended nor terminating."""
    return pod.phase not in ("Succeeded", "Failed") and not pod.deleting


def has_not_started(pod: PodRecord) -> bool:
    """Whether no container of its template has started, and one may yet."""
    return pod.phase == "Pending" and not pod.deleting


NODE_LOST: Final = "NodeLost"
REASONS: Final = frozenset(
    {
        "Evicted",  # the node was short of memory, disk or process ids
        "Preempting",  # a critical pod needed the room
        "Preempted",
        "Terminated",  # graceful node shutdown
        "Shutdown",  # the same before Kubernetes 1.22
        "NodeShutdown",  # rejected by a node that is shutting down
        NODE_LOST,
        "NodeAffinity",  # rejected by a node that has other labels than when the pod was placed
        "UnexpectedAdmissionError",  # rejected by a node whose device plugin is not there (yet)
        "TopologyAffinityError",
        "OutOfcpu",  # rejected by a node that is fuller than the scheduler believed
        "OutOfmemory",
        "OutOfpods",
    }
)
"""Reasons that the kubelet gives failed pods which it ended or rejected (Kubernetes, "Pod Lifecycle", "Disruptions",
"Node-pressure Eviction", "Node Shutdowns"; the kubelet's admission handlers)."""

_OWN_LIMIT: Final = re.compile(r"exceed\w* .*\blimit\b")
"""The kubelet also evicts pods that fill more disk than their limit: that is their own failure."""


class FailureAction(Enum):
    """What happens to the replica of a pod."""

    KEEP = auto()
    """Nothing: the pod has not failed, or is being replaced already (K-09)."""
    REPLACE = auto()
    """It gets a new pod, which is not counted."""
    RESTART = auto()
    """It gets a new pod, which counts as a restart."""
    FAIL = auto()
    """It has failed and gets no new pod."""


def failure_action(job: Job, slot: Slot, pod: PodRecord) -> FailureAction:
    """What happens to the replica in `slot`, provided that the job goes on and wants it."""
    if is_disrupted(pod):
        return _DISRUPTION_ACTIONS[disruption_policy(job, slot.replica_type)]
    if not has_failed(pod):
        return FailureAction.KEEP
    policy, container = job.replicas[slot.replica_type].restart_policy, job.main_container(slot.replica_type)
    return FailureAction.RESTART if may_restart(pod, policy, container) else FailureAction.FAIL


_DISRUPTION_ACTIONS: Final = {
    "restart": FailureAction.REPLACE,
    "count": FailureAction.RESTART,
    "fail": FailureAction.FAIL,
}


def disruption_policy(job: Job, replica_type: str) -> str:
    """What disruptions of replicas of this type lead to: `restart`, `count` or `fail`."""
    return DISRUPTIONS.of(job, job.replicas[replica_type].restart_policy)


def is_disrupted(pod: PodRecord) -> bool:
    """Whether the cluster has ended the pod, or is ending it.

    Condition DisruptionTarget alone is only a plan, which Kubernetes may withdraw.
    """
    if pod.disrupted:
        return pod.phase == "Failed" or (pod.deleting and pod.phase != "Succeeded")
    return pod.phase == "Failed" and pod.reason in REASONS and not _OWN_LIMIT.search(pod.message)


def is_rejected(pod: PodRecord) -> bool:
    """Whether the pod's node did not even start it; the next pod may end up on the same node, and at once."""
    started = pod.disrupted or any(container.started_at for container in pod.containers)
    return is_disrupted(pod) and not started and pod.reason != NODE_LOST


def has_failed_itself(job: Job, slot: Slot, pod: PodRecord) -> bool:
    """Whether the counter `failed` counts the pod: not where it was disrupted and will be replaced."""
    return failure_action(job, slot, pod) is FailureAction.FAIL or (has_failed(pod) and not is_disrupted(pod))


def how(pod: PodRecord) -> str:
    """Reason and message of the disruption, as the cluster gives them."""
    reason = pod.disruption or pod.reason or "DisruptionTarget"
    return f"{reason}: {pod.message}" if pod.message else reason
