"""What containers and the machine use of processors and memory, measured only on demand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from training_local.apiserver.metrics_api import Amounts, Measurement
from training_local.node.container import ContainerLife
from training_local.node.pod import PodWorker
from training_local.node.processes import PROC, ProcessTable
from training_local.node.status import Running

_FRESH_SECONDS = 1.0
"""A measurement this young answers the next question too, whoever asks."""


@dataclass(frozen=True, slots=True)
class Use:
    """What something has used so far."""

    cpu_seconds: float
    """Since its start."""
    memory_bytes: int
    """Now."""
    age: float
    """Seconds since its start."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything at one moment: the machine, and each attempt of a container by pod uid and name."""

    machine: Use
    containers: Mapping[str, Mapping[str, tuple[Hashable, Use]]]
    """Pod uid -> container -> (what distinguishes the attempt, its use)."""


class Meter:
    """Turns totals into rates: since the reading before, or, at the first, since the start."""

    def __init__(self, read: Callable[[], Reading], clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read, clock
        self._before: dict[Hashable, tuple[float, float]] = {}
        self._last: tuple[float, Measurement] | None = None

    def measure(self) -> Measurement:
        """Use of the machine and of every container that runs."""
        now = self._clock()
        if self._last and now - self._last[0] < _FRESH_SECONDS:
            return self._last[1]
        reading, seen = self._read(), dict[Hashable, tuple[float, float]]()
        node = self._rate("", reading.machine, now, seen)
        pods = {
            uid: {name: self._rate((uid, name, attempt), use, now, seen) for name, (attempt, use) in containers.items()}
            for uid, containers in reading.containers.items()
        }
        measured = Measurement(datetime.now(UTC), node, pods)
        self._before, self._last = seen, (now, measured)
        return measured

    def _rate(self, key: Hashable, use: Use, now: float, seen: dict[Hashable, tuple[float, float]]) -> Amounts:
        then, used = self._before.get(key, (now - use.age, 0.0))
        seen[key] = (now, use.cpu_seconds)
        window = max(now - then, 0.001)
        return Amounts(max(0.0, use.cpu_seconds - used) / window, use.memory_bytes, window)


def read(workers: Iterable[PodWorker], mode: str) -> Reading:
    """Measure the machine and every container that runs, with one look at the process table."""
    families = _Families(mode)
    containers = {
        worker.pod.metadata.uid: {
            name: (life.view.restarts, families.use(life)) for name, life in worker.running.items()
        }
        for worker in workers
    }
    return Reading(of_machine(), containers)


class _Families:
    """Finds the processes of containers in one process table."""

    def __init__(self, mode: str) -> None:
        self._mode, self._table = mode, ProcessTable()
        self._known: dict[int, Mapping[int, list[int]]] = {}

    def use(self, life: ContainerLife) -> Use:
        """The use of a container that runs."""
        attempt, state = life.attempt, life.view.state
        assert attempt is not None
        age = (datetime.now(UTC) - state.started_at).total_seconds() if isinstance(state, Running) else 0.0
        if (group := attempt.confinement.group) and (used := group.use()):
            return Use(*used, age)
        supervisor, inner = attempt.process.place
        if supervisor not in self._known:
            self._known[supervisor] = self._table.of_supervisor(supervisor, self._mode)
        pids = self._known[supervisor].get(inner, [])
        return Use(self._table.cpu_seconds(pids), self._table.memory_bytes(pids), age)


def of_machine(proc: Path = PROC) -> Use:
    """The use of the whole machine since its start."""
    busy, uptime, memory = 0.0, 0.0, {"MemTotal": 0, "MemAvailable": 0}
    with suppress(OSError):
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = (
            int(ticks) for ticks in (proc / "stat").read_text().splitlines()[0].split()[1:]
        )
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        uptime = float((proc / "uptime").read_text().split()[0])
        for line in (proc / "meminfo").read_text().splitlines():
            name, _, amount = line.partition(":")
            if name in memory:
                memory[name] = int(amount.split()[0]) * 1024
    return Use(busy, memory["MemTotal"] - memory["MemAvailable"], uptime)
