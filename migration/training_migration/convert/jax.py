"""JAXJob: the policy `jax`, or a plain runtime where the target has none; v1's variables for the program."""

from __future__ import annotations

from typing import Final

from training_controllers.frameworks.jax import WORKER, environment
from training_migration.convert.compat import (
    drop_overridden,
    give_sidecars,
    slots_of,
    unbuffered,
    v1_variables,
)
from training_migration.convert.containers import checked_template, for_node, with_native_sidecars
from training_migration.convert.context import NODE, Context
from training_migration.convert.conversion import CompatEnv
from training_migration.convert.lifecycle import job_limits, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.convert.policies import ml_policy

PORTS: Final = ("COORDINATOR_PORT",)


def plan(context: Context) -> Plan:
    """All workers are nodes; the job succeeds when all of them have."""
    count = context.count(WORKER)
    path = context.path(WORKER, "template.spec.containers")
    hosts = {slot: context.host(NODE, index) for index, slot in enumerate(slots_of(context, WORKER))}
    variables = v1_variables(context, environment, hosts, ports=PORTS)
    template = for_node(context, WORKER, checked_template(context, WORKER))
    drop_overridden(context, template, variables, path)
    give_sidecars(context, template, variables, path)
    template = with_native_sidecars(context, WORKER, template, NODE)
    template = with_restart_policy(template, context.replica(WORKER).restart_policy)
    env = unbuffered(context, variables)
    if context.options.compat_env is not CompatEnv.NEVER:
        env += [variable for variable in variables if variable not in env]
    else:
        context.notes.add(
            "MIG117", "the program must read JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID now.", path
        )
    return Plan(
        framework="jax" if "jax" in context.features.policies else "plainml",
        groups=[Group(NODE, template, job_limits(context, WORKER), count, trains=True)],
        policy=ml_policy(context, "jax", count),
        trainer={"numNodes": count, **({"env": env} if env else {})},
        stock="jax-distributed",
    )
