"""How long a job keeps its worker: as long as it likes, but not much longer than a second where others wait for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

TURN_SECONDS: Final = 1.0


class Turn:
    """The turn of one job; what is left of its plan when it is over is decided on again in the next one."""

    def __init__(self, clock: Callable[[], float], others_wait: Callable[[], bool]) -> None:
        self._clock, self._others_wait = clock, others_wait
        self._end = clock() + TURN_SECONDS
        self._over = False

    def is_over(self) -> bool:
        """Whether nothing more is to be begun; once over it stays so."""
        self._over = self._over or (self._clock() >= self._end and self._others_wait())
        return self._over
