"""What is about no single pod: services, the gang, further objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from training_migration.diff.model import Aspect, Item, Likeness
from training_migration.diff.side import RenderedSide
from training_migration.findings import Severity

_ENTERING: Final = "how mpirun reaches its hosts"
_OBJECTS: Final = {
    "HorizontalPodAutoscaler": (Aspect.SCHEDULING, Severity.WARNING, "the number of nodes is fixed in v2"),
    "ServiceAccount": (Aspect.OTHER, None, _ENTERING),
    "Role": (Aspect.OTHER, None, _ENTERING),
    "RoleBinding": (Aspect.OTHER, None, _ENTERING),
    "NetworkPolicy": (Aspect.NETWORK, Severity.INFO, "v2 does not guard the way to workers"),
}
"""Objects that v1 may make next to pods and services, and how bad it is that v2 makes none."""


def whole_items(v1: RenderedSide, v2: RenderedSide) -> Iterator[Item]:
    """All of them; none about what neither side has."""
    yield from _readiness(v1, v2)
    yield from _gang(v1, v2)
    for kind, (aspect, severity, reason) in _OBJECTS.items():
        first, second = len(v1.objects(kind)), len(v2.objects(kind))
        if first and not second:
            verdict = Likeness.EQUIVALENT if severity is None else Likeness.LOST
            yield Item(aspect, kind, str(first), "", verdict, reason, severity)
        elif first or second:
            verdict = Likeness.SAME if first else Likeness.GAINED
            yield Item(aspect, kind, str(first or ""), str(second or ""), verdict)


def _readiness(v1: RenderedSide, v2: RenderedSide) -> Iterator[Item]:
    """Whether pods are found by name before they are ready."""
    first, second = _known_from(v1), _known_from(v2)
    if first == second == _NEVER:
        return
    path = "the name of a pod is known"
    if first == second:
        yield Item(Aspect.NETWORK, path, first, second, Likeness.SAME)
    elif second == _EARLY or first == _NEVER:
        reason = "peers find each other no later than on v1"
        yield Item(Aspect.NETWORK, path, first, second, Likeness.EQUIVALENT, reason)
    else:
        reason = "peers look for each other while they start"
        yield Item(Aspect.NETWORK, path, first, second, Likeness.DIFFERENT, reason, Severity.WARNING)


_EARLY: Final = "before it is ready"
_NEVER: Final = "never"


def _known_from(side: RenderedSide) -> str:
    services = side.objects("Service")
    if not services:
        return _NEVER
    early = all(each["spec"].get("publishNotReadyAddresses") for each in services)
    return _EARLY if early else "once it is ready"


def _gang(v1: RenderedSide, v2: RenderedSide) -> Iterator[Item]:
    """How many pods must be placeable before any of them starts, and in which queue."""
    first, second = ([each.get("spec") or {} for each in side.objects("PodGroup")] for side in (v1, v2))
    for field, path in (("minMember", "pods of the gang"), ("queue", "queue of the gang")):
        one = str(first[0].get(field) or "") if first else ""
        other = str(second[0].get(field) or "") if second else ""
        if one == other:
            if one:
                yield Item(Aspect.SCHEDULING, path, one, other, Likeness.SAME)
        elif field == "queue" and {one, other} == {"", "default"}:
            yield Item(Aspect.SCHEDULING, path, one, other, Likeness.EQUIVALENT, "the default queue")
        else:
            verdict = Likeness.GAINED if not one else Likeness.LOST if not other else Likeness.DIFFERENT
            reason = "the gang waits for something else"
            yield Item(Aspect.SCHEDULING, path, one, other, verdict, reason, Severity.WARNING)
