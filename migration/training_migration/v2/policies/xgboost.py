"""XGBoost: the variables of its tracker, which the user's code starts on rank 0."""

from __future__ import annotations

from training_migration.v2.draft import Draft, put_ports, put_variables
from training_migration.v2.names import PORT, RESERVED, host_of_rank_0
from training_migration.v2.policies.policy import Policy
from training_migration.v2.resources import accelerators, resources_per_node
from training_migration.v2.variables import index_of_pod, literal


def _applies(draft: Draft) -> bool:
    return draft.policy("xgboost") is not None


def _check(draft: Draft) -> None:
    draft.reject_variables(RESERVED["xgboost"])


def _enforce(draft: Draft) -> None:
    """Workers are counted by GPU, their numbers by pod."""
    nodes = draft.count_nodes()
    if (container := draft.training_container()) is None:
        return
    workers = nodes * max(1, accelerators(resources_per_node(draft)))
    variables = [
        literal("DMLC_TRACKER_URI", host_of_rank_0(draft.name)),
        literal("DMLC_TRACKER_PORT", PORT),
        index_of_pod("DMLC_TASK_ID"),
        literal("DMLC_NUM_WORKER", workers),
    ]
    put_variables(container, variables)
    put_ports(container, [{"containerPort": PORT}], draft.features)


POLICY = Policy(_applies, _check, _enforce)
