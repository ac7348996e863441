"""Master and workers as two replicated jobs without a policy: every variable is written out.

The rank of a worker is its index and one more, which no field of a pod says. So each worker is a Job of its own: the
number of a Job among all of its JobSet is the rank. A pod group would count such Jobs wrongly (kubeflow/trainer 2318);
under a gang the workers are one Job, in whose pods a shell sets the ranks before it starts the command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import env_from_field
from training_migration.convert.compat import RANKS, Environment, drop_overridden, slots_of, variables_of
from training_migration.convert.containers import checked_template, for_node, main_of, with_sidecars
from training_migration.convert.context import Context, Json
from training_migration.convert.gang import gang
from training_migration.convert.lifecycle import job_limits, succeeds_with, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.convert.wrapper import references_expanded, wrapped
from training_migration.v2.names import NODE

JOB_NUMBER: Final = "metadata.labels['jobset.sigs.k8s.io/job-global-index']"
"""The field of a pod that holds the number of its Job among all Jobs of its JobSet."""
WRAPPER: Final = "with-rank"


def split(context: Context, master: str, worker: str, environment: Environment) -> Plan:
    """The plan of a job whose master and workers differ; the master's success is the job's."""
    in_one_job = gang(context).policy is not None
    hosts = {
        slot: context.host(slot.replica_type.lower(), slot.index, in_one_job=in_one_job or slot.replica_type == master)
        for slot in slots_of(context, master, worker)
    }
    names = {context.v1_host(slot.replica_type, slot.index): host for slot, host in hosts.items()}
    return Plan(
        framework="plainml",
        groups=[
            _master(context, master, variables_of(context, environment, Slot(master, 0), names)),
            _workers(
                context,
                worker,
                variables_of(context, environment, Slot(worker, 0), names),
                in_one_job=in_one_job,
                after=_preparing(context, master),
            ),
        ],
        policy={"numNodes": 1},
        succeeds_with=[name.lower() for name in succeeds_with(context, master, {master: True, worker: True})],
    )


def _preparing(context: Context, master: str) -> str:
    """The group for which workers wait: a master with init containers prepares what they read, as in v1."""
    inits = (context.replica(master).template.get("spec") or {}).get("initContainers") or ()
    return master.lower() if any(each.get("restartPolicy") != "Always" for each in inits) else ""


def _master(context: Context, replica_type: str, variables: Sequence[Json]) -> Group:
    """The first pod, which v2 takes for the training."""
    template = for_node(context, replica_type, checked_template(context, replica_type))
    template = _with_env(context, replica_type, template, variables)
    return _group(context, replica_type, template, NODE)


def _workers(context: Context, replica_type: str, variables: Sequence[Json], *, in_one_job: bool, after: str) -> Group:
    template = checked_template(context, replica_type)
    main = context.main_container(replica_type)
    ranks = [str(variable["name"]) for variable in variables if variable["name"] in RANKS]
    if in_one_job:
        others = [variable for variable in variables if variable["name"] not in ranks]
        template = _with_env(context, replica_type, template, others)
        _reckon(context, main_of(template, main), replica_type, ranks)
        return _group(context, replica_type, template, main, after=after)
    numbered = [env_from_field(each["name"], JOB_NUMBER) if each["name"] in ranks else each for each in variables]
    template = _with_env(context, replica_type, template, numbered)
    return _group(context, replica_type, template, main, after=after, in_one_job=False)


def _with_env(context: Context, replica_type: str, template: Json, variables: Sequence[Json]) -> Json:
    """The template with v1's variables in every container, as in v1."""
    drop_overridden(context, template, variables, context.path(replica_type, "template.spec.containers"))
    for container in template["spec"]["containers"]:
        container["env"] = [*variables, *(container.get("env") or ())]
    return template


def _group(
    context: Context, replica_type: str, template: Json, main: str, *, after: str = "", in_one_job: bool = True
) -> Group:
    template = with_sidecars(context, replica_type, template, main)
    return Group(
        replica_type.lower(),
        with_restart_policy(context, replica_type, template),
        job_limits(context, replica_type, main=main),
        context.count(replica_type),
        trains=main == NODE,
        after=after,
        in_one_job=in_one_job,
    )


def _reckon(context: Context, main: Json, replica_type: str, names: Sequence[str]) -> None:
    """Let the main container start through a shell that sets the ranks."""
    path = context.path(replica_type, f"template.spec.containers[{main['name']}].command")
    if not main.get("command"):
        context.notes.reject(
            "MIG201",
            f"under a gang {replica_type} has to be started through a shell that sets {names[0]}, but its template has"
            " no command; give it the one of its image, or make the templates equal.",
            path,
        )
        return
    if used := references_expanded(main, names):
        context.notes.reject(
            "MIG201", f"$({used[0]}) in the command of {replica_type} has no value before the shell runs.", path
        )
    wrapped(main, [f"export {name}=$((JOB_COMPLETION_INDEX + 1))" for name in names], WRAPPER)
