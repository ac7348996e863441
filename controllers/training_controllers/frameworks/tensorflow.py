"""TFJob: the cluster and the pod's task in TF_CONFIG; the chief decides, or by `successPolicy` worker 0 or all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Final

from training_api.kinds import Job
from training_api.models.common import ConditionType, ReplicaStatus, RestartPolicy
from training_api.models.tensorflow import TFJobSpec
from training_api.problems import Problem
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses, Sample
from training_controllers.frameworks.rules import until_the_end, workers_decide
from training_controllers.model.index_ranges import parse_ranges
from training_controllers.model.names import ReplicaNames, replica_names
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import PodSpec, env, port_of, too_long_for_env, with_env

WORKER = "Worker"
PS = "PS"
CHIEFS = ("Chief", "Master")
"""Master is the old name of Chief."""
VISITED = ("Chief", "Evaluator", "Master", PS, WORKER)
"""The types that decide the conditions of the job, in order of precedence."""
ALL_WORKERS = "AllWorkers"
TF_CONFIG: Final = "TF_CONFIG"


def tensorflow(cluster_domain: str) -> Framework:
    """The framework of TFJob; `cluster_domain` ends the names of replicas, or is empty."""
    return Framework(
        info=KINDS["TFJob"],
        evaluate=evaluate,
        configure_pod=partial(configure_pod, cluster_domain),
        is_master=is_master,
        problems=partial(problems, cluster_domain),
        variables=VARIABLES,
        samples=SAMPLES,
        migration="training_migration.convert.tensorflow:plan",
    )


def is_master(job: Job, slot: Slot) -> bool:
    """The chief, or the first worker of a job without one (TF-039)."""
    return slot.replica_type in CHIEFS or (not _has_chief(job) and slot == Slot(WORKER, 0))


def configure_pod(cluster_domain: str, job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Give the container that trains its TF_CONFIG, if it has peers."""
    if sum(job.count(name) for name in job.info.replica_types) == 1:
        return spec
    return with_env(spec, [env(TF_CONFIG, tf_config(cluster_domain, job, slot))], only=job.info.container)


def tf_config(cluster_domain: str, job: Job, slot: Slot) -> str:
    """The value of TF_CONFIG, compact and with v1's order of keys."""
    return _config(cluster_domain, job, slot, lambda name: _listed(*_endpoints(cluster_domain, job, name)))


def problems(cluster_domain: str, job: Job) -> Iterator[Problem]:
    """A TF_CONFIG that no program can be started with."""
    last = [Slot(name, max(job.count(name) - 1, 0)) for name in job.replicas]
    names = [PS] if _is_dynamic(job) else [*job.replicas]
    rest = max((len(_config(cluster_domain, job, slot, lambda _: "")) for slot in last), default=0)
    size = rest + sum(_listed_size(*_endpoints(cluster_domain, job, name)) for name in names if job.count(name))
    yield from too_long_for_env(f"spec.{job.info.replica_field}", TF_CONFIG, size)


def _config(cluster_domain: str, job: Job, slot: Slot, endpoints: Callable[[str], str]) -> str:
    """TF_CONFIG; `endpoints` gives the JSON of those of a type."""
    task = _json({"type": slot.replica_type.lower(), "index": slot.index})
    if _is_dynamic(job):
        return f'{{"cluster":{_sparse_cluster(cluster_domain, job, slot, endpoints)},"task":{task}}}'
    cluster = {name.lower(): endpoints(name) for name in sorted(job.replicas)}
    types = ",".join(f"{_json(name)}:{listed}" for name, listed in cluster.items())
    return f'{{"cluster":{{{types}}},"task":{task},"environment":"cloud"}}'


def _sparse_cluster(cluster_domain: str, job: Job, slot: Slot, endpoints: Callable[[str], str]) -> str:
    """The cluster of a pod of a job with dynamic workers: itself, and if it is a worker all parameter servers."""
    before, after = _around(cluster_domain, job, slot.replica_type)
    own = _json(f"{before}{slot.index}{after}")
    if slot.replica_type == WORKER:
        servers = endpoints(PS) if PS in job.replicas else "null"
        return f'{{"worker":{{"{slot.index}":{own}}},"ps":{servers}}}'
    return f'{{"worker":{{}},"ps":[{own if slot.replica_type == PS else ""}]}}'


def _endpoints(cluster_domain: str, job: Job, replica_type: str) -> tuple[ReplicaNames, str]:
    """The names of the replicas of a type, and what follows each of them."""
    return replica_names(job, replica_type), _around(cluster_domain, job, replica_type)[1]


def _around(cluster_domain: str, job: Job, replica_type: str) -> tuple[str, str]:
    """What precedes the index in an endpoint, and what follows it."""
    declared = port_of(job, replica_type)
    domain = f".{cluster_domain}" if cluster_domain else ""
    port = job.info.port if declared is None else declared
    return replica_names(job, replica_type).prefix, f".{job.metadata.namespace}.svc{domain}:{port}"


@lru_cache(maxsize=64)
def _listed(names: ReplicaNames, after: str) -> str:
    """The JSON of a list of endpoints, which all replicas of a job share."""
    return _json([f"{name}{after}" for name in names])


def _listed_size(names: ReplicaNames, after: str) -> int:
    """The length of that, computed without building it."""
    return names.size + names.count * (len(after) + len('"",')) + len("[]") - 1


def _is_dynamic(job: Job) -> bool:
    assert isinstance(job.spec, TFJobSpec)
    return job.spec.enable_dynamic_worker


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


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


VARIABLES: Final = {
    "TF_CONFIG": "JSON: the addresses of all replicas by type, and the type and index of this one. Only in the "
    "container `tensorflow`, and absent in a job of one replica. Dynamic workers know only themselves and the "
    "parameter servers",
}
SAMPLES: Final = (
    Sample(
        "A Chief, a parameter server and 2 Workers", {"Chief": 1, PS: 1, WORKER: 2}, (Slot("Chief", 0), Slot(WORKER, 1))
    ),
    Sample(
        "The same with `enableDynamicWorker: true`",
        {"Chief": 1, PS: 1, WORKER: 2},
        (Slot(PS, 0), Slot(WORKER, 1)),
        {"enableDynamicWorker": True},
    ),
)
