"""How long a job keeps its worker: as long as it likes, but not much longer than a second where others wait for one."""

from __future__ import annotations

from typing import Final

from training_controllers.ports import Ports

TURN_SECONDS: Final = 1.0


class Turn:
    """The turn of one job; what is left of its plan when it is over is decided on anew in the next one."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._end = ports.monotonic() + TURN_SECONDS
        self._over = False

    def is_over(self) -> bool:
        """Whether nothing more is to be begun; once over it stays so."""
        self._over = self._over or (self._ports.monotonic() >= self._end and self._ports.others_wait())
        return self._over
