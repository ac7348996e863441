"""The seeds of the worlds that are played: the same in every run, or fresh ones in `make weekly`."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest
from e2e.support.profiles import WEEKLY


def seeds(usual: int, weekly: int) -> Sequence[object]:
    """So many seeds from 0; or from FRESH_SEED, by which such a run can be played again."""
    first = int(os.environ.get("FRESH_SEED", "0"))
    return [pytest.param(seed, id=f"seed-{seed}-") for seed in range(first, first + (weekly if WEEKLY else usual))]
