"""`python -m e2e.endurance.fuzz --requests 10000 --seed 1`: the big run, in memory and over HTTPS."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence

from e2e.endurance.fuzz.play import Codes, https_target, play_in_memory
from e2e.endurance.fuzz.requests import requests
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from training_operator.kube.transport import Request

BATCH = 5
"""Requests that a fresh server in memory gets."""
Play = Callable[[Sequence[Request]], Awaitable[Codes]]


def batches(number: int, seed_number: int) -> list[list[Request]]:
    """Arbitrary requests, the same ones for the same seed."""
    found: list[list[Request]] = []

    @seed(seed_number)
    @settings(
        max_examples=number // BATCH,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(requests(), min_size=BATCH, max_size=BATCH))
    def collect(sent: list[Request]) -> None:
        found.append(sent)

    collect()
    return found


async def run(name: str, play: Play, sent: Sequence[Sequence[Request]]) -> bool:
    """Play all batches and print a line about them; False if an answer or the storage was not sound."""
    codes, faults, began = Codes(), 0, time.monotonic()
    for batch in sent:
        try:
            codes.update(await play(batch))
        except AssertionError:
            faults += 1
            traceback.print_exc()
    told = ", ".join(f"{code}: {number}" for code, number in sorted(codes.items()))
    print(f"{name}: {codes.total()} requests in {time.monotonic() - began:.0f} s, {faults} faults; {told}", flush=True)
    return not faults


async def run_all(sent: Sequence[Sequence[Request]], only: str | None) -> bool:
    """Play in memory, then over HTTPS."""
    sound = only == "https" or await run("memory", play_in_memory, sent)
    if only != "memory":
        async with https_target() as target:
            sound &= await run("https", target.play, sent)
    return sound


def main() -> int:
    """Run both; the exit status is 1 if an answer was not sound."""
    parser = argparse.ArgumentParser(prog="python -m e2e.endurance.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000, help="of each run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("memory", "https"))
    arguments = parser.parse_args()
    sent = batches(arguments.requests, arguments.seed)
    return int(not asyncio.run(run_all(sent, arguments.only)))


if __name__ == "__main__":
    sys.exit(main())
