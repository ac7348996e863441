"""The policies of runtimes: machine learning first, then groups of pods."""

from __future__ import annotations

from typing import Final

from training_migration.v2.policies import coscheduling, jax, mpi, plain, torch, volcano, xgboost
from training_migration.v2.policies.policy import Policy

POLICIES: Final[tuple[Policy, ...]] = tuple(
    module.POLICY for module in (plain, torch, mpi, jax, xgboost, coscheduling, volcano)
)
"""In the order in which they are applied here; Trainer's own order is random."""
