"""Which group the processes of a run formed, as far as a witness saw it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from training_migration.index_lists import ranges
from training_migration.runs.record import Process, RunRecord

Group = tuple[str, int]
"""What its ranks are counted in (mostly empty), and its world size."""


@dataclass(frozen=True, slots=True)
class Formation:
    """Who trained with whom."""

    ranks: tuple[tuple[Group, tuple[int, ...]], ...]
    """By group the ranks that were seen, sorted; a rank that two processes had is in it twice."""
    silent: int
    """Processes that ended without any initialisation of distributed training."""
    pods: int
    """In which processes were seen."""
    alone: bool
    """Whether each of several pods trained alone."""

    @property
    def uninitialised(self) -> bool:
        """Whether no process initialised distributed training."""
        return not self.ranks

    @property
    def doubled(self) -> bool:
        """Whether two processes had one rank of one group."""
        return any(len(set(ranks)) < len(ranks) for _, ranks in self.ranks)

    @property
    def missing(self) -> int:
        """How many ranks that must have been there were not seen."""
        return sum(max(size - len(set(ranks)), 0) for (_, size), ranks in self.ranks)

    def __str__(self) -> str:
        """For users: `ranks 0 to 3 of 4`."""
        if self.alone:
            return f"{self.pods} pods, each alone"
        texts = [f"{name + ' ' if name else ''}{_ranks(ranks)} of {size}" for (name, size), ranks in self.ranks]
        if self.silent:
            texts.append(f"{self.silent} {'process' if self.silent == 1 else 'processes'} without initialisation")
        return ", ".join(texts) or "no process seen"


def _ranks(ranks: Sequence[int]) -> str:
    counts = Counter(ranks)
    doubled = [rank for rank, count in counts.items() if count > 1]
    text = f"{'rank' if len(counts) == 1 else 'ranks'} {ranges(counts)}"
    return f"{text} ({ranges(doubled)} more than once)" if doubled else text


def formation(record: RunRecord) -> Formation | None:
    """Of a run; None where there was no witness."""
    if record.processes is None:
        return None
    last = {(each.role, each.index, each.local_rank, each.group): each for each in record.processes}
    groups: dict[Group, list[int]] = {}
    for process in last.values():
        if process.rank is not None:
            groups.setdefault((process.group, process.world_size or 0), []).append(process.rank)
    places = {(each.role, each.index) for each in last.values()}
    return Formation(
        ranks=tuple((group, tuple(sorted(ranks))) for group, ranks in sorted(groups.items())),
        silent=sum(process.rank is None for process in last.values()),
        pods=len(places),
        alone=len(places) > 1 and all(_keeps_to_itself(place, list(last.values())) for place in places),
    )


def _keeps_to_itself(place: tuple[str, int], processes: Sequence[Process]) -> bool:
    """Whether the groups of a pod's processes have room for no process outside of the pod."""
    own = [each for each in processes if (each.role, each.index) == place]
    return all(each.rank is None or (each.world_size or 1) <= len(own) for each in own)
