"""Long computations next to the event loop: in one thread, so that the loop competes with one for the interpreter."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

TURN_SECONDS: Final = 0.001
"""After so long the thread lets the event loop continue; an answer to a probe takes several turns."""


class Beside:
    """Computes one thing after the other, while the event loop continues."""

    def __init__(self) -> None:
        sys.setswitchinterval(TURN_SECONDS)
        self._thread = ThreadPoolExecutor(1, "computing")

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
