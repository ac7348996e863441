"""XGBoostJob (and LightGBM): the master's address, ranks and the list of workers in the environment."""

from __future__ import annotations

from collections.abc import Iterator

from training_api.kinds import Job
from training_api.models.common import ConditionType
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses
from training_controllers.frameworks.rules import failed_unless_exit_code, missing, until_the_end
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec, env, port_of, with_env

MASTER = "Master"
WORKER = "Worker"


def xgboost() -> Framework:
    """The framework of XGBoostJob."""
    return Framework(
        info=KINDS["XGBoostJob"],
        evaluate=evaluate,
        configure_pod=configure_pod,
        is_master=lambda _job, slot: slot.replica_type == MASTER,
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
        workers = (replica_name(job, Slot(WORKER, index)) for index in range(size - 1))
        variables += [env("WORKER_PORT", _port(job, WORKER)), env("WORKER_ADDRS", ",".join(workers))]
    return variables


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
