"""The matrix of tenants' verbs and objects, played by hypothesis: so many steps by seed, minimised where one fails."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from e2e.adversary.play import Told, World
from e2e.adversary.steps import Step, scripts
from e2e.harness.client import connect
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis import seed as seeded

LENGTH = 100
"""Steps of a script, after which everything is looked at."""
MINIMISED = 240.0
"""Seconds in which steps are left out of a script that fails."""


def play_all(cluster: Cluster, operator: Operator, steps: int, seed: int) -> Told:
    """Play so many steps; raises with the shortest script that was found if something no longer holds."""
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        world = World(runner.run(stack.enter_async_context(connect(cluster.kubeconfig))), operator)
        runner.run(world.set_up())

        @seeded(seed)
        @settings(
            max_examples=steps // LENGTH,
            deadline=None,
            database=None,
            derandomize=False,
            phases=[Phase.generate],
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @given(scripts(LENGTH))
        def play(script: Sequence[Step]) -> None:
            if text := failure(script):
                operator.child.check_alive()
                steps_left = shortest(script, lambda each: not failure(each))
                raise AssertionError("\n".join([text, f"after {len(steps_left)} steps:", *map(str, steps_left)]))

        def failure(script: Sequence[Step]) -> str:
            try:
                runner.run(world.play(script))
            except AssertionError as error:
                return str(error)
            return ""

        try:
            play()
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
