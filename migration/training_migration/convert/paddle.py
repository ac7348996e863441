"""PaddleJob: a plain runtime. The first pod has to know its own address, which a shell tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from training_api.models.paddle import PaddleJobSpec
from training_controllers.engine.model import Slot
from training_controllers.frameworks.paddle import MASTER, WORKER, environment
from training_migration.convert.compat import drop_overridden, give_sidecars, slots_of, translated, unbuffered
from training_migration.convert.containers import checked_template, for_node, main_of, with_native_sidecars
from training_migration.convert.context import NODE, Context, Json
from training_migration.convert.lifecycle import job_limits, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.convert.wrapper import references_expanded, wrapped

ENDPOINT: Final = "PADDLE_MASTER"
ADDRESS: Final = "POD_IP_DUMMY"
WRAPPER: Final = "with-master"


def plan(context: Context) -> Plan:
    """Workers alone are nodes; with masters (parameter servers) each type is a group, and the masters decide."""
    if (policy := _spec(context).elastic_policy) is not None:
        text = f"between {policy.min_replicas} and {policy.max_replicas} workers had no effect in v1 either."
        context.notes.add("MIG203", text, "spec.elasticPolicy", fixed=True)
    if context.count(MASTER):
        return _with_servers(context)
    count = context.count(WORKER)
    group = _group(context, WORKER, NODE, trains=True)
    return Plan(framework="plainml", groups=[group], policy={"numNodes": count}, trainer={"numNodes": count})


def _with_servers(context: Context) -> Plan:
    masters = _group(context, MASTER, MASTER.lower(), trains=True)
    groups = [masters]
    if context.count(WORKER):
        groups.append(_group(context, WORKER, WORKER.lower(), trains=False))
    return Plan(framework="plainml", groups=groups, policy={"numNodes": masters.count}, succeeds_with=masters.name)


def _group(context: Context, replica_type: str, name: str, *, trains: bool) -> Group:
    path = context.path(replica_type, "template.spec.containers")
    template = checked_template(context, replica_type)
    main = context.main_container(replica_type)
    if trains:
        template, main = for_node(context, replica_type, template), NODE
    variables = _variables(context, replica_type)
    drop_overridden(context, template, variables, path)
    first, others = _endpoints(context, replica_type)
    container = main_of(template, main)
    if first != others and context.count(replica_type) > 1:
        _branch(context, container, f"{path}[{context.main_container(replica_type)}]", first, others)
        variables = [variable for variable in variables if variable["name"] != ENDPOINT]
    rest = [variable for variable in variables if variable["name"] != "PYTHONUNBUFFERED"]
    container["env"] = [*unbuffered(context, variables), *rest, *(container.get("env") or ())]
    give_sidecars(context, template, variables, path, main)
    template = with_native_sidecars(context, replica_type, template, main)
    return Group(
        name,
        with_restart_policy(context, replica_type, template),
        job_limits(context, replica_type, main=main),
        context.count(replica_type),
        trains=trains,
    )


def _variables(context: Context, replica_type: str) -> list[Json]:
    """What v1 sets in the first pod of a type, with v2's host names."""
    hosts = _hosts(context)
    variables: list[Mapping[str, Any]] = list(environment(context.job.job, Slot(replica_type, 0)))
    return [
        {**variable, **({"value": translated(str(variable["value"]), hosts)} if "value" in variable else {})}
        for variable in variables
    ]


def _endpoints(context: Context, replica_type: str) -> tuple[str, str]:
    """Where the pods meet, as the first pod of a type is told and as the others are."""
    values = []
    for index in (0, 1):
        told = {str(each["name"]): each for each in environment(context.job.job, Slot(replica_type, index))}
        values.append(translated(str(told[ENDPOINT]["value"]), _hosts(context)))
    return values[0], values[1]


def _hosts(context: Context) -> dict[str, str]:
    group = {WORKER: WORKER.lower() if context.count(MASTER) else NODE, MASTER: MASTER.lower()}
    return {
        context.v1_host(slot.replica_type, slot.index): context.host(group[slot.replica_type], slot.index)
        for slot in slots_of(context, MASTER, WORKER)
    }


def _branch(context: Context, container: Json, path: str, first: str, others: str) -> None:
    """Let a shell choose the address by the index of the pod."""
    if not container.get("command"):
        context.notes.refuse(
            "MIG214",
            "the first pod has to be told its own address by a shell that then starts the command, but the template"
            " has no command; give it the one of its image.",
            f"{path}.command",
        )
        return
    if references_expanded(container, [ENDPOINT]):
        context.notes.refuse("MIG214", f"$({ENDPOINT}) has no value before the shell runs.", f"{path}.command")
    own = first.replace(f"$({ADDRESS})", f"${ADDRESS}")
    lines = [
        f'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then {ENDPOINT}="{own}"; else {ENDPOINT}={others}; fi',
        f"export {ENDPOINT}",
    ]
    wrapped(container, lines, WRAPPER)
    text = "a shell around the command tells the first pod its own address, and the others its name."
    context.notes.add("MIG214", text, f"{path}.command", fixed=True)


def _spec(context: Context) -> PaddleJobSpec:
    spec = context.job.job.spec
    assert isinstance(spec, PaddleJobSpec)
    return spec
