"""Injected sidecars, such as a mesh's proxy or a collector of metrics, do not decide the phase of a pod.

For the kubelet a pod runs as long as one container does, and fails with any of them. A proxy never ends by itself, so
in v1 such a job never did either. Here a pod ends when the containers of its template have ended, and as they have.
Sidecars that the template declares itself are waited for as in v1.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import msgspec

from training_api.kinds import Job
from training_api.models.common import ReplicaSpec, RestartPolicy
from training_controllers.model.annotations import restarts_together
from training_controllers.model.records import ContainerState, PodRecord

SIDECAR_GRACE: Final = timedelta(minutes=1)
"""How long injected containers of a finished job may outlive those of the template: collectors still report."""


def phases_by_template(job: Job, pods: Sequence[PodRecord]) -> tuple[PodRecord, ...]:
    """The pods, each in the phase that the containers of its template give it."""
    own = {name.lower(): spec for name, spec in job.replicas.items()}
    return tuple(
        _by_template(job, own[pod.replica_type], pod) if _may_differ(pod) and pod.replica_type in own else pod
        for pod in pods
    )


def _may_differ(pod: PodRecord) -> bool:
    """Whether the pod's phase may be that of others' containers; one that is ended for a reason ends as a whole."""
    ended_by_others = pod.deleting or pod.disrupted or pod.reason
    return pod.phase in ("Running", "Failed") and bool(pod.containers) and not ended_by_others


def _by_template(job: Job, spec: ReplicaSpec, pod: PodRecord) -> PodRecord:
    declared = (spec.template.get("spec") or {}).get("containers") or ()
    ended = {each.name: each for each in pod.containers if not each.init and each.exit_code is not None}
    own = [ended[each["name"]] for each in declared if each.get("name") in ended]
    if not own or len(own) < len(declared) or not _for_good(job, spec, own):
        return pod
    succeeded = all(each.exit_code == 0 for each in own)
    if pod.phase == "Failed":
        by_others = succeeded and any(each.exit_code for each in ended.values())
        return msgspec.structs.replace(pod, phase="Succeeded") if by_others else pod
    since = max((each.finished_at for each in own if each.finished_at), default=pod.created)
    return msgspec.structs.replace(pod, phase="Succeeded" if succeeded else "Failed", template_ended_at=since)


def _for_good(job: Job, spec: ReplicaSpec, ended: Sequence[ContainerState]) -> bool:
    """Whether the kubelet will start none of the ended containers again."""
    match spec.restart_policy:
        case RestartPolicy.ALWAYS:
            return False
        case RestartPolicy.ON_FAILURE if not restarts_together(job):
            return all(each.exit_code == 0 for each in ended)
    return True
