"""The policies of runtimes: machine learning first, then groups of pods."""

from __future__ import annotations

from typing import Final

from training_migration.v2.policies import plain, torch
from training_migration.v2.policies.policy import Policy

POLICIES: Final[tuple[Policy, ...]] = (plain.POLICY, torch.POLICY)
"""In the order in which they are applied here; Trainer's own order is random."""
