"""Asking one attempt of a container how it is, for as long as it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from training_local.node.probes import Health, Kind, Probe, ProbeResult, Tally

Check = Callable[[Probe], Awaitable[ProbeResult]]
"""Asks once; never takes longer than the probe's time-out."""


class Prober:
    """Runs the probes of a container: the startup probe first, then the others side by side."""

    def __init__(
        self,
        asked: Mapping[Kind, Probe],
        health: Health,
        check: Check,
        *,
        changed: Callable[[Health], None],
        failed: Callable[[Kind, ProbeResult], None],
    ) -> None:
        """`changed` is called with each new health, `failed` with each failed answer."""
        self._asked, self._health, self._check = asked, health, check
        self._changed, self._failed = changed, failed

    async def run(self) -> Probe:
        """Ask until the container has failed its startup or liveness probe; return that probe."""
        begun = asyncio.get_running_loop().time()
        startup = self._asked.get(Kind.STARTUP)
        if startup and not await self._watch(startup, begun, until=True):
            return startup
        following = {
            asyncio.create_task(self._watch(self._asked[kind], begun)): self._asked[kind]
            for kind in (Kind.LIVENESS, Kind.READINESS)
            if kind in self._asked
        }
        try:
            if Kind.LIVENESS not in self._asked:
                await asyncio.Event().wait()
            done, _ = await asyncio.wait(following, return_when=asyncio.FIRST_COMPLETED)
            return following[done.pop()]
        finally:
            for task in following:
                task.cancel()

    async def _watch(self, probe: Probe, begun: float, *, until: bool | None = None) -> bool:
        """Ask until the result is `until`, or ends the container; return it."""
        loop, tally = asyncio.get_running_loop(), Tally()
        next_time = begun + probe.initial_delay
        while True:
            await asyncio.sleep(max(0.0, next_time - loop.time()))
            next_time = max(next_time, loop.time()) + probe.period
            outcome = await self._check(probe)
            if not outcome.ok:
                self._failed(probe.kind, outcome)
            tally = tally.after(outcome.ok, probe)
            if tally.result is None:
                continue
            if tally.result is False and probe.kind is not Kind.READINESS:
                return False
            self._note(self._health.after(probe.kind, tally.result, self._asked))
            if tally.result is until:
                return tally.result

    def _note(self, health: Health) -> None:
        if health != self._health:
            self._health = health
            self._changed(health)
