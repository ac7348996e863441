"""The pods of one job pair by pair: everything that a pod of v1 and its partner are compared by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import groupby
from typing import Final

from training_migration.convert.launchers import Launcher
from training_migration.diff.fields import compared, skipped
from training_migration.diff.folding import result, standing_for, together
from training_migration.diff.hosts import host_items
from training_migration.diff.leaves import PodValues, leaves, without_equal
from training_migration.diff.meeting import Meeting, launcher, meetings
from training_migration.diff.model import Aspect, Item, Likeness, NotCompared, Pair
from training_migration.diff.pairing import Place, PlacePair, pair_places
from training_migration.diff.process import canonical_hosts, command_items, variable_items
from training_migration.diff.readers import HOSTFILE
from training_migration.diff.side import RenderedSide
from training_migration.diff.wiring import View, view
from training_migration.findings import Severity
from training_migration.v2.names import DATASET_INITIALIZER, MODEL_INITIALIZER

INITIALIZERS: Final = frozenset({DATASET_INITIALIZER, MODEL_INITIALIZER})
"""Roles of v2 that fetch things before the training; v1 has none."""
MANY: Final = 24
"""Of more pairs of the same roles the first, the second and the last are compared: the others differ by index alone."""
FEW: Final = 2
"""The same where only what differs is of interest: the second is compared only where the first is not as the last."""


@dataclass(frozen=True)
class Pods:
    """All pods of one job on both sides."""

    kind: str
    """Of v1."""
    name: str
    """Of the job of v1."""
    sides: tuple[RenderedSide, RenderedSide]
    brief: bool = False
    """Whether only what differs is of interest."""

    @cached_property
    def places(self) -> Sequence[PlacePair]:
        """Who does whose work."""
        return pair_places(self.kind, self.sides[0].pods, self.sides[1].pods)

    @cached_property
    def numbers(self) -> tuple[Mapping[Place, int], Mapping[Place, int]]:
        """What each pod that trains is called on both sides."""
        first = {one: number for number, (one, _) in enumerate(self.places) if one is not None}
        second = {
            other: number
            for number, (one, other) in enumerate(self.places)
            if other is not None and (one is not None or other.role not in INITIALIZERS)
        }
        return first, second

    @cached_property
    def launchers(self) -> tuple[Launcher, Launcher]:
        """What each side's first pod starts."""
        first, second = (launcher(views, list(known)) for views, known in zip(self._views, self.numbers, strict=True))
        return first, second

    @cached_property
    def meetings(self) -> Sequence[Meeting]:
        """The ways in which pods may find each other."""
        seen = [pair for group in self._groups for pair in self._sample(group)]
        first = [one for one, _ in seen if one is not None and one in self.numbers[0]]
        second = [other for _, other in seen if other is not None and other in self.numbers[1]]
        return meetings(self.kind, self._views, self.launchers, self.numbers, (first, second))

    @cached_property
    def _groups(self) -> Sequence[Sequence[PlacePair]]:
        """Neighbouring pairs of the same roles."""
        roles = groupby(self.places, key=lambda pair: tuple(place and place.role for place in pair))
        return [list(group) for _, group in roles]

    def _sample(self, group: Sequence[PlacePair]) -> Sequence[PlacePair]:
        """The pairs that stand for all of a group."""
        if len(group) <= (FEW if self.brief else MANY):
            return group
        return [group[0], group[-1]] if self.brief else [group[0], group[1], group[-1]]

    def pairs(self) -> Iterator[Pair]:
        """Each pod of v1 with its partner, then pods of v2 that have none; of many alike those that stand for them."""
        for group in self._groups:
            seen = [self._pair(*each) for each in self._sample(group)]
            if len(seen) == FEW < len(group) and result(seen[0]) != result(seen[-1]):
                seen.insert(1, self._pair(*group[1]))
            if len(seen) == len(group):
                yield from seen
            elif result(seen[-2]) == result(seen[-1]):
                alike = 0 if result(seen[0]) == result(seen[-1]) else 1
                yield from seen[:alike]
                first, second = ([place for place in side if place] for side in zip(*group[alike:], strict=True))
                yield standing_for(seen[alike:], first, second)
            else:
                yield from (self._pair(*each) for each in group)

    def _pair(self, first: Place | None, second: Place | None) -> Pair:
        if first is not None and second is not None:
            return Pair((first,), (second,), tuple(self._items(first, second)))
        return Pair((first,) if first else (), (second,) if second else (), (_unpaired(first, second),))

    def _items(self, first: Place, second: Place) -> Iterator[Item]:
        views = self._views[0](first), self._views[1](second)
        yield from command_items(self.kind, *views, self.launchers, brief=self.brief)
        for meeting in self.meetings:
            yield from meeting.items(first, second)
        readers = [meeting.reader[1] for meeting in self.meetings]
        explained = {name for meeting in self.meetings for name in meeting.names(first, second)}
        yield from variable_items(self.kind, *views, readers, explained, brief=self.brief)
        jobs = self.name, _job_name(self.sides[1]) or self.name
        files = [side.file(HOSTFILE) or "" for side in self.sides]
        yield from host_items(views, jobs, (files[0], files[1]))
        yield from self._names(first, second)
        one, other = (side.pods[view.place] for side, view in zip(self.sides, views, strict=True))
        taken = (
            (leaves(without_equal(one, other)), leaves(without_equal(other, one)))
            if self.brief
            else (self._leaves(0, first), self._leaves(1, second))
        )
        values = (replace(each, called=partial(canonical_hosts, view)) for each, view in zip(taken, views, strict=True))
        yield from together(compared(self.kind, *values, brief=self.brief))

    @cached_property
    def _leaves(self) -> Callable[[int, Place], PodValues]:
        return cache(lambda side, place: leaves(self.sides[side].pods[place]))

    @cached_property
    def _views(self) -> tuple[Callable[[Place], View], Callable[[Place], View]]:
        """How the program in a pod of either side sees the world."""
        first, second = (
            cache(partial(view, side, numbers=known)) for side, known in zip(self.sides, self.numbers, strict=True)
        )
        return first, second

    def _names(self, first: Place, second: Place) -> Iterator[Item]:
        names = self.sides[0].pods[first].hostname, self.sides[1].pods[second].hostname
        if names[0] == names[1]:
            yield Item(Aspect.NAMES, "name of the host", *names, Likeness.SAME)
        else:
            reason = "who takes a rank or a role from it reads another one"
            yield Item(Aspect.NAMES, "name of the host", *names, Likeness.DIFFERENT, reason, Severity.INFO)

    def not_compared(self) -> Iterator[NotCompared]:
        """Values of any pair that say nothing."""
        for first, second in (pair for group in self._groups for pair in self._sample(group)):
            if first is not None and second is not None:
                yield from skipped(self._leaves(0, first), self._leaves(1, second))


def _unpaired(first: Place | None, second: Place | None) -> Item:
    if second is None:
        reason = "no pod of v2 does its work"
        return Item(Aspect.PROCESS, "pod", str(first), "", Likeness.LOST, reason, Severity.ERROR)
    if second.role in INITIALIZERS:
        return Item(
            Aspect.PROCESS, "pod", "", str(second), Likeness.GAINED, "fetches what the training reads", Severity.INFO
        )
    return Item(
        Aspect.PROCESS, "pod", "", str(second), Likeness.GAINED, "v1 has no pod that does its work", Severity.ERROR
    )


def _job_name(side: RenderedSide) -> str:
    return next((str(each["metadata"]["name"]) for each in side.objects("JobSet")), "")
