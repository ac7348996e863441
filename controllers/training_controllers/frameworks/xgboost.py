"""XGBoostJob (and LightGBM): the master's address, ranks and the list of workers in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from training_api.kinds import Job
from training_api.models.common import ConditionType
from training_api.problems import Problem
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses, Sample
from training_controllers.frameworks.rules import failed_unless_exit_code, missing, until_the_end
from training_controllers.model.names import ReplicaNames, replica_name, replica_names
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec, env, port_of, too_long_for_env, with_env

MASTER = "Master"
WORKER = "Worker"
WORKER_ADDRS: Final = "WORKER_ADDRS"


def xgboost() -> Framework:
    """The framework of XGBoostJob."""
    return Framework(
        info=KINDS["XGBoostJob"],
        evaluate=evaluate,
        configure_pod=configure_pod,
        is_master=lambda _job, slot: slot.replica_type == MASTER,
        problems=problems,
        variables=VARIABLES,
        samples=SAMPLES,
        migration="training_migration.convert.xgboost:plan",
    )


def configure_pod(job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Give every container the tracker's address and the list of workers."""
    return with_env(spec, environment(job, slot))


def environment(job: Job, slot: Slot) -> list[dict[str, str]]:
    """The environment that v1 sets, in v1's order."""
    size, masters = job.total, job.count(MASTER)
    variables = [
        env("MASTER_PORT", _port(job, MASTER)),
        env("MASTER_ADDR", replica_name(job, Slot(MASTER, 0))),
        env("WORLD_SIZE", size),
        env("RANK", slot.index if slot.replica_type == MASTER else slot.index + masters),
        env("PYTHONUNBUFFERED", 1),
    ]
    if size > 1:
        variables += [env("WORKER_PORT", _port(job, WORKER)), env(WORKER_ADDRS, _joined(_workers(job)))]
    return variables


def problems(job: Job) -> Iterator[Problem]:
    """A list of workers that no program can be started with."""
    workers = _workers(job)
    size = workers.size + len(",") * (workers.count - 1)
    yield from too_long_for_env(f"spec.{job.info.replica_field}", WORKER_ADDRS, size)


def _workers(job: Job) -> ReplicaNames:
    """All replicas but one are taken for workers, as in v1."""
    return replace(replica_names(job, WORKER), count=max(job.total - 1, 0))


@lru_cache(maxsize=64)
def _joined(workers: ReplicaNames) -> str:
    """The list of workers, which all replicas of a job share."""
    return ",".join(workers)


def evaluate(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    """The Master decides; a failed replica of any type fails the job unless its exit code allows a restart."""
    return until_the_end(_updates(job, statuses))


def _updates(job: Job, statuses: ReplicaStatuses) -> Iterator[ConditionUpdate]:
    # Whatever ends the job sets Running first, so a job that was never seen running has the condition too (XGB-021).
    subject = f"{job.info.kind} {job.metadata.name}"
    running = ConditionUpdate(ConditionType.RUNNING, f"{subject} is running.")
    for replica_type, status in statuses.items():
        if replica_type == MASTER:
            done = missing(job, replica_type, status) == 0
            if done or status.active > 0:
                yield running
            if done:
                yield ConditionUpdate(ConditionType.SUCCEEDED, f"{subject} is successfully completed.")
        if status.failed > 0:
            yield running
            yield from failed_unless_exit_code(job, replica_type, status)


def _port(job: Job, replica_type: str) -> int:
    port = port_of(job, replica_type)
    if port is None:
        raise CannotBuild("failed to found the port")
    return port


VARIABLES: Final = {
    "MASTER_PORT": "port of the Master",
    "MASTER_ADDR": "name of the Master, also in the Master itself",
    "WORLD_SIZE": "replicas of both types",
    "RANK": "0 for the Master, then the workers",
    "PYTHONUNBUFFERED": "Python does not buffer its output",
    "WORKER_PORT": "port of the workers; absent in a job of one replica",
    "WORKER_ADDRS": "names of the workers, with commas; absent in a job of one replica",
}
SAMPLES: Final = (Sample("A Master and 2 Workers", {MASTER: 1, WORKER: 2}, (Slot(MASTER, 0), Slot(WORKER, 1))),)
