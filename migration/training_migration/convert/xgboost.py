"""XGBoostJob (and LightGBM): the policy `xgboost`, or a plain runtime; v1's variables for the program."""

from __future__ import annotations

from typing import Final

from training_controllers.frameworks.xgboost import MASTER, WORKER, environment
from training_migration.convert.asymmetric import one_template
from training_migration.convert.compat import unbuffered, v1_variables, wanted
from training_migration.convert.containers import checked_template
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import Decides
from training_migration.convert.nodes import hosts_of, node_group, node_template, note_ranks
from training_migration.convert.plan import Plan
from training_migration.convert.policies import ml_policy
from training_migration.convert.split import split
from training_migration.v2.names import RESERVED

PORTS: Final = ("MASTER_PORT",)


def plan(context: Context) -> Plan:
    """Master and workers are the nodes, in this order; where their templates differ they stay two groups."""
    types = [name for name in (MASTER, WORKER) if context.count(name)]
    templates = {name: checked_template(context, name) for name in types}
    template: Json | None = templates[types[0]]
    if len(types) == 2:
        template = one_template(context, MASTER, WORKER, templates)
    if template is None:
        return split(context, MASTER, WORKER, environment)
    hosts = hosts_of(context, types)
    variables = v1_variables(context, environment, hosts, ports=PORTS)
    template = node_template(context, types[-1], template, variables, variables)
    note_ranks(context, MASTER, WORKER)
    env = [*unbuffered(context, variables), *wanted(context, variables, types[0])]
    decides = Decides.FIRST if len(hosts) > 1 and MASTER in types else Decides.ALL
    policy = _policy(context, template, len(hosts))
    return Plan(
        framework="xgboost" if "xgboost" in policy else "plainml",
        groups=[node_group(context, types[-1], template, len(hosts), decides)],
        policy=policy,
        trainer={"numNodes": len(hosts), **({"env": env} if env else {})},
    )


def _policy(context: Context, template: Json, nodes: int) -> Json:
    """The policy, but none for a program that has its own values for what the policy would set."""
    own = [
        str(variable.get("name"))
        for container in template["spec"]["containers"]
        for variable in container.get("env") or ()
        if variable.get("name") in RESERVED["xgboost"]
    ]
    if not own:
        return ml_policy(context, "xgboost", nodes)
    context.notes.add(
        "MIG104",
        f"the template sets {', '.join(own)} itself, so the runtime is a plain one, which does not set them.",
        context.path(WORKER if context.count(WORKER) else MASTER, "template.spec.containers"),
        fixed=True,
    )
    return {"numNodes": nodes}
