"""Many pods of one result shown once, and many variables of one sidecar, or labels of one pod."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from training_migration.diff.model import Item, Likeness, Pair
from training_migration.diff.pairing import Place

_ONE_OF_MANY: Final = re.compile(r"(.*\.env)\[([^]]*)\]|(metadata\.labels)\.(training\.kubeflow\.org/.*)")


def folded(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    """Neighbours of the same roles with the same results as one pair."""
    return tuple(_merged(list(group)) for _, group in groupby(pairs, key=result))


def standing_for(pairs: Sequence[Pair], v1: Iterable[Place], v2: Iterable[Place]) -> Pair:
    """One pair of all these places, of which some with the same results have been compared."""
    return replace(_merged(pairs), v1=tuple(v1), v2=tuple(v2))


def result(pair: Pair) -> object:
    """All but the values, which may be other ones of the same kind."""
    roles = tuple(place.role for place in (*pair.v1[:1], *pair.v2[:1]))
    sides = bool(pair.v1), bool(pair.v2)
    return roles, sides, tuple((i.aspect, i.path, i.verdict, i.reason, i.severity) for i in pair.items)


def _merged(pairs: Sequence[Pair]) -> Pair:
    if len(pairs) == 1:
        return pairs[0]
    items = tuple(
        replace(same[0], v1=_span([each.v1 for each in same]), v2=_span([each.v2 for each in same]))
        for same in zip(*(pair.items for pair in pairs), strict=True)
    )
    return Pair(
        tuple(place for pair in pairs for place in pair.v1), tuple(place for pair in pairs for place in pair.v2), items
    )


def _span(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else f"{values[0]} ... {values[-1]}"


def together(items: Iterable[Item]) -> list[Item]:
    """Variables that one container has lost or gained for one reason as one item, and v1's labels of one pod."""
    found: dict[object, list[Item]] = {}
    for position, item in enumerate(items):
        owner = _owner_and_name(item)[0]
        joins = owner and item.verdict in (Likeness.LOST, Likeness.GAINED, Likeness.EQUIVALENT)
        found.setdefault((owner, item.verdict, item.reason) if joins else position, []).append(item)
    return [same[0] if len(same) == 1 else _joined(same) for same in found.values()]


def _owner_and_name(item: Item) -> tuple[str, str]:
    match = _ONE_OF_MANY.fullmatch(item.path)
    return (match[1] or match[3], match[2] or match[4]) if match else ("", "")


def _joined(same: Sequence[Item]) -> Item:
    text = ", ".join(_owner_and_name(item)[1] for item in same)
    return replace(
        same[0],
        path=_owner_and_name(same[0])[0],
        v1=text if any(item.v1 for item in same) else "",
        v2=text if any(item.v2 for item in same) else "",
    )
