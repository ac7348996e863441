"""Which pod of v2 does the work of which pod of v1; one rule for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

NODE: Final = "node"
"""The replicated job in which v2's policies count ranks."""
OTHERS: Final = "others"
"""All workers of a PaddleJob but the first, where a conversion has to separate them."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One pod of a job: its role (v1: replica type in small letters, v2: replicated job) and its index there."""

    role: str
    index: int

    def __str__(self) -> str:
        """`worker 3`."""
        return f"{self.role} {self.index}"


PlacePair = tuple[Place | None, Place | None]
"""v1's and v2's place; None where the other one has no partner."""
Rule = Callable[[Sequence[Place], Sequence[Place]], Mapping[Place, Place]]
"""From the places of both sides, in the order of ranks, to v2's place of each of v1's that has one."""


def pair_places(kind: str, v1: Iterable[Place], v2: Iterable[Place]) -> list[PlacePair]:
    """Pair the places of a job of this v1 kind: v1's in the order of ranks, then v2's that have no partner."""
    order = _ORDER.get(kind, ())
    first = sorted(v1, key=lambda place: (_position(order, place.role), place))
    second = sorted(v2, key=lambda place: (_position(order, place.role), place))
    found = RULES.get(kind, _in_line)(first, second)
    partners = set(found.values())
    pairs: list[PlacePair] = [(place, found.get(place)) for place in first]
    return pairs + [(None, place) for place in second if place not in partners]


def _position(order: Sequence[str], role: str) -> int:
    return order.index(role) if role in order else len(order)


def _by_role(v1: Sequence[Place], v2: Sequence[Place]) -> Mapping[Place, Place]:
    """The same role and index."""
    there = set(v2)
    return {place: place for place in v1 if place in there}


def _in_line(v1: Sequence[Place], v2: Sequence[Place]) -> Mapping[Place, Place]:
    """The same role and index where a role was kept; what is left is counted through: `node` i is v1's rank i."""
    kept = _by_role(v1, v2)
    nodes = [place for place in v2 if place.role in (NODE, OTHERS) and place not in kept]
    return {**kept, **dict(zip((place for place in v1 if place not in kept), nodes, strict=False))}


def _renamed(names: Mapping[str, tuple[str, ...]]) -> Rule:
    """The same index of a role of v2 that a role of v1 may have become; the first one that is there counts."""

    def rule(v1: Sequence[Place], v2: Sequence[Place]) -> Mapping[Place, Place]:
        free, found = set(v2), {}
        for place in v1:
            others = (Place(name, place.index) for name in names.get(place.role, (place.role,)))
            if (partner := next((other for other in others if other in free), None)) is not None:
                found[place] = partner
                free.remove(partner)
        return found

    return rule


RULES: Final[Mapping[str, Rule]] = {  # kinds of other packages count through
    "PyTorchJob": _in_line,
    "XGBoostJob": _in_line,
    "JAXJob": _in_line,
    "PaddleJob": _in_line,
    "TFJob": _renamed({"chief": ("chief", "master"), "master": ("master", "chief")}),
    "MPIJob": _renamed({"launcher": ("launcher",), "worker": ("node", "worker")}),
}
_ORDER: Final[Mapping[str, tuple[str, ...]]] = {
    "PyTorchJob": ("master", "worker", NODE),
    "XGBoostJob": ("master", "worker", NODE),
    "JAXJob": ("worker", NODE),
    "PaddleJob": ("master", "worker", NODE, OTHERS),
    "TFJob": ("chief", "master", "worker", "ps", "evaluator"),
    "MPIJob": ("launcher", "worker", NODE),
}
"""Roles in the order in which they are shown, and for kinds that count through, of ranks."""
