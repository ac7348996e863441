"""A server with a journal that is killed; `python -m e2e.endurance.durability` kills one more often."""

from __future__ import annotations

from pathlib import Path

from e2e.endurance.durability import run


async def test_five_kills_lose_nothing(tmp_path: Path) -> None:
    figures = await run(tmp_path, kills=5, seed=1)
    assert figures.acknowledged > 0
