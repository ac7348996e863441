"""A pytest plugin of all tests: what is tried with every change, and what only weekly.

Weekly is where FRESH_SEED is set, as `make weekly` does: hypothesis has more and fresh examples instead of the same
ones in every run, and what is marked `weekly` is not left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, TypeVar

# Imported here also because hypothesis' plugin imports it at the very end if nobody has before, and there Python 3.11
# sometimes cannot parse it any more ("AST constructor recursion depth mismatch").
import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

T = TypeVar("T")
REPEATABLE: Final = "repeatable"
WEEKLY: Final = "FRESH_SEED" in os.environ
MORE: Final = 10
"""So many times more examples are tried weekly."""


def tries(usual: int) -> int:
    """How many examples are tried of what needs another number than most, as `max_examples`."""
    return usual * MORE if WEEKLY else usual


def often(values: Iterable[T], *now: T) -> list[ParameterSet]:
    """The values as parameters: of these `now` with every change, the others weekly.

    For what is alike for all of them beneath, and takes seconds each.
    """
    return [pytest.param(each, marks=() if each in now else pytest.mark.weekly, id=str(each)) for each in values]


KINDS_NOW: Final = ("PyTorchJob", "MPIJob")
"""The two kinds that differ most: MPIJobs have a launcher, a role and a host list."""

settings.register_profile(REPEATABLE, derandomize=True, deadline=None, max_examples=20)
settings.register_profile("fresh", derandomize=False, deadline=None, database=None, max_examples=20 * MORE)
settings.load_profile(REPEATABLE)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "weekly: too long for every change; `make weekly` runs it")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what only `make weekly` runs."""
    weekly = [] if WEEKLY else [item for item in items if item.get_closest_marker("weekly")]
    config.hook.pytest_deselected(items=weekly)
    items[:] = [item for item in items if item not in set(weekly)]
