"""The seeds of the worlds that are played."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest


def seeds(variable: str, usual: int) -> Sequence[object]:
    """As many as an environment variable says; the first is FRESH_SEED, in every usual run 0."""
    first, count = int(os.environ.get("FRESH_SEED", "0")), int(os.environ.get(variable, usual))
    return [pytest.param(seed, id=f"seed-{seed}-") for seed in range(first, first + count)]
