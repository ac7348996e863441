"""Arbitrary jobs, made from the CRDs' schemas, from the API server's verdict to their conversion."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from e2e.support.any_job.stages import Seen, Stages, growth
from e2e.support.profiles import tries

from training_api.registry import KINDS

SEED = os.environ.get("FRESH_SEED", "1")
JOBS = tries(80)
"""Of each kind; `python -m e2e.endurance.any_job` plays 20,000."""
COUNTED = JOBS // 4
"""Of these the calls are counted, which takes longer than the calls."""
LEAST = 3
"""Jobs that must pass each stage, and that it must reject: else nothing would be tried."""
MOST_CALLS = 60_000
"""Calls of functions that one stage may make for one job: what time would be on a machine with nothing else to do."""


@pytest.fixture
def calls() -> Iterator[Calls]:
    yield Calls()
    sys.setprofile(None)  # else it would count, and slow down, whatever this process does afterwards


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_raises_what_has_no_name_and_everything_is_reached(kind: str, calls: Calls) -> None:
    counted, others = Seen(clock=calls), Seen()
    for seen, numbers in ((others, range(COUNTED, JOBS)), (counted, range(COUNTED))):
        stages = Stages(kind, seen)
        for number in numbers:
            stages.play(f"{SEED}/{number}")
        assert seen.failures == []
    assert {stage: calls for stage, calls in counted.slowest.items() if calls[0] > MOST_CALLS} == {}
    for stage in ("crd", "decide", "migrate"):
        for verdict in ("passed", "rejected"):
            assert sum(seen.verdicts[f"{stage} {verdict}"] for seen in (counted, others)) >= LEAST


class Calls:
    """Counts the calls of functions, as a clock that no other program can hold up."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self) -> float:
        """The number of calls so far; counts from the first time on."""
        sys.setprofile(self._count)
        return self._calls

    def _count(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._calls += 1


def test_what_raises_is_found_with_its_place() -> None:
    seen = Seen()
    seen.run("decide", "JAXJob 1", lambda: bool(KINDS["NoJob"]))
    assert seen.failures == ["decide JAXJob 1: KeyError: 'NoJob' in ?"]


def test_memory_does_not_grow() -> None:
    assert growth("PyTorchJob", SEED, 40) < 100_000
