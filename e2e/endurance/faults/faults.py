"""The faults: each one a play on a stage of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from e2e.endurance.faults.control_plane import api_server_killed, etcd_paused, history_compacted, network_cut
from e2e.endurance.faults.crashes import crash_after_write
from e2e.endurance.faults.objects import (
    conflict_storm,
    definition_deleted,
    namespace_deleted,
    pods_deleted,
    quota_exhausted,
)
from e2e.endurance.faults.operators import clock_jumps, leader_lost, operator_killed
from e2e.endurance.faults.stage import Stage


@dataclass(frozen=True)
class Fault:
    """A play, and how large it is: by hand or every week, and in the tests of every change."""

    play: Callable[[Stage], Awaitable[None]]
    jobs: int
    rounds: int
    short: tuple[int, int] | None = None
    """Jobs and rounds where it must be quick; None for one that cannot be."""

    @property
    def title(self) -> str:
        """What happens."""
        return (self.play.__doc__ or "").strip()


FAULTS = {
    "api-server-killed": Fault(api_server_killed, jobs=60, rounds=6, short=(12, 1)),
    "etcd-paused": Fault(etcd_paused, jobs=40, rounds=2),
    "network-cut": Fault(network_cut, jobs=60, rounds=8),
    "operator-killed": Fault(operator_killed, jobs=100, rounds=50, short=(8, 4)),
    "leader-lost": Fault(leader_lost, jobs=60, rounds=6),
    "clock-jumps": Fault(clock_jumps, jobs=40, rounds=10),
    "history-compacted": Fault(history_compacted, jobs=40, rounds=4),
    "conflict-storm": Fault(conflict_storm, jobs=30, rounds=1),
    "pods-deleted": Fault(pods_deleted, jobs=60, rounds=20, short=(12, 5)),
    "namespace-deleted": Fault(namespace_deleted, jobs=30, rounds=3),
    "quota-exhausted": Fault(quota_exhausted, jobs=30, rounds=1),
    "definition-deleted": Fault(definition_deleted, jobs=30, rounds=2),
    "crash-after-write": Fault(crash_after_write, jobs=6, rounds=12),
}
"""All plays by name."""
