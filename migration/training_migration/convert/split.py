"""Master and workers as two replicated jobs without a policy: every variable is written out.

The rank of a worker is its index and one more, which no field of a pod says: a shell reckons it and starts the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from training_controllers.engine.model import Slot
from training_migration.convert.compat import (
    RANKS,
    Environment,
    drop_overridden,
    slots_of,
    translated,
)
from training_migration.convert.containers import checked_template, main_of, with_native_sidecars
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import job_limits, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.convert.wrapper import references_expanded, wrapped

WRAPPER: Final = "with-rank"


def split(context: Context, master: str, worker: str, environment: Environment, framework: str) -> Plan:
    """The plan of a job whose master and workers differ; the master's success is the job's."""
    hosts = {slot: context.host(slot.replica_type.lower(), slot.index) for slot in slots_of(context, master, worker)}
    first = _group(context, master, environment, hosts)
    others = _group(context, worker, environment, hosts, after=_prepares(first, context, master))
    return Plan(framework=framework, groups=[first, others], succeeds_with=first.name)


def _prepares(group: Group, context: Context, master: str) -> str:
    """The group for which workers wait: a master with init containers prepares what they read, as in v1."""
    inits = (context.replica(master).template.get("spec") or {}).get("initContainers") or ()
    return group.name if any(each.get("restartPolicy") != "Always" for each in inits) else ""


def _group(
    context: Context, replica_type: str, environment: Environment, hosts: Mapping[Slot, str], after: str = ""
) -> Group:
    main = context.main_container(replica_type)
    path = context.path(replica_type, "template.spec.containers")
    template = checked_template(context, replica_type)
    names = {context.v1_host(slot.replica_type, slot.index): host for slot, host in hosts.items()}
    variables = [
        {**variable, **({"value": translated(str(variable["value"]), names)} if "value" in variable else {})}
        for variable in environment(context.job.job, Slot(replica_type, 0))
    ]
    drop_overridden(context, template, variables, path)
    ranks = [str(variable["name"]) for variable in variables if variable["name"] in RANKS]
    counted = ranks if context.count(replica_type) > 1 else []
    for container in template["spec"]["containers"]:
        literal = [variable for variable in variables if variable["name"] not in counted]
        container["env"] = [*literal, *(container.get("env") or ())]
    if counted:
        offset = next(int(str(each["value"])) for each in variables if each["name"] in counted)
        _reckon(context, template, replica_type, counted, offset)
    template = with_native_sidecars(context, replica_type, template, main)
    return Group(
        replica_type.lower(),
        with_restart_policy(template, context.replica(replica_type).restart_policy),
        job_limits(context, replica_type, main=main),
        context.count(replica_type),
        after=after,
    )


def _reckon(context: Context, template: Json, replica_type: str, names: Sequence[str], offset: int) -> None:
    """Let the main container start through a shell that sets the ranks."""
    main = main_of(template, context.main_container(replica_type))
    path = context.path(replica_type, f"template.spec.containers[{main['name']}].command")
    if not main.get("command"):
        context.notes.refuse(
            "MIG201",
            f"{replica_type} has to be started through a shell that sets {names[0]}, but its template has no command;"
            " give it the one of its image, or make the templates equal.",
            path,
        )
        return
    if used := references_expanded(main, names):
        context.notes.refuse(
            "MIG201", f"$({used[0]}) in the command of {replica_type} has no value before the shell runs.", path
        )
    lines = [f"export {name}=$((JOB_COMPLETION_INDEX + {offset}))" for name in names]
    wrapped(main, lines, WRAPPER)
