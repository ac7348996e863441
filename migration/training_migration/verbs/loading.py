"""Jobs for verbs, which go on after what is broken."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import click

from training_api.documents import STANDARD_INPUT, Document, files, read
from training_migration import parallel
from training_migration.cluster import clean
from training_migration.embedded.kustomization import without_patches
from training_migration.exits import Exit, Failure, final
from training_migration.findings import Severity
from training_migration.shape import misfit, without_nulls
from training_migration.survey import our_mistake
from training_migration.v1_job import Invalid, V1Job, is_v1_job, not_converted, v1_job

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Given:
    """What was read for a verb that goes on after what is broken."""

    jobs: list[V1Job] = field(default_factory=list)
    others: list[Document] = field(default_factory=list)
    """Objects that are no jobs of v1."""
    failures: list[Failure] = field(default_factory=list)
    """What is broken, and what is not converted; a verb adds what it cannot do."""

    def each(
        self,
        items: Sequence[_Item],
        place: Callable[[_Item], str],
        work: Callable[[_Item], _Made],
        *,
        picklable: bool = False,
    ) -> list[_Made]:
        """What is made of each; where that fails, a failure instead, and the others nevertheless.

        What is picklable is made by several processes.
        """

        def tried(item: _Item) -> _Made | Failure:
            try:
                return work(item)
            except Failure as failure:
                return failure
            except Exception as error:
                return Failure(f"{place(item)}: {our_mistake(error)}", Exit.USAGE)

        found = parallel.each(tried, items) if picklable else [tried(item) for item in items]
        self.failures.extend(each for each in found if isinstance(each, Failure))
        return [each for each in found if not isinstance(each, Failure)]

    def ended(self, codes: Iterable[Exit], fail_on: Severity | None) -> Exit:
        """Say what has failed; the exit code of the verb, whose jobs have these."""
        for failure in self.failures:
            click.echo(f"Error: {failure}", err=True)
        return final(codes, (each.code for each in self.failures), fail_on)


def given(paths: Iterable[str], others: Iterable[Document] = ()) -> Given:
    """All jobs and objects of files, folders and standard input, and among further documents, that can be used."""
    found = Given()
    for document in without_patches([*_read(paths), *others]):
        try:
            usable = readable(document)
            obj = usable.object or {}
            if why := not_converted(obj):
                found.failures.append(Failure(left(document, why), Exit.REJECTED))
            elif is_v1_job(obj):
                found.jobs.append(checked(usable))
            else:
                found.others.append(usable)
        except Failure as failure:
            found.failures.append(failure)
    return found


def _read(paths: Iterable[str]) -> Iterator[Document]:
    """The documents of files, which several processes read, and of standard input."""
    chosen = list(files(paths))
    if STANDARD_INPUT in chosen:
        yield from read(chosen, sys.stdin)
        return
    for found in parallel.each(lambda path: list(read([path], sys.stdin)), chosen):
        yield from found


def placed(job: V1Job) -> str:
    """Where a job is."""
    return where(job.source, job.line)


def documents(paths: Iterable[str]) -> list[Document]:
    """All objects of files, folders and standard input; raises Failure for what cannot be read, or be converted."""
    found = [readable(each) for each in read(paths, sys.stdin)]
    for each in found:
        if why := not_converted(each.object or {}):
            raise Failure(left(each, why), Exit.REJECTED)
    return found


def readable(document: Document) -> Document:
    """The same without fields that are null; raises Failure for what is no object, or none of v2's.

    Jobs of v1 are read by `checked`.
    """
    obj = document.object
    if obj is None:
        raise Failure(f"{where(document.source, document.line)}: {document.error}", Exit.USAGE)
    if not is_v1_job(obj) and (problem := misfit(obj)):
        place = where(document.source, document.line)
        raise Failure(f"{place}: {obj.get('kind', 'the object')} cannot be read: {problem}.", Exit.USAGE)
    return replace(document, object=without_nulls(obj))


def left(document: Document, why: str) -> str:
    """One sentence on a job that is not converted."""
    obj = document.object or {}
    return f"{where(document.source, document.line)}: {obj['kind']} {named(obj)}: {why}"


def named(obj: Mapping[str, Any]) -> str:
    """The name of an object that may have none, or be in no shape to have one."""
    metadata = obj.get("metadata")
    return str((metadata if isinstance(metadata, dict) else {}).get("name", "without a name"))


def checked(document: Document) -> V1Job:
    """The job of a document that has one; raises Failure for one that v1 would reject."""
    obj = clean(document.object or {})
    try:
        return v1_job(obj, document.source, document.line)
    except Invalid as invalid:
        place = where(document.source, document.line)
        raise Failure(f"{place}: {obj['kind']} {named(obj)} would be rejected by v1: {invalid}.", Exit.USAGE) from None


def where(source: str, line: int) -> str:
    """A place as users and editors read it."""
    name = "standard input" if source == "-" else source
    return f"{name}:{line}" if line else name
