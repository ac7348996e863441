"""PaddleJob: where the replicas meet, in collective mode (workers alone) or with masters as parameter servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from training_api.kinds import Job
from training_api.registry import KINDS
from training_controllers.frameworks.base import ConditionUpdate, Framework, ReplicaStatuses, Sample
from training_controllers.frameworks.rules import failed_replicas, master_decides, until_the_end, workers_decide
from training_controllers.model.names import replica_name
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import PodSpec, env, env_from_field, port_of, with_env

MASTER = "Master"
WORKER = "Worker"


def paddle() -> Framework:
    """The framework of PaddleJob."""
    return Framework(
        info=KINDS["PaddleJob"],
        evaluate=evaluate,
        configure_pod=configure_pod,
        is_master=lambda _job, slot: slot.replica_type == MASTER,
        job_deleted_reason="SuccessfulDeletePod",
        job_delete_failed_reason="FailedDeletePod",
        variables=VARIABLES,
        samples=SAMPLES,
        migration="training_migration.convert.paddle:plan",
    )


def configure_pod(job: Job, slot: Slot, spec: PodSpec) -> PodSpec:
    """Give every container the rendezvous address and its role."""
    return with_env(spec, environment(job, slot))


def environment(job: Job, slot: Slot) -> list[Mapping[str, Any]]:
    """The environment that v1 sets, in v1's order."""
    with_servers = MASTER in job.replicas
    meeting_point = Slot(MASTER if with_servers else WORKER, 0)
    return [
        env("PYTHONUNBUFFERED", 1),
        env("PADDLE_JOB_ID", job.metadata.name),
        env("PADDLE_NNODES", job.total),
        *_endpoint(job, meeting_point, own=slot == meeting_point),
        *([env("PADDLE_SERVER_NUM" if slot.replica_type == MASTER else "PADDLE_TRAINER_NUM", 1)] * with_servers),
    ]


def _endpoint(job: Job, meeting_point: Slot, *, own: bool) -> list[Mapping[str, Any]]:
    """The rendezvous pod listens on its own address, which Kubernetes fills in; the others know it by name."""
    declared = port_of(job, meeting_point.replica_type)
    port = job.info.port if declared is None else declared
    if own:
        return [env_from_field("POD_IP_DUMMY", "status.podIP"), env("PADDLE_MASTER", f"$(POD_IP_DUMMY):{port}")]
    return [env("PADDLE_MASTER", f"{replica_name(job, meeting_point)}:{port}")]


def evaluate(job: Job, statuses: ReplicaStatuses) -> tuple[ConditionUpdate, ...]:
    """All masters have to succeed; without any, all workers."""
    return until_the_end(_updates(job, statuses))


def _updates(job: Job, statuses: ReplicaStatuses) -> Iterator[ConditionUpdate]:
    for replica_type, status in statuses.items():
        if replica_type == MASTER:
            yield from master_decides(job, replica_type, status)
        elif MASTER not in job.replicas:
            yield from workers_decide(job, replica_type, status)
        yield from failed_replicas(job, replica_type, status)


VARIABLES: Final = {
    "PYTHONUNBUFFERED": "Python does not buffer its output",
    "PADDLE_JOB_ID": "name of the job",
    "PADDLE_NNODES": "replicas of all types",
    "PADDLE_MASTER": "rendezvous address: Master 0, or worker 0 without one; that pod itself gets its own address",
    "POD_IP_DUMMY": "its own address, set by Kubernetes; only in the rendezvous pod",
    "PADDLE_SERVER_NUM": "1, in a Master",
    "PADDLE_TRAINER_NUM": "1, in a Worker of a job with a Master",
}
SAMPLES: Final = (
    Sample("2 Workers (collective)", {WORKER: 2}, (Slot(WORKER, 0), Slot(WORKER, 1))),
    Sample("A Master and 2 Workers (parameter server)", {MASTER: 1, WORKER: 2}, (Slot(MASTER, 0), Slot(WORKER, 1))),
)
