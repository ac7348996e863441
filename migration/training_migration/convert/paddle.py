"""PaddleJob: a plain runtime. The first pod has to know its own address: a shell sets it, or a template of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from training_api.models.paddle import PaddleJobSpec
from training_controllers.frameworks.paddle import MASTER, WORKER, environment
from training_controllers.model.plan import Slot
from training_controllers.model.pod_spec import container_named
from training_migration.convert.compat import UNBUFFERED, drop_overridden, give_sidecars, unbuffered, variables_of
from training_migration.convert.containers import checked_template, for_node, main_of, with_sidecars
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import job_limits, succeeds_with, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.convert.wrapper import references_expanded, wrapped
from training_migration.v2.names import NODE

ENDPOINT: Final = "PADDLE_MASTER"
ADDRESS: Final = "POD_IP_DUMMY"
WRAPPER: Final = "with-master"
OTHERS: Final = "others"
"""Name of the group of all but the first worker, where they have different variables."""


def plan(context: Context) -> Plan:
    """Workers alone are nodes; with masters (parameter servers) each type is a group, and the masters decide."""
    if (policy := context.spec(PaddleJobSpec).elastic_policy) is not None:
        text = f"between {policy.min_replicas} and {policy.max_replicas} workers had no effect in v1 either."
        context.notes.add("MIG203", text, "spec.elasticPolicy", fixed=True)
    if context.count(MASTER):
        return _with_servers(context)
    count = context.count(WORKER)
    if count > 1 and not _takes_a_shell(context, WORKER):
        return _in_two_groups(context, count)
    nodes = _group(context, WORKER, NODE, trains=True)
    return Plan(framework="plainml", groups=[nodes], policy={"numNodes": count}, trainer={"numNodes": count})


def _in_two_groups(context: Context, count: int) -> Plan:
    """The first worker apart from the others: the variables of each can stand in its template."""
    text = "the first worker is a group of its own, because only it gets its own address."
    context.notes.add("MIG214", text, context.path(WORKER, "template.spec.containers"), fixed=True)
    first = replace(_group(context, WORKER, NODE, trains=True, alone=True), count=1)
    others = replace(_group(context, WORKER, OTHERS, index=1, alone=True), count=count - 1)
    return Plan(framework="plainml", groups=[first, others], policy={"numNodes": 1})


def _with_servers(context: Context) -> Plan:
    masters = _group(context, MASTER, MASTER.lower(), trains=True)
    groups = [masters]
    if context.count(WORKER):
        groups.append(_group(context, WORKER, WORKER.lower()))
    decisive = succeeds_with(context, MASTER, {name: True for name in (MASTER, WORKER) if context.count(name)})
    return Plan(
        framework="plainml",
        groups=groups,
        policy={"numNodes": masters.count},
        succeeds_with=[name.lower() for name in decisive],
    )


def _group(
    context: Context, replica_type: str, name: str, *, trains: bool = False, index: int = 0, alone: bool = False
) -> Group:
    """The pods of a type, with the variables of the pod with this index; `alone`: no other pod has different ones."""
    path = context.path(replica_type, "template.spec.containers")
    template = checked_template(context, replica_type)
    main = context.main_container(replica_type)
    if trains:
        template, main = for_node(context, replica_type, template), NODE
    variables = _variables(context, replica_type, index)
    drop_overridden(context, template, variables, path)
    container = main_of(template, main)
    first, others = (_endpoint(context, replica_type, each) for each in (0, 1))
    if first != others and context.count(replica_type) > 1 and not alone:
        _branch(context, container, f"{path}[{context.main_container(replica_type)}]", first, others)
        variables = [variable for variable in variables if variable["name"] != ENDPOINT]
    rest = [variable for variable in variables if variable["name"] != UNBUFFERED]
    container["env"] = [*unbuffered(context, variables), *rest, *(container.get("env") or ())]
    give_sidecars(context, template, variables, path, main)
    template = with_sidecars(context, replica_type, template, main)
    return Group(
        name,
        with_restart_policy(context, replica_type, template),
        job_limits(context, replica_type, main=main),
        context.count(replica_type),
        trains=trains,
    )


def _variables(context: Context, replica_type: str, index: int) -> list[Json]:
    return variables_of(context, environment, Slot(replica_type, index), _hosts(context))


def _endpoint(context: Context, replica_type: str, index: int) -> str:
    """Where the pods meet, as this one finds it in its variables."""
    return next(str(each["value"]) for each in _variables(context, replica_type, index) if each["name"] == ENDPOINT)


def _hosts(context: Context) -> dict[str, str]:
    """Where the pods meet is the first master, else the first worker."""
    place = (MASTER, MASTER.lower()) if context.count(MASTER) else (WORKER, NODE)
    return {context.v1_host(place[0], 0): context.host(place[1], 0)}


def _takes_a_shell(context: Context, replica_type: str) -> bool:
    """Whether the command can be started by a shell that sets the address before."""
    main = container_named(context.replica(replica_type).template, context.main_container(replica_type)) or {}
    return bool(main.get("command")) and not references_expanded(main, [ENDPOINT])


def _branch(context: Context, container: Json, path: str, first: str, others: str) -> None:
    """Let a shell choose the address by the index of the pod."""
    if not container.get("command") or references_expanded(container, [ENDPOINT]):
        context.notes.reject(
            "MIG214",
            "the first pod has to get its own address from a shell that then starts the command, but the template"
            f" has no command, or one with $({ENDPOINT}); have one master, or write the command out.",
            f"{path}.command",
        )
        return
    own = first.replace(f"$({ADDRESS})", f"${ADDRESS}")
    lines = [
        f'if [ "$JOB_COMPLETION_INDEX" = 0 ]; then {ENDPOINT}="{own}"; else {ENDPOINT}={others}; fi',
        f"export {ENDPOINT}",
    ]
    wrapped(container, lines, WRAPPER)
    text = "a shell around the command gives the first pod its own address, and the others its name."
    context.notes.add("MIG214", text, f"{path}.command", fixed=True)
