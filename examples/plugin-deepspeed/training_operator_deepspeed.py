"""DeepSpeedJob: a launcher that finds its workers in a hostfile, and decides how the job ends."""

from collections.abc import Sequence

from pydantic import Field

from training_api.kinds import Job, KindInfo
from training_api.models.common import Int32, JobSpec, ReplicaSpecs, RestartPolicy
from training_controllers.frameworks.base import ConditionUpdate, Framework, PodsBySlot, ReplicaStatuses
from training_controllers.frameworks.rules import failed_replicas, master_decides, until_the_end
from training_controllers.model.names import replica_name
from training_controllers.model.owned_objects import CONFIG_MAP, OwnedObject
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import PodSpec, env, with_env

LAUNCHER, WORKER = "Launcher", "Worker"
MOUNT = {"name": "hostfile", "mountPath": "/job"}  # where `deepspeed` looks for a hostfile


class DeepSpeedJobSpec(JobSpec):
    """What a DeepSpeedJob runs: a launcher, and the workers on which it starts its processes."""

    replica_specs: ReplicaSpecs = Field(alias="deepspeedReplicaSpecs")
    """The replicas by type: Launcher and Worker."""
    slots_per_worker: Int32 = 1
    """Processes of each worker."""


def owned_objects(job: Job, _pods: PodsBySlot) -> Sequence[OwnedObject]:
    assert isinstance(job.spec, DeepSpeedJobSpec)
    names = (replica_name(job, Slot(WORKER, index)) for index in range(job.replicas[WORKER].replicas or 0))
    hosts = "".join(f"{name} slots={job.spec.slots_per_worker}\n" for name in names)
    return [OwnedObject(CONFIG_MAP, f"{job.metadata.name}-hostfile", {"data": {"hostfile": hosts}})]


def configure_pod(job: Job, _slot: Slot, spec: PodSpec) -> PodSpec:
    volume = {"name": MOUNT["name"], "configMap": {"name": f"{job.metadata.name}-hostfile"}}
    containers = [{**each, "volumeMounts": [*(each.get("volumeMounts") or ()), MOUNT]} for each in spec["containers"]]
    variables = [env("MASTER_ADDR", replica_name(job, Slot(LAUNCHER, 0))), env("MASTER_PORT", job.info.port)]
    return with_env({**spec, "containers": containers, "volumes": [*(spec.get("volumes") or ()), volume]}, variables)


def evaluate(job: Job, statuses: ReplicaStatuses) -> Sequence[ConditionUpdate]:
    failures = (update for name, status in statuses.items() for update in failed_replicas(job, name, status))
    return until_the_end(iter([*master_decides(job, LAUNCHER, statuses[LAUNCHER]), *failures]))


DEEPSPEED = Framework(
    KindInfo(
        kind="DeepSpeedJob", plural="deepspeedjobs", short_names=("dsj",), metrics_label="deepspeed",
        spec=DeepSpeedJobSpec, replica_field="deepspeedReplicaSpecs", replica_types=(LAUNCHER, WORKER),
        container="deepspeed", port_name="deepspeed-port", port=29500, restart_policy=RestartPolicy.NEVER,
        scalable=False, required_types=(LAUNCHER, WORKER), single_types=(LAUNCHER,),
    ),
    evaluate, configure_pod, is_master=lambda _job, slot: slot.replica_type == LAUNCHER,
    owned_kinds=(CONFIG_MAP,), owned_objects=owned_objects, auxiliary_types=frozenset({WORKER}),
    variables={"MASTER_ADDR": "name of the Launcher", "MASTER_PORT": "a port that is free in every pod"},
    migration="training_operator_deepspeed_migration:plan",
)  # fmt: skip
