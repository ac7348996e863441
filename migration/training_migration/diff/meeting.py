"""Who trains with whom: the wiring of both sides compared, role by role."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from training_migration.convert.launchers import Launcher, launcher_of
from training_migration.diff.model import Aspect, Item, Likeness
from training_migration.diff.pairing import Place
from training_migration.diff.readers import MPI, readers
from training_migration.diff.wiring import Fact, Reader, Role, View, Wiring
from training_migration.findings import Severity

_WEAKER: Final = frozenset({Role.RANK, Role.SIZE, Role.LOCAL})
"""Roles in which a launcher that perhaps is not started may differ without harm."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """One way to read the variables of both sides."""

    reader: tuple[Reader, Reader]
    certain: bool
    """Whether it is known that this is how they are read."""
    wirings: tuple[Mapping[Place, Wiring], Mapping[Place, Wiring]]
    """Of the pods that stand for all."""
    read: tuple[Callable[[Place], Wiring | None], Callable[[Place], Wiring | None]]
    """That of any pod; None for one that does not train."""
    counts: tuple[int, int]
    """How many pods there are."""
    self_addressed: bool
    """Whether v1 gives each of several pods its own address as that of the others: none ever meets another one."""

    @property
    def every_node_alone(self) -> bool:
        """Whether v1's pods find each other and v2's do not."""
        first, second = ([wiring.alone for wiring in side.values()] for side in self.wirings)
        return len(second) > 1 and all(second) and not all(first)

    @property
    def compat(self) -> bool:
        """Whether v2's pods find each other by variables that v2 does not set by itself."""
        return not self.reader[1].native and any(
            fact.names for w in self.wirings[1].values() for fact in w.facts.values()
        )

    def described(self, side: int) -> str:
        """Who trains with whom on v1 (0) or v2 (1)."""
        wirings, count = list(self.wirings[side].values()), self.counts[side]
        pods = f"{count} pod{'s' * (count > 1)}"
        if all(wiring.alone for wiring in wirings):
            return f"{pods}, each alone" if count > 1 else f"{pods} without configuration"
        meetings = {fact.meaning for wiring in wirings if (fact := wiring.facts.get(Role.HOST))}
        sizes = sorted({fact.shown for wiring in wirings if (fact := wiring.facts.get(Role.SIZE))})
        several = count if len(meetings) == len(wirings) else len(meetings)
        groups = f"{several} groups" if len(meetings) > 1 else "one group"
        return f"{pods} in {groups}" + (f", world size {' and '.join(sizes)}" if sizes else "")

    def meets(self, side: int) -> dict[Place, frozenset[int]]:
        """Which pods each pod of v1 (0) or v2 (1) knows."""
        return {place: _known_to(wiring) for place, wiring in self.wirings[side].items()}

    def items(self, first: Place, second: Place) -> Iterator[Item]:
        """What a pair of pods learns, role by role."""
        wirings = self.read[0](first), self.read[1](second)
        if wirings[0] is None or wirings[1] is None:
            return
        for role in Role:
            facts = wirings[0].facts.get(role), wirings[1].facts.get(role)
            if any(facts):
                yield self._item(role, *facts)

    def names(self, first: Place, second: Place) -> Iterator[str]:
        """Variables that the items of a pair are about."""
        for wiring in (self.read[0](first), self.read[1](second)):
            if wiring is not None:
                yield from wiring.names

    def _item(self, role: Role, v1: Fact | None, v2: Fact | None) -> Item:
        names = dict.fromkeys(name for fact in (v1, v2) if fact for name in fact.names)
        path = (
            role
            + (f" ({', '.join(names)})" if names else "")
            + ("" if self.certain else f", read by {self.reader[1].name}")
        )
        verdict, reason = self._compared(role, v1, v2)
        texts = (v1.shown if v1 else "", v2.shown if v2 else "")
        return Item(Aspect.ENVIRONMENT, path, *texts, verdict, reason, self._severity(role, verdict))

    def _compared(self, role: Role, v1: Fact | None, v2: Fact | None) -> tuple[Likeness, str]:
        who = self.reader[1].name
        if v2 is None:
            lost = "the number of nodes cannot change while the job runs"
            return Likeness.LOST, lost if role is Role.ELASTIC else f"{who} finds no {role} on v2"
        if v1 is None:
            return Likeness.GAINED, f"{who} finds no {role} on v1"
        if v1.meaning != v2.meaning:
            if self.self_addressed and role in _LED:
                return Likeness.DIFFERENT, "each pod of v1 looks for the others at itself, and meets none"
            other = f"{who} starts another number of processes in each pod"
            return Likeness.DIFFERENT, other if role is Role.LOCAL else f"{who} learns another {role}"
        if v1.shown == v2.shown:
            return Likeness.SAME, ""
        return Likeness.EQUIVALENT, "leads to the same pods" if role in _HOSTS else "means the same"

    def _severity(self, role: Role, verdict: Likeness) -> Severity | None:
        if verdict in (Likeness.SAME, Likeness.EQUIVALENT):
            return None
        if role is Role.RANK and self.reader[1] is MPI:
            return Severity.WARNING  # the same processes, each in another pod
        if self.self_addressed and role in _LED:
            return Severity.WARNING
        if role is Role.ELASTIC or (role is Role.PEERS and not self.reader[1].native):
            return Severity.WARNING
        if not self.certain and self.reader[1].native and role in _WEAKER:
            return Severity.WARNING
        return Severity.ERROR


def _known_to(wiring: Wiring) -> frozenset[int]:
    if wiring.alone:
        return frozenset()
    meanings = [fact.meaning for role in _HOSTS if (fact := wiring.facts.get(role))]
    return frozenset(_numbers(meanings))


def _numbers(meaning: Hashable | Sequence[Hashable]) -> Iterator[int]:
    """All pods that a meaning speaks of."""
    if isinstance(meaning, int):
        yield meaning
    elif isinstance(meaning, tuple | list):
        for each in meaning:
            yield from _numbers(each)


def _self_addressed(wirings: Mapping[Place, Wiring], numbers: Mapping[Place, int]) -> bool:
    pods = [(numbers[place], wiring.facts) for place, wiring in wirings.items()]
    return len(pods) > 1 and all(
        Role.HOST in facts and facts[Role.HOST].meaning == own and Role.SIZE in facts and facts[Role.SIZE].shown != "1"
        for own, facts in pods
    )


_LED: Final = frozenset({Role.HOST, Role.RANK})
_HOSTS: Final = frozenset({Role.HOST, Role.PEERS, Role.CLUSTER})
"""Roles whose meaning is pods."""


def launcher(views: Callable[[Place], View], places: Sequence[Place]) -> Launcher:
    """What the first of these pods starts."""
    if not places:
        return Launcher.ABSENT
    seen = views(places[0])
    start, given = seen.start, seen.side.container(places[0]).get("command")
    return launcher_of(list(start.words), ()) if given else launcher_of((), list(start.words))


def meetings(
    kind: str,
    views: tuple[Callable[[Place], View], Callable[[Place], View]],
    launchers: tuple[Launcher, Launcher],
    numbers: tuple[Mapping[Place, int], Mapping[Place, int]],
    sample: tuple[Sequence[Place], Sequence[Place]],
) -> list[Meeting]:
    """Each way in which the variables may be read.

    `numbers` name the pods that train, equal for those of a pair; those of `sample` stand for all of them.
    """
    first, second = (readers(kind, each) for each in launchers)
    pairs = list(zip(first, second, strict=True)) if first == second else [(a, b) for a in first for b in second]
    return [_meeting(pair, len(pairs) == 1, views, numbers, sample) for pair in pairs]


def _meeting(
    pair: tuple[Reader, Reader],
    certain: bool,
    views: tuple[Callable[[Place], View], Callable[[Place], View]],
    numbers: tuple[Mapping[Place, int], Mapping[Place, int]],
    sample: tuple[Sequence[Place], Sequence[Place]],
) -> Meeting:
    read = _reading(pair[0], views[0], numbers[0]), _reading(pair[1], views[1], numbers[1])
    first, second = (
        {place: wiring for place in places if (wiring := one(place)) is not None}
        for one, places in zip(read, sample, strict=True)
    )
    counts = len(numbers[0]), len(numbers[1])
    return Meeting(pair, certain, (first, second), read, counts, _self_addressed(first, numbers[0]))


def _reading(
    reader: Reader, views: Callable[[Place], View], numbers: Mapping[Place, int]
) -> Callable[[Place], Wiring | None]:
    return cache(lambda place: reader.read(views(place)) if place in numbers else None)
