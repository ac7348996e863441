"""Sentences about what keeps a job from getting its objects."""

from __future__ import annotations

from training_controllers.engine.model import EventType, JobEvent
from training_controllers.records import Owner


def name_taken(noun: str, name: str, owner: Owner | None, then: str) -> JobEvent:
    """The warning that somebody else has an object of our name (K-34); `then` is what happens once it is free."""
    whose = f"{owner.kind} {owner.name}" if owner is not None else f"a {noun} that no job controls"
    text = f"NameTaken by {whose}: {noun} {name} exists already and is not touched; {then} once the name is free"
    return JobEvent(EventType.WARNING, "NameTaken", text, once=f"taken/{noun}/{name}/{whose}")
