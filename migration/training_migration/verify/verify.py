"""Ask a cluster's own controllers what becomes of TrainJobs, and compare it with what is predicted."""

from __future__ import annotations

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from training_migration.exits import Exit, Failure
from training_migration.runs.api import CONFLICT, NOT_FOUND, Api, Rejected
from training_migration.targets import Target
from training_migration.v2.denied import Denied, NotPredicted
from training_migration.v2.names import CLUSTER_RUNTIME, JOBSET_API, TRAINER_API
from training_migration.v2.render import render_v2
from training_migration.verify import building
from training_migration.verify.differences import differences, discreet, expected
from training_migration.verify.outcome import Subject, Verification, VerificationOutcome

Json = dict[str, Any]
Progress = Callable[[Verification], None]

_AT_A_TIME: Final = 8
_QUEUE: Final = "kueue.x-k8s.io/"
_AUTHORIZATION: Final = (401, 403)


@dataclass(frozen=True, slots=True)
class How:
    """Where and how TrainJobs are verified."""

    target: Target
    namespace: str
    unsuspended: bool = False
    """Let pods be made; where there are nodes they run."""
    dry_run: bool = False
    """Ask admission only; nothing is stored."""
    limit: float = 60.0
    """Seconds for one TrainJob."""


async def verify(
    api: Api, subjects: Sequence[Subject], how: How, progress: Progress = lambda each: None
) -> list[Verification]:
    """Verify every subject, several at a time but never two of one name; `progress` gets each as soon as it is known.

    Whatever was created has been deleted when this returns or is cancelled. Raises Failure where v2 or the namespace
    is not there, and OSError when the cluster cannot be reached any more.
    """
    await _check(api, how)
    results: dict[int, Verification] = {}
    of_name: dict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(subjects):
        of_name[each.name].append(number)
    turns = asyncio.Semaphore(_AT_A_TIME)

    async def one_after_the_other(numbers: list[int]) -> None:
        for number in numbers:
            async with turns:
                found = await verify_one(api, subjects[number], how)
            given = (subjects[number].train_job, subjects[number].runtime or {})
            results[number] = replace(found, message=discreet(found.message, given))
            progress(results[number])
            if results[number].outcome is not VerificationOutcome.UNAVAILABLE:
                await building.gone(api, how.namespace, subjects[number].name, how.limit)

    try:
        async with asyncio.TaskGroup() as group:
            for numbers in of_name.values():
                group.create_task(one_after_the_other(numbers))
    except ExceptionGroup as several:
        # The others have been cancelled because of the first.
        raise several.exceptions[0] from None
    return [results[number] for number in range(len(subjects))]


async def other_release(api: Api, target: Target) -> str:
    """The release that the cluster says it has, if that is not the target's; empty if it is, or if it does not say."""
    try:
        found = await api.read("v1", "ConfigMap", "kubeflow-system", "kubeflow-trainer-public")
    except Rejected:
        return ""
    release = str(((found or {}).get("data") or {}).get("kubeflow_trainer_version") or "")
    return "" if target is Target.NEXT or release.startswith(f"v{target.value}.") else release


async def _check(api: Api, how: How) -> None:
    try:
        for version, kind in ((TRAINER_API, "TrainJob"), (JOBSET_API, "JobSet")):
            await api.collection(version, kind, how.namespace)
        there = await api.read("v1", "Namespace", "", how.namespace)
    except Rejected as rejected:
        raise Failure(f"{_sentence(rejected)} Is Trainer v2 installed there?", Exit.ENVIRONMENT) from None
    if there is None:
        raise Failure(f"The cluster has no namespace {how.namespace}: create an empty one.", Exit.ENVIRONMENT)


async def verify_one(api: Api, subject: Subject, how: How) -> Verification:
    """Verify one subject; what it needs is created, compared and deleted."""
    if subject.rejected:
        return Verification(subject, VerificationOutcome.NOT_CONVERTED, subject.rejected)
    train_job = _placed(subject.train_job, how)
    runtime = subject.runtime and _placed(subject.runtime, how)
    objects = [train_job] if runtime is None else [runtime, train_job]
    try:
        known = runtime or await _runtime_of(api, train_job, how.namespace)
        if known is None:
            return Verification(
                subject, VerificationOutcome.REJECTED, "Its runtime is neither in the files nor in the cluster."
            )
        return await _verified(api, subject, objects, known, how)
    except Rejected as rejected:
        return Verification(subject, _meaning(rejected), _sentence(rejected))


async def _verified(api: Api, subject: Subject, objects: list[Json], runtime: Json, how: How) -> Verification:
    try:
        wanted = expected(render_v2(objects[-1], runtime, how.target))
    except NotPredicted as unknown:
        return Verification(subject, VerificationOutcome.INCONCLUSIVE, f"Nothing is predicted: {unknown}.")
    except Denied as denied:
        return await _rejected_as_predicted(api, subject, objects, denied, how)
    return await (_dry_run if how.dry_run else _compared)(api, subject, objects, wanted, how)


async def _compared(api: Api, subject: Subject, objects: list[Json], wanted: list[Json], how: How) -> Verification:
    async with building.created(api, objects, secrets.token_hex(8)) as stored:
        found = await building.built(api, stored, wanted, how.limit)
    if found.complaint:
        text = f"The TrainJob is taken, but nothing is made of it: {found.complaint}"
        return Verification(subject, VerificationOutcome.REJECTED, text)
    if not found.objects:
        return Verification(
            subject, VerificationOutcome.INCONCLUSIVE, f"Nothing is made of it within {how.limit:.0f} s."
        )
    shown = [each for each in wanted if each["kind"] not in found.hidden]
    found_differences = differences(shown, found.objects)
    outcome = VerificationOutcome.DIFFERENT if found_differences else VerificationOutcome.EQUAL
    message = f"May not be listed, and is not compared: {', '.join(sorted(set(found.hidden)))}." if found.hidden else ""
    return Verification(subject, outcome, message, tuple(found_differences), len(found.objects))


async def _dry_run(api: Api, subject: Subject, objects: list[Json], wanted: list[Json], how: How) -> Verification:
    """Let admission check what would be created, and the JobSet, Jobs and Services that are predicted.

    A TrainJob cannot be checked without its runtime: where that is not in the cluster, only the runtime is.
    """
    admitted = objects[:-1] or objects
    made = [each for each in wanted if each["kind"] in ("JobSet", "Service")]
    await building.dry_run(api, [*admitted, *made])
    return Verification(subject, VerificationOutcome.EQUAL, objects=len(admitted) + len(made))


async def _rejected_as_predicted(
    api: Api, subject: Subject, objects: list[Json], denied: Denied, how: How
) -> Verification:
    """Whether the cluster rejects, too, what is predicted to be rejected."""
    if how.dry_run:
        return Verification(subject, VerificationOutcome.REJECTED, f"Predicted: {denied}.")
    try:
        async with building.created(api, objects, secrets.token_hex(8)) as stored:
            found = await building.built(api, stored, [], how.limit)
    except Rejected as rejected:
        return Verification(subject, _meaning(rejected), f"As predicted: {_sentence(rejected)}")
    if found.complaint:
        return Verification(subject, VerificationOutcome.REJECTED, f"As predicted: {found.complaint}")
    return Verification(subject, VerificationOutcome.DIFFERENT, f"The cluster takes it, but predicted is: {denied}.")


async def _runtime_of(api: Api, train_job: Json, namespace: str) -> Json | None:
    """The runtime that a TrainJob refers to, as the cluster has it."""
    reference = (train_job.get("spec") or {}).get("runtimeRef") or {}
    kind = reference.get("kind") or CLUSTER_RUNTIME
    try:
        found = await api.read(TRAINER_API, kind, namespace, str(reference.get("name") or ""))
    except Rejected as rejected:
        if rejected.status == NOT_FOUND:
            return None
        raise
    return found and {"apiVersion": TRAINER_API, "kind": kind, **found}


def _placed(obj: Json, how: How) -> Json:
    """A copy for the namespace of the verification; a TrainJob is suspended unless pods are wanted, and kept here."""
    metadata = {**obj["metadata"], "namespace": how.namespace}
    placed = {**obj, "metadata": metadata}
    if obj["kind"] != "TrainJob":
        return placed
    # A queue that admits it would start the training; one that sends it to another cluster would have it built there.
    metadata["labels"] = {k: v for k, v in (metadata.get("labels") or {}).items() if not k.startswith(_QUEUE)}
    spec = {key: value for key, value in obj["spec"].items() if key != "managedBy"}
    placed["spec"] = {**spec, "suspend": not how.unsuspended}
    return placed


def _meaning(rejected: Rejected) -> VerificationOutcome:
    """Whether a rejection is about the object, or about who asks or what is there already."""
    of_the_asker = rejected.status in _AUTHORIZATION and "denied the request" not in str(rejected)
    return (
        VerificationOutcome.UNAVAILABLE if of_the_asker or rejected.status == CONFLICT else VerificationOutcome.REJECTED
    )


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
