"""JAXJob: every worker learns where the coordinator is, how many processes there are, and which one it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from training_api.kinds import Job
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses, Sample
from training_controllers.frameworks.rules import failed_replicas, until_the_end, workers_decide
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import CannotBuild, PodSpec, env, port_of, with_env

WORKER = "Worker"


def jax() -> Framework:
    """The framework of JAXJob."""
    return Framework(
        info=KINDS["JAXJob"],
        evaluate=evaluate,
        configure_pod=configure_pod,
        is_master=lambda _job, slot: slot.index == 0,
        job_deleted_reason="SuccessfulDeletePod",
        job_delete_failed_reason="FailedDeletePod",
        variables=VARIABLES,
        samples=SAMPLES,
        migration="training_migration.convert.jax:plan",
    )


def configure_pod(job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Give every container the coordinator's address and port; the program joins them itself."""
    return with_env(spec, environment(job, slot))


def environment(job: Job, slot: Slot) -> list[dict[str, str]]:
    """The environment that v1 sets, in v1's order."""
    port = port_of(job, WORKER)
    if port is None:
        raise CannotBuild("default container port is not exposed")
    return [
        env("PYTHONUNBUFFERED", 1),
        env("COORDINATOR_PORT", port),
        env("COORDINATOR_ADDRESS", replica_name(job, Slot(WORKER, 0))),
        env("NUM_PROCESSES", job.total),
        env("PROCESS_ID", slot.index),
    ]


def evaluate(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    """All workers have to succeed."""
    return until_the_end(_updates(job, statuses))


def _updates(job: Job, statuses: ReplicaStatuses) -> Iterator[ConditionUpdate]:
    for replica_type, status in statuses.items():
        yield from workers_decide(job, replica_type, status)
        yield from failed_replicas(job, replica_type, status)


VARIABLES: Final = {
    "PYTHONUNBUFFERED": "Python does not buffer its output",
    "COORDINATOR_PORT": "port of worker 0",
    "COORDINATOR_ADDRESS": "name of worker 0, also in worker 0 itself; the program joins it with the port",
    "NUM_PROCESSES": "number of workers",
    "PROCESS_ID": "index of this worker",
}
SAMPLES: Final = (Sample("3 Workers", {WORKER: 3}, (Slot(WORKER, 0), Slot(WORKER, 1))),)
