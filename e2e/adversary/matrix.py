"""The matrix of tenants' verbs and objects, played by hypothesis: so many steps by seed, minimised where one fails."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from e2e.adversary.play import Told, World
from e2e.adversary.steps import PATHS, VERBS, Step, requests, scripts
from e2e.harness.client import connect
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

LENGTH = 100
"""Steps of a script, after which everything is looked at."""
IN_TURN = 5
"""Of them, so many are the next cells of the matrix: by chance alone some would not be tried in 2,000 steps."""
MINIMISED = 240.0
"""Seconds in which steps are left out of a script that fails."""


def play_all(cluster: Cluster, operator: Operator, steps: int, seed: int) -> Told:
    """Play so many steps; raises with the shortest script that was found if something no longer holds."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        cells = itertools.cycle(itertools.product(VERBS, PATHS))
        world = World(runner.run(stack.enter_async_context(connect(cluster.kubeconfig))), operator)
        runner.run(world.set_up())

        def play(number: int, *requests_in_turn: st.SearchStrategy[Step]) -> None:
            """Play one script; hypothesis always begins with the smallest one, which is skipped."""
            drawn = itertools.count()

            @seeded(seed * 1_000_003 + number)
            @settings(
                max_examples=2,
                deadline=None,
                database=None,
                derandomize=False,
                phases=[Phase.generate],
                verbosity=Verbosity.quiet,
                suppress_health_check=list(HealthCheck),
            )
            @given(scripts(LENGTH - IN_TURN), st.tuples(*requests_in_turn))
            def check(script: Sequence[Step], last: Sequence[Step]) -> None:
                script = [*script, *last]
                if next(drawn) and (text := failure(script)):
                    operator.child.check_alive()
                    steps_left = shortest(script, lambda each: not failure(each))
                    raise AssertionError("\n".join([text, f"after {len(steps_left)} steps:", *map(str, steps_left)]))

            check()

        def failure(script: Sequence[Step]) -> str:
            try:
                runner.run(world.play(script))
            except AssertionError as error:
                return str(error)
            return ""

        try:
            for number in range(steps // LENGTH):
                play(number, *(requests(*cell) for cell in itertools.islice(cells, IN_TURN)))
        finally:
            runner.run(stack.aclose())
        return world.told


def shortest(script: Sequence[Step], holds: Callable[[Sequence[Step]], bool]) -> Sequence[Step]:
    """The script without all steps that its failure does not need, as far as time allows."""
    deadline, size = time.monotonic() + MINIMISED, len(script) // 2
    while size:
        start = 0
        while start < len(script) and time.monotonic() < deadline:
            shorter = [*script[:start], *script[start + size :]]
            if holds(shorter):
                start += size
            else:
                script = shorter
        size //= 2
    return script
