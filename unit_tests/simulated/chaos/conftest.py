"""Chaos tests do not log; and the state that each cluster reaches without faults."""

from __future__ import annotations

import logging

import pytest
import structlog
from unit_tests.simulated.chaos.play import Played


@pytest.fixture(autouse=True)
def quiet(own_logging: None) -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.fixture
def truth(request: pytest.FixtureRequest, seed: int) -> Played:
    """What comes of the scenario of a seed if nothing goes wrong; as many seeds as the module says share it."""
    played: Played = request.module.truth_of(seed // request.module.DISTURBANCES)
    return played
