"""PyTorchJob: master address, ranks and torchrun settings in the environment; elastic jobs with an autoscaler."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.kinds import Job
from training_api.models.pytorch import PyTorchElasticPolicy, PyTorchJobSpec
from training_api.registry import KINDS
from training_controllers.frameworks.base import (
    ConditionUpdate,
    Framework,
    PodsBySlot,
    ReplicaStatuses,
    Sample,
    all_replicas,
)
from training_controllers.frameworks.pytorch.init_container import BUILT_IN_TEMPLATE, render_init_containers
from training_controllers.frameworks.pytorch.master_wait import MasterWait, wait_in_own_image
from training_controllers.frameworks.rules import failed_replicas, master_decides, until_the_end, workers_decide
from training_controllers.model.annotations import JobAnnotation
from training_controllers.model.names import replica_name
from training_controllers.model.owned_objects import AUTOSCALER, OwnedObject
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import (
    CannotBuild,
    Container,
    PodSpec,
    env,
    port_of,
    with_env,
    with_init_containers,
)

MASTER = "Master"
WORKER = "Worker"


@dataclass(frozen=True, slots=True)
class PyTorchOptions:
    """Settings of the operator for all PyTorchJobs; raises `BadTemplate` for a template that cannot be used."""

    init_container_image: str = "alpine:3.10"
    init_container_template: str = BUILT_IN_TEMPLATE
    """The text of the template file, where there is one."""
    init_container_max_tries: int = 100
    init_container: MasterWait = MasterWait.IMAGE
    """How workers wait whose job does not say it."""

    def __post_init__(self) -> None:
        self.init_containers("job-master-0")

    def init_containers(self, master_address: str) -> tuple[Mapping[str, Any], ...]:
        """The init containers of a worker whose master has this address."""
        return render_init_containers(
            self.init_container_template,
            master_address=master_address,
            image=self.init_container_image,
            max_tries=self.init_container_max_tries,
        )

    @property
    def annotation(self) -> JobAnnotation:
        """The annotation that sets how the workers of a job wait."""
        return _annotation(self.init_container)


@lru_cache(maxsize=len(MasterWait))
def _annotation(default: MasterWait) -> JobAnnotation:
    return JobAnnotation("init-container", (default, *(mode for mode in MasterWait if mode != default)))


def pytorch(options: PyTorchOptions) -> Framework:
    """The framework of PyTorchJob."""
    return Framework(
        info=KINDS["PyTorchJob"],
        evaluate=evaluate,
        configure_pod=partial(configure_pod, options),
        is_master=is_master,
        publish_when_ready=partial(prepares_for_workers, options),
        owned_kinds=(AUTOSCALER,),
        owned_objects=owned_objects,
        min_replicas=min_replicas,
        annotations=(options.annotation,),
        job_deleted_reason="SuccessfulDeletePod",
        job_delete_failed_reason="FailedDeletePod",
        variables=VARIABLES,
        samples=SAMPLES,
        migration="training_migration.convert.pytorch:plan",
    )


def is_master(job: Job, slot: Slot) -> bool:
    """The Master, or the first worker of a job without one (PT-045)."""
    return slot.replica_type == MASTER or (MASTER not in job.replicas and slot.index == 0)


def prepares_for_workers(options: PyTorchOptions, job: Job, slot: Slot) -> bool:
    """Whether this is a Master that workers must wait for: its init containers fetch what all of them read.

    `train()` of the SDK relies on it (SDK-7.3): a worker's wait ends when the name of the master appears.
    """
    pod_spec = job.replicas[slot.replica_type].template.get("spec") or {}
    preparing = [each for each in pod_spec.get("initContainers") or () if each.get("restartPolicy") != "Always"]
    return slot.replica_type == MASTER and bool(preparing) and options.annotation.of(job) != MasterWait.NONE


def configure_pod(options: PyTorchOptions, job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Give every container the environment, and let workers wait for the master if there is one (PT-028)."""
    spec = with_env(spec, environment(job, slot))
    if slot.replica_type == WORKER and MASTER in job.replicas:
        spec = with_init_containers(spec, _waiting(options, job, spec))
    return spec


def _waiting(options: PyTorchOptions, job: Job, spec: PodSpec) -> tuple[Container, ...]:
    """The init containers with which a worker waits for its master."""
    address = _master_address(job)
    match options.annotation.of(job):
        case MasterWait.NONE:
            return ()
        case MasterWait.WORKER_IMAGE:
            main = next(each for each in spec["containers"] if each.get("name") == job.info.container)
            # Where replicas meet elsewhere nothing need listen on the master's port: its name must do.
            port = 0 if _spec(job).elastic_policy is not None else _port(job, MASTER)
            tries = options.init_container_max_tries
            return (wait_in_own_image(main, host=address, port=port, max_tries=tries),)
    return options.init_containers(address)


def environment(job: Job, slot: Slot) -> list[dict[str, str]]:
    """The environment that v1 sets, in v1's order."""
    spec = _spec(job)
    variables = [env("PYTHONUNBUFFERED", 1)]
    if MASTER in job.replicas:
        variables += _master_environment(job, slot, spec.nproc_per_node)
    if spec.nproc_per_node is not None:
        variables.append(env("PET_NPROC_PER_NODE", spec.nproc_per_node))
    if spec.elastic_policy is None:
        variables.append(env("PET_NNODES", job.total))
    else:
        variables += _elastic_environment(job, spec.elastic_policy)
    return variables


def _master_environment(job: Job, slot: Slot, nproc: str | None) -> list[dict[str, str]]:
    port, address = _port(job, MASTER), _master_address(job)
    rank = slot.index if slot.replica_type == MASTER else slot.index + 1
    return [
        env("MASTER_PORT", port),
        env("PET_MASTER_PORT", port),
        env("MASTER_ADDR", address),
        env("PET_MASTER_ADDR", address),
        env("WORLD_SIZE", job.total * _processes_per_pod(nproc)),
        env("RANK", rank),
        env("PET_NODE_RANK", rank),
    ]


def _elastic_environment(job: Job, policy: PyTorchElasticPolicy) -> list[dict[str, str]]:
    host = policy.rdzv_host or replica_name(job, Slot(WORKER, 0))
    port = policy.rdzv_port if policy.rdzv_port is not None else _port(job, WORKER)
    variables = [
        env("PET_RDZV_ENDPOINT", f"{host}:{port}"),
        env("PET_RDZV_BACKEND", policy.rdzv_backend or "c10d"),
        env("PET_NNODES", f"{policy.min_replicas}:{policy.max_replicas}"),
    ]
    if policy.max_restarts is not None:
        variables.append(env("PET_MAX_RESTARTS", policy.max_restarts))
    if policy.n_proc_per_node is not None:
        variables.append(env("PET_NPROC_PER_NODE", policy.n_proc_per_node))
    if policy.rdzv_id is not None:
        variables.append(env("PET_RDZV_ID", policy.rdzv_id))
    if policy.rdzv_conf:
        variables.append(env("PET_RDZV_CONF", ",".join(f"{conf.key}={conf.value}" for conf in policy.rdzv_conf)))
    if policy.standalone:
        variables.append({"name": "PET_STANDALONE"})  # the API server stores an empty value as none
    return variables


def owned_objects(job: Job, _holders: PodsBySlot) -> tuple[OwnedObject, ...]:
    """The autoscaler of an elastic job with metrics, an empty list of them included."""
    policy = _spec(job).elastic_policy
    if policy is None or policy.metrics is None:
        return ()
    spec = {
        "scaleTargetRef": {"apiVersion": API_VERSION, "kind": job.info.kind, "name": job.metadata.name},
        "minReplicas": policy.min_replicas,
        "maxReplicas": policy.max_replicas,
        "metrics": list(policy.metrics),
    }
    return (OwnedObject(AUTOSCALER, job.metadata.name, {"spec": spec}),)


def min_replicas(job: Job, replica_type: str) -> int:
    """An elastic job begins with as few workers as it may have."""
    policy, replicas = _spec(job).elastic_policy, all_replicas(job, replica_type)
    if policy is None or policy.min_replicas is None or replica_type != WORKER:
        return replicas
    return min(policy.min_replicas, replicas)


def evaluate(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    """The Master decides; without one all workers, or any of an elastic job."""
    return until_the_end(_updates(job, statuses))


def _updates(job: Job, statuses: ReplicaStatuses) -> Iterator[ConditionUpdate]:
    for replica_type, status in statuses.items():
        if replica_type == MASTER:
            yield from master_decides(job, replica_type, status)
        elif MASTER not in job.replicas:
            elastic = _spec(job).elastic_policy is not None
            yield from workers_decide(job, replica_type, status, enough=elastic and status.succeeded > 0)
        yield from failed_replicas(job, replica_type, status)


def _spec(job: Job) -> PyTorchJobSpec:
    assert isinstance(job.spec, PyTorchJobSpec)
    return job.spec


@lru_cache(maxsize=64)
def _processes_per_pod(nproc: str | None) -> int:
    """The number that `nprocPerNode` gives, 1 where it leaves the choice to torchrun (`auto`, `cpu`, `gpu`)."""
    return int(nproc) if nproc and re.fullmatch(r"[+-]?[0-9]{1,18}", nproc) else 1


def _master_address(job: Job) -> str:
    return replica_name(job, Slot(MASTER, 0))


def _port(job: Job, replica_type: str) -> int:
    port = port_of(job, replica_type)
    if port is None:
        raise CannotBuild("port not found")
    return port


VARIABLES: Final = {
    "PYTHONUNBUFFERED": "Python does not buffer its output",
    "MASTER_PORT": "port of the Master (`pytorchjob-port` of its container `pytorch`); only if the job has a Master",
    "PET_MASTER_PORT": "the same for torchrun",
    "MASTER_ADDR": "name of the Master, also in the Master itself; only if the job has a Master",
    "PET_MASTER_ADDR": "the same for torchrun",
    "WORLD_SIZE": "replicas of all types, times `nprocPerNode` if that is a number; only if the job has a Master",
    "RANK": "0 for the Master, then the workers; one number per pod, of which torchrun makes one for each process",
    "PET_NODE_RANK": "the same for torchrun",
    "PET_NPROC_PER_NODE": "`nprocPerNode` as given, or the deprecated `elasticPolicy.nProcPerNode`",
    "PET_NNODES": "replicas of all types; of an elastic job `minReplicas:maxReplicas`",
    "PET_RDZV_ENDPOINT": "rendezvous address of elastic replicas: `rdzvHost` or worker 0, `rdzvPort` or its port",
    "PET_RDZV_BACKEND": "`rdzvBackend`, `c10d` if that is absent",
    "PET_MAX_RESTARTS": "`maxRestarts`, if given",
    "PET_RDZV_ID": "`rdzvId`, if given",
    "PET_RDZV_CONF": "`rdzvConf`, if given, in its order",
    "PET_STANDALONE": "there, and empty, if `standalone` is true",
}
SAMPLES: Final = (
    Sample(
        'A Master and 2 Workers, `nprocPerNode: "2"`',
        {MASTER: 1, WORKER: 2},
        (Slot(MASTER, 0), Slot(WORKER, 1)),
        {"nprocPerNode": "2"},
    ),
    Sample(
        "Workers alone with `elasticPolicy`",
        {WORKER: 2},
        (Slot(WORKER, 0), Slot(WORKER, 1)),
        {
            "elasticPolicy": {
                "minReplicas": 1,
                "maxReplicas": 4,
                "maxRestarts": 10,
                "rdzvId": "run-7",
                "rdzvConf": [{"key": "join_timeout", "value": "600"}],
                "standalone": True,
            }
        },
    ),
)
