"""No framework: variables of the trainer block and the number of nodes."""

from __future__ import annotations

from training_migration.v2.draft import Draft, put_variables
from training_migration.v2.policies.policy import Policy
from training_migration.v2.variables import trainer_variables


def _applies(draft: Draft) -> bool:
    """Also next to xgboost and flux."""
    return all(draft.policy(name) is None for name in ("torch", "mpi", "jax"))


def _enforce(draft: Draft) -> None:
    draft.count_nodes()
    if (container := draft.training_container()) is not None:
        put_variables(container, trainer_variables(draft))


POLICY = Policy(_applies, enforce=_enforce)
