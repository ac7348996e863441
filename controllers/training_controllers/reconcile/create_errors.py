"""Why objects of a job cannot be created: rejected by the API server, or their names belong to others."""

from __future__ import annotations

from training_controllers.model.plan import Cause, EventType, JobEvent, OwnedVerb, WaitingReason
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.ports import Dependents, Forbidden, Invalid, NotFound, R
from training_controllers.reconcile.memory import JobContext


async def own_or_taken(context: JobContext, objects: Dependents[R], noun: str, name: str, then: str) -> R | JobEvent:
    """Find out whose object has the name that the job needs, and return it if it is the job's own.

    Another's is never touched: then the answer is the warning to emit (K-34), and `then` says what happens once the
    name is free. Raises `NotFound` if the object is about to go: it terminates, or its owner is an earlier job.
    """
    found = await objects.read(context.record.namespace, name, flow=context.uid)
    owner = found.owner if found is not None else None
    if found is not None and owner is not None and owner.uid == context.uid:
        return found
    predecessor = owner is not None and (owner.kind, owner.name) == (context.job.info.kind, context.record.name)
    if found is None or found.deleting or predecessor:
        raise NotFound(f"{noun} {name} still exists, but it or its job is being deleted")
    whose = f"{owner.kind} {owner.name}" if owner is not None else f"a {noun} that no job controls"
    text = f"NameTaken by {whose}: {noun} {name} already exists and is not changed; {then} once the name is free"
    return JobEvent(EventType.WARNING, "NameTaken", text, once=f"taken/{noun}/{name}/{whose}")


def why_rejected(noun: str, error: Exception, verb: OwnedVerb = OwnedVerb.CREATE) -> Cause:
    """The cause of a failed creation or change, by the words of Kubernetes where its answer has no code for it."""
    text = f"{noun} cannot be {verb}d: {error}"
    words = str(error)
    if isinstance(error, Forbidden):
        if "exceeded quota" in words or "failed quota" in words:
            return WaitingReason.QUOTA, text
        if "because it is being terminated" in words:
            return WaitingReason.TERMINATING, text
        if "cannot create resource" in words:  # a permission that the operator lacks
            return WaitingReason.CREATE_FAILED, text
    broken = isinstance(error, Forbidden | Invalid | CannotBuild)
    return (WaitingReason.INVALID_TEMPLATE if broken else WaitingReason.CREATE_FAILED), text
