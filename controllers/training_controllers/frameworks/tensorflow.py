"""TFJob: the cluster and the pod's task in TF_CONFIG; the chief decides, or by `successPolicy` worker 0 or all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from training_api.kinds import Job
from training_api.models.common import ConditionType, ReplicaStatus, RestartPolicy
from training_api.models.tensorflow import TFJobSpec
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses
from training_controllers.frameworks.rules import until_the_end, workers_decide
from training_controllers.model.index_ranges import parse_ranges
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import PodSpec, env, port_of, with_env

WORKER = "Worker"
PS = "PS"
CHIEFS = ("Chief", "Master")
"""Master is the old name of Chief."""
VISITED = ("Chief", "Evaluator", "Master", PS, WORKER)
"""The types that influence the job, in the order in which they are asked."""
ALL_WORKERS = "AllWorkers"


def tensorflow(cluster_domain: str) -> Framework:
    """The framework of TFJob; `cluster_domain` ends the names of replicas, or is empty."""
    return Framework(
        info=KINDS["TFJob"],
        evaluate=evaluate,
        configure_pod=partial(configure_pod, cluster_domain),
        is_master=is_master,
    )


def is_master(job: Job, slot: Slot) -> bool:
    """The chief, or the first worker of a job without one (TF-039)."""
    return slot.replica_type in CHIEFS or (not _has_chief(job) and slot == Slot(WORKER, 0))


def configure_pod(cluster_domain: str, job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Give the container that trains its TF_CONFIG, if it has peers."""
    if sum(job.count(name) for name in job.info.replica_types) == 1:
        return spec
    return with_env(spec, [env("TF_CONFIG", tf_config(cluster_domain, job, slot))], only=job.info.container)


def tf_config(cluster_domain: str, job: Job, slot: Slot) -> str:
    """The value of TF_CONFIG, compact and with v1's order of keys."""
    assert isinstance(job.spec, TFJobSpec)
    task = {"type": slot.replica_type.lower(), "index": slot.index}
    if job.spec.enable_dynamic_worker:
        config: dict[str, Any] = {"cluster": _sparse_cluster(cluster_domain, job, slot), "task": task}
    else:
        types = sorted(job.replicas, key=str.lower)
        cluster = {name.lower(): _endpoints(cluster_domain, job, name) for name in types}
        config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return json.dumps(config, separators=(",", ":"))


def _sparse_cluster(cluster_domain: str, job: Job, slot: Slot) -> dict[str, Any]:
    """What a pod of a job with dynamic workers knows: itself, and if it is a worker all parameter servers."""
    own = _endpoint(cluster_domain, job, slot)
    if slot.replica_type == WORKER:
        servers = _endpoints(cluster_domain, job, PS) if PS in job.replicas else None
        return {"worker": {str(slot.index): own}, "ps": servers}
    return {"worker": {}, "ps": [own] if slot.replica_type == PS else []}


def _endpoints(cluster_domain: str, job: Job, replica_type: str) -> list[str]:
    count = job.count(replica_type)
    return [_endpoint(cluster_domain, job, Slot(replica_type, index)) for index in range(count)]


def _endpoint(cluster_domain: str, job: Job, slot: Slot) -> str:
    declared = port_of(job, slot.replica_type)
    host = f"{replica_name(job, slot)}.{job.metadata.namespace}.svc"
    domain = f".{cluster_domain}" if cluster_domain else ""
    return f"{host}{domain}:{job.info.port if declared is None else declared}"


def evaluate(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    """The chief decides; without one worker 0, or all workers with `successPolicy: AllWorkers`."""
    return until_the_end(_updates(job, statuses))


def _updates(job: Job, statuses: ReplicaStatuses) -> Iterator[ConditionUpdate]:
    for replica_type in VISITED:
        status = statuses.get(replica_type)
        if status is None:
            continue
        if replica_type in CHIEFS:
            yield from workers_decide(job, replica_type, status)
        elif replica_type == WORKER and not _has_chief(job):
            yield from workers_decide(job, replica_type, status, enough=_first_worker_is_enough(job, status))
        yield from _failed_replicas(job, replica_type, status)


def _first_worker_is_enough(job: Job, status: ReplicaStatus) -> bool:
    assert isinstance(job.spec, TFJobSpec)
    return job.spec.success_policy != ALL_WORKERS and 0 in parse_ranges(status.completed_indexes)


def _failed_replicas(job: Job, replica_type: str, status: ReplicaStatus) -> Iterator[ConditionUpdate]:
    """Failed replicas restart, or with restart policy `Never` fail the job, dynamic workers excepted."""
    assert isinstance(job.spec, TFJobSpec)
    if status.failed == 0:
        return
    name = job.metadata.name
    if job.replicas[replica_type].restart_policy != RestartPolicy.NEVER:
        text = f"job {name} is restarting because {replica_type} replica(s) failed."
        yield ConditionUpdate(ConditionType.RESTARTING, text, replica_type)
    elif not (replica_type == WORKER and job.spec.enable_dynamic_worker):
        text = f"{job.info.kind} {job.metadata.namespace}/{name} has failed"
        yield ConditionUpdate(
            ConditionType.FAILED, f"{text} because {status.failed} {replica_type} replica(s) failed.", replica_type
        )


def _has_chief(job: Job) -> bool:
    return any(name in job.replicas for name in CHIEFS)
