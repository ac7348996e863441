"""JAX: the variables that `jax.distributed.initialize` reads."""

from __future__ import annotations

from training_migration.v2.draft import Draft, put_ports, put_variables
from training_migration.v2.names import PORT, host_of_rank_0
from training_migration.v2.policies.policy import Policy
from training_migration.v2.variables import index_of_pod, literal


def _applies(draft: Draft) -> bool:
    return draft.policy("jax") is not None


def _enforce(draft: Draft) -> None:
    """Nothing is reserved: a variable of the trainer block replaces one of these later."""
    nodes = draft.count_nodes()
    if (container := draft.training_container()) is None:
        return
    variables = [
        literal("JAX_NUM_PROCESSES", nodes),
        index_of_pod("JAX_PROCESS_ID"),
        literal("JAX_COORDINATOR_ADDRESS", f"{host_of_rank_0(draft.name)}:{PORT}"),
    ]
    put_variables(container, variables)
    put_ports(container, [{"containerPort": PORT}], draft.features)


POLICY = Policy(_applies, enforce=_enforce)
