"""The two sides of a migration among the objects of some files: a v1 job, a TrainJob with its runtime, and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from training_api.documents import Document
from training_migration.exits import Exit, Failure
from training_migration.runs.record import Ref
from training_migration.runs.templates import is_runtime, is_train_job
from training_migration.v1_job import V1Job, is_v1_job
from training_migration.v2.lookup import Runtimes, namespace_of, reference_of
from training_migration.verbs.loading import checked, documents, where

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class V2Side:
    """A TrainJob and the runtime that it refers to."""

    train_job: Json
    runtime: Json
    source: str
    others: tuple[Json, ...] = ()
    """What a conversion has added for its pods."""

    @property
    def ref(self) -> Ref:
        """Which job it is."""
        return _ref(self.train_job, self.source)


@dataclass(frozen=True, slots=True)
class Sides:
    """What the files hold; at least one of both sides is there."""

    v1: V1Job | None
    v2: V2Side | None
    others: tuple[Json, ...]
    """What the pods of either side may need."""


def ref_of(job: V1Job) -> Ref:
    """Which job it is."""
    return _ref(job.object, job.source)


def _ref(obj: Json, source: str) -> Ref:
    metadata = obj["metadata"]
    return Ref(kind=obj["kind"], namespace=namespace_of(obj), name=metadata["name"], source=source)


def containers_of(job: V1Job) -> dict[str, str]:
    """Role -> name of the container that trains, on v1."""
    return {role.lower(): job.job.main_container(role) for role in job.job.replicas}


def clean_pod_policy(job: V1Job) -> str:
    """What the job asks for, empty where it does not say."""
    return (job.object["spec"].get("runPolicy") or {}).get("cleanPodPolicy") or ""


def hosts_of(job: V1Job) -> list[str]:
    """The names under which v1's pods find each other; none for MPI, whose launcher enters its workers."""
    if job.job.info.kind == "MPIJob":
        return []
    name = job.object["metadata"]["name"]
    counts = {role.lower(): spec.replicas for role, spec in job.job.replicas.items()}
    return [f"{name}-{role}-{index}" for role, count in counts.items() for index in range(count or 0)]


def read_sides(paths: Iterable[str], stock: Mapping[str, Json]) -> Sides:
    """Find one v1 job, one TrainJob, or both; `stock` are the runtimes that v2 ships, by name. Raises Failure."""
    given = documents(paths)
    found = [(each, each.object) for each in given if each.object is not None]
    for document, obj in found:
        if not (isinstance(obj.get("apiVersion"), str) and isinstance(obj.get("kind"), str) and _name(obj)):
            place = where(document.source, document.line)
            raise Failure(f"{place}: not an object with apiVersion, kind and metadata.name.", Exit.USAGE)
    v1 = _only([(d, o) for d, o in found if is_v1_job(o)], "training job of v1")
    train_job = _only([(d, o) for d, o in found if is_train_job(o)], "TrainJob")
    if v1 is None and train_job is None:
        raise Failure("there is neither a training job of v1 nor a TrainJob in the files.", Exit.USAGE)
    others = [o for _, o in found if not (is_v1_job(o) or is_train_job(o) or is_runtime(o))]
    runtimes = Runtimes(given, stock)
    return Sides(
        None if v1 is None else checked(v1[0]),
        None if train_job is None else with_runtime(*train_job, runtimes),
        tuple(_once(others)),
    )


def _name(obj: Json) -> str:
    metadata = obj.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def _only(found: Sequence[tuple[Document, Json]], what: str) -> tuple[Document, Json] | None:
    if len(found) > 1:
        names = ", ".join(f"{o['metadata'].get('name')} ({d.source})" for d, o in found)
        raise Failure(f"one {what} can be run at a time; found {names}.", Exit.USAGE)
    return found[0] if found else None


def with_runtime(document: Document, train_job: Json, runtimes: Runtimes) -> V2Side:
    """A TrainJob with its runtime; raises Failure where that is nowhere."""
    runtime = runtimes.of(train_job, document.source)
    if runtime is None:
        place = f"{document.source}: TrainJob {train_job['metadata'].get('name')}"
        raise Failure(f"{place} wants {' '.join(reference_of(train_job))}, which is not in the files.", Exit.USAGE)
    return V2Side(train_job, runtime, document.source)


def _once(objects: Iterable[Json]) -> Iterable[Json]:
    """Each object once; raises Failure where two differ that have one name."""
    seen: dict[tuple[str, str, str], Json] = {}
    for each in objects:
        key = (str(each.get("kind")), namespace_of(each), str(each["metadata"].get("name")))
        if key not in seen:
            seen[key] = each
            yield each
        elif seen[key] != each:
            raise Failure(f"{key[0]} {key[2]} is in the files twice, and they differ.", Exit.USAGE)
