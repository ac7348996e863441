"""Sentences about what keeps a job from getting its objects."""

from __future__ import annotations

from training_controllers.model.plan import Cause, EventType, JobEvent, WaitingReason
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.model.records import Owner
from training_controllers.ports import Forbidden, Invalid


def name_taken(noun: str, name: str, owner: Owner | None, then: str) -> JobEvent:
    """The warning that somebody else has an object of our name (K-34); `then` is what happens once it is free."""
    whose = f"{owner.kind} {owner.name}" if owner is not None else f"a {noun} that no job controls"
    text = f"NameTaken by {whose}: {noun} {name} exists already and is not touched; {then} once the name is free"
    return JobEvent(EventType.WARNING, "NameTaken", text, once=f"taken/{noun}/{name}/{whose}")


def why_refused(noun: str, error: Exception) -> Cause:
    """The cause behind a creation that failed, told by the words of Kubernetes where its answer has no code for it."""
    text = f"{noun} cannot be created: {error}"
    words = str(error)
    if isinstance(error, Forbidden):
        if "exceeded quota" in words or "failed quota" in words:
            return WaitingReason.QUOTA, text
        if "because it is being terminated" in words:
            return WaitingReason.TERMINATING, text
        if "cannot create resource" in words:  # a right that the operator lacks
            return WaitingReason.CREATE_FAILED, text
    broken = isinstance(error, Forbidden | Invalid | CannotBuild)
    return (WaitingReason.INVALID_TEMPLATE if broken else WaitingReason.CREATE_FAILED), text
