"""What is about no single pod: services, the gang, further objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from training_migration.diff.model import Aspect, Item, Likeness
from training_migration.diff.side import RenderedSide
from training_migration.findings import Severity

_ENTERING: Final = "how mpirun reaches its hosts"
_OBJECTS: Final = {
    "HorizontalPodAutoscaler": (Aspect.SCHEDULING, Severity.WARNING, "nobody changes the number of v2's nodes"),
    "ServiceAccount": (Aspect.OTHER, None, _ENTERING),
    "Role": (Aspect.OTHER, None, _ENTERING),
    "RoleBinding": (Aspect.OTHER, None, _ENTERING),
    "NetworkPolicy": (Aspect.NETWORK, Severity.INFO, "v2 does not guard the way to workers"),
}
"""Objects that v1 may make beside pods and services, and how bad it is that v2 makes none."""


def whole_items(v1: RenderedSide, v2: RenderedSide) -> Iterator[Item]:
    """All of them; none about what neither side has."""
    yield from _readiness(v1, v2)
    yield from _gang(v1, v2)
    for kind, (aspect, severity, reason) in _OBJECTS.items():
        counts = [len(side.objects(kind)) for side in (v1, v2)]
        if counts[0] and not counts[1]:
            verdict = Likeness.EQUIVALENT if severity is None else Likeness.LOST
            yield Item(aspect, kind, str(counts[0]), "", verdict, reason, severity)
        elif any(counts):
            verdict = Likeness.SAME if counts[0] else Likeness.GAINED
            yield Item(aspect, kind, *(str(count or "") for count in counts), verdict)


def _readiness(v1: RenderedSide, v2: RenderedSide) -> Iterator[Item]:
    """Whether pods are found by name before they are ready."""
    services = v1.objects("Service"), v2.objects("Service")
    if not any(services):
        return
    early = [all(each["spec"].get("publishNotReadyAddresses") for each in side) for side in services]
    texts = [
        ("none" if not side else "before it is ready" if early_one else "once it is ready")
        for side, early_one in zip(services, early, strict=True)
    ]
    path = "the name of a pod is known"
    if texts[0] == texts[1]:
        yield Item(Aspect.NETWORK, path, *texts, Likeness.SAME)
    elif early[1] or not services[0]:
        yield Item(Aspect.NETWORK, path, *texts, Likeness.EQUIVALENT, "peers find each other no later than on v1")
    else:
        reason = "peers look for each other while they start"
        yield Item(Aspect.NETWORK, path, *texts, Likeness.DIFFERENT, reason, Severity.WARNING)


def _gang(v1: RenderedSide, v2: RenderedSide) -> Iterator[Item]:
    """How many pods must be placeable before any of them starts, and in which queue."""
    first, second = ([each.get("spec") or {} for each in side.objects("PodGroup")] for side in (v1, v2))
    if not first and not second:
        return
    for field, path in (("minMember", "pods of the gang"), ("queue", "queue of the gang")):
        values = [str(side[0].get(field) or "") if side else "" for side in (first, second)]
        if values[0] == values[1]:
            yield Item(Aspect.SCHEDULING, path, *values, Likeness.SAME)
        elif field == "queue" and set(values) <= {"", "default"}:
            yield Item(Aspect.SCHEDULING, path, *values, Likeness.EQUIVALENT, "the default queue")
        else:
            verdict = Likeness.GAINED if not first else Likeness.LOST if not second else Likeness.DIFFERENT
            yield Item(Aspect.SCHEDULING, path, *values, verdict, "the gang waits for something else", Severity.WARNING)
