"""JAXJob: the policy `jax`, or a plain runtime where the target has none; v1's variables for the program."""

from __future__ import annotations

from typing import Final

from training_controllers.frameworks.jax import WORKER, environment
from training_migration.convert.compat import unbuffered, v1_variables, wanted
from training_migration.convert.containers import checked_template
from training_migration.convert.context import Context
from training_migration.convert.nodes import hosts_of, node_group, node_template
from training_migration.convert.plan import Plan
from training_migration.convert.policies import ml_policy

PORTS: Final = ("COORDINATOR_PORT",)


def plan(context: Context) -> Plan:
    """All workers are nodes; the job succeeds when all of them have."""
    count = context.count(WORKER)
    variables = v1_variables(context, environment, hosts_of(context, [WORKER]), ports=PORTS)
    template = node_template(context, WORKER, checked_template(context, WORKER), variables, variables)
    env = [*unbuffered(context, variables), *wanted(context, variables, WORKER)]
    return Plan(
        framework="jax" if "jax" in context.features.policies else "plainml",
        groups=[node_group(context, WORKER, template, count)],
        policy=ml_policy(context, "jax", count),
        trainer={"numNodes": count, **({"env": env} if env else {})},
    )
