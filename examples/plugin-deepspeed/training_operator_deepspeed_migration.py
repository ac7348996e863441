"""How DeepSpeedJobs move to Trainer v2: a plain runtime with both roles, and a hostfile with the names there."""

from training_operator_deepspeed import LAUNCHER, WORKER, DeepSpeedJobSpec, configure_pod

from training_controllers.model.plan import Slot
from training_migration.convert.containers import checked_template, for_node, with_sidecars
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import job_limits, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.v2.names import NODE


def plan(context: Context) -> Plan:
    """The launcher decides; the hostfile is a ConfigMap beside the TrainJob."""
    return Plan(
        framework="plainml",
        groups=[_group(context, WORKER), _group(context, LAUNCHER)],
        policy={"numNodes": 1},
        succeeds_with=[LAUNCHER.lower()],
        network={"publishNotReadyAddresses": True},
        others=[_hostfile(context)],
    )


def _group(context: Context, replica_type: str) -> Group:
    template, main = checked_template(context, replica_type), context.main_container(replica_type)
    if replica_type == LAUNCHER:
        template, main = for_node(context, LAUNCHER, template), NODE
    template["spec"] = configure_pod(context.job.job, Slot(replica_type, 0), template["spec"])
    for volume in template["spec"]["volumes"][-1:]:
        volume["configMap"]["name"] = f"{context.name}-hostfile"
    for container in template["spec"]["containers"]:
        for variable in container["env"]:
            if variable["name"] == "MASTER_ADDR":
                variable["value"] = context.host(LAUNCHER.lower(), 0)
    template = with_restart_policy(context, replica_type, with_sidecars(context, replica_type, template, main))
    limits = job_limits(context, replica_type, main=main)
    return Group(replica_type.lower(), template, limits, context.count(replica_type), trains=replica_type == LAUNCHER)


def _hostfile(context: Context) -> Json:
    spec, name = context.job.job.spec, WORKER.lower()
    assert isinstance(spec, DeepSpeedJobSpec)
    hosts = (context.host(name, index) for index in range(context.count(WORKER)))
    metadata = {"name": f"{context.name}-hostfile", **({"namespace": context.namespace} if context.namespace else {})}
    data = {"hostfile": "".join(f"{host} slots={spec.slots_per_worker}\n" for host in hosts)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
