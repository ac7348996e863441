"""Everything that `migrate lint` is given, looked at together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from training_api.documents import Document
from training_migration.cluster import clean
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.embedded.kustomization import without_patches
from training_migration.findings import Finding
from training_migration.judgement import together
from training_migration.lint import lint_file, lint_object, lint_script, lint_together, lint_v1, lint_v2, pods
from training_migration.lint.around.files import FILES
from training_migration.lint.around.objects import OBJECTS
from training_migration.lint.entry_point import NOTHING, EntryPoint
from training_migration.lint.lines import Lines
from training_migration.lint.suppression import ignored_by_annotation, ignored_in_lines
from training_migration.lint.v1.subject import Subject
from training_migration.lint.v2.lint import KIND_OF, is_v2, train_jobs
from training_migration.shape import misfit
from training_migration.v1_job import Invalid, V1Job, is_v1_job, v1_job

Text = tuple[str, str]
"""Path and text of a file."""
_SCRIPTS: Final = (".py", ".sh", ".bash", ".ipynb")
_BY_LINE_AND_BY_FIELD: Final = FILES.rules & OBJECTS.rules
"""Rules that may find the same twice in files around jobs."""


@dataclass(frozen=True)
class Fleet:
    """Jobs with the scripts that they run, and the files around them."""

    documents: Sequence[Document]
    options: Options
    scripts: Sequence[Text] = ()
    around: Sequence[Text] = ()
    """Files that may name the jobs, their pods, their metrics."""
    around_objects: Sequence[Document] = ()
    """The objects in these files."""
    entry: EntryPoint = NOTHING
    """What the image of the jobs starts."""
    after_convert: bool = False
    """Whether jobs of v1 are converted, to separate what that fixes from what is left to users."""


@dataclass(frozen=True)
class LintResult:
    """What came of it."""

    findings: Sequence[Finding]
    problems: Sequence[str]
    """Of input that could not be read or that v1 would reject: a sentence each, with where."""
    jobs: int
    """How many jobs of v1, runtimes and TrainJobs were looked at."""
    others: int
    """How many objects of other kinds there were."""


@dataclass
class _Work:
    """What is collected on the way."""

    jobs: list[V1Job] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    others: int = 0
    left: bool = False
    """Whether a job is not converted."""


def lint(fleet: Fleet) -> LintResult:
    """All findings, without those that annotations leave out."""
    work = _Work()
    fleet = replace(fleet, documents=_sorted_out(fleet.documents, work))
    scripts = [*fleet.scripts, *_mounted(fleet.documents)]
    found = [*_of_documents(fleet, scripts, work), *_of_scripts(fleet, scripts, work), *_of_files(fleet)]
    return LintResult(_not_annotated(fleet, found), work.problems, _count(fleet, work), work.others)


def _count(fleet: Fleet, work: _Work) -> int:
    return len(work.jobs) + sum(1 for each in fleet.documents if each.object is not None and is_v2(each.object))


def _sorted_out(documents: Sequence[Document], work: _Work) -> list[Document]:
    """The objects that can be looked at; jobs of v1 as v1 would run them."""
    kept = []
    for each in without_patches(documents):
        obj = each.object
        if obj is None:
            work.problems.append(f"{_where(each)}: {each.error}")
        elif is_v1_job(obj):
            try:
                work.jobs.append(v1_job(clean(obj), each.source, each.line))
            except Invalid as invalid:
                work.problems.append(f"{_where(each)}: v1 would reject it: {invalid}.")
            else:
                kept.append(each)
        elif (problem := misfit(obj)) is not None:
            if is_v2(obj):
                work.problems.append(f"{_where(each)}: v2 would reject it: {problem}.")
            work.others += not is_v2(obj)
        else:
            work.others += not is_v2(obj)
            kept.append(each)
    return kept


def _of_documents(fleet: Fleet, scripts: Sequence[Text], work: _Work) -> Iterator[Finding]:
    """What is found in the objects, one after the other, and then together."""
    for job in work.jobs:
        yield from _of_job(job, fleet, scripts, work)
    for document in fleet.documents:
        obj = document.object or {}
        if not is_v1_job(obj) and not is_v2(obj):
            yield from lint_object(document)
    yield from lint_v2(fleet.documents, fleet.options.target, scripts=scripts, entry=fleet.entry)
    yield from lint_together(fleet.documents, fleet.options.target)


def _of_job(job: V1Job, fleet: Fleet, scripts: Sequence[Text], work: _Work) -> Sequence[Finding]:
    linted = lint_v1(job, fleet.options, scripts=scripts, entry=fleet.entry)
    if not fleet.after_convert or (conversion := convert(job, fleet.options)).rejected:
        work.left = True
        return linted
    return [replace(each, source=job.source, line=job.line) for each in together(linted, conversion.findings)]


def _where(document: Document) -> str:
    return f"{document.source}:{document.line}" if document.line else document.source


def _mounted(documents: Sequence[Document]) -> Iterator[Text]:
    """Scripts in ConfigMaps, by the names under which they are mounted."""
    for document in documents:
        yield from _scripts_of(document.object or {})


def _scripts_of(obj: Mapping[str, Any]) -> Iterator[Text]:
    data = obj.get("data") if obj.get("kind") == "ConfigMap" else None
    for name, text in (data or {}).items():
        if isinstance(text, str) and str(name).endswith(_SCRIPTS):
            yield str(name), text


def _of_scripts(fleet: Fleet, scripts: Sequence[Text], work: _Work) -> Iterator[Finding]:
    """What is found in files of scripts and in ConfigMaps."""
    commands = list(_commands(fleet, scripts, work.jobs))
    # What a script lacks the conversion gives to all of its jobs, unless another client has written some of them.
    converted = bool(work.jobs) and len(work.jobs) == _count(fleet, work) and not work.left
    for path, text in fleet.scripts:
        kind, launched = _use(path, commands)
        for finding in lint_script(path, text, kind=kind, launched=launched):
            yield replace(finding, fixed=converted and finding.rule.converted)
    for document in fleet.documents:
        for name, text in _scripts_of(document.object or {}):
            kind, launched = _use(name, commands)
            for finding in lint_script(name, text, kind=kind, launched=launched):
                in_map = replace(finding, source=document.source, line=document.line, path=f"data[{name}]")
                yield replace(in_map, fixed=converted and finding.rule.converted)


class _Command(NamedTuple):
    """A command line of a job."""

    kind: str
    launched: bool
    """Whether it is a launcher that sets rank and world size."""
    container: Mapping[str, Any]


def _commands(fleet: Fleet, scripts: Sequence[Text], jobs: Sequence[V1Job]) -> Iterator[_Command]:
    """The command lines of all jobs."""
    for job in jobs:
        subject = Subject(job, fleet.options, scripts, fleet.entry)
        for role, launcher in subject.launchers:
            yield _Command(subject.kind, launcher.sets_ranks, role.container)
    for each in train_jobs(fleet.documents, fleet.options.target, scripts=scripts, entry=fleet.entry):
        yield _Command(KIND_OF.get(each.policy, ""), each.launcher.sets_ranks, each.container)


def _use(path: str, commands: Sequence[_Command]) -> tuple[str | None, bool]:
    """The kind of the jobs that run a script, and whether a launcher does; of all jobs where none names it."""
    users = [each for each in commands if pods.runs(each.container, path)] or commands
    kinds = {each.kind for each in users}
    return (kinds.pop() or None) if len(kinds) == 1 else None, bool(users) and all(each.launched for each in users)


def _of_files(fleet: Fleet) -> Iterator[Finding]:
    for path, text in fleet.around:
        yield from lint_file(path, text)
    for document in fleet.around_objects:
        obj = document.object
        if obj is not None and not misfit(obj) and not is_v1_job(obj) and not is_v2(obj):
            yield from lint_object(document)


def _not_annotated(fleet: Fleet, found: Sequence[Finding]) -> list[Finding]:
    """The findings whose objects do not ask to leave them out."""
    annotated = {
        (each.source, each.line): ignored
        for each in fleet.documents
        if each.object is not None and (ignored := ignored_by_annotation(each.object))
    }
    return [each for each in found if each.rule.id not in annotated.get((each.source, each.line), ())]


def placed(found: Sequence[Finding], texts: Mapping[str, str]) -> list[Finding]:
    """The findings with the lines of their fields, file by file, without those that a comment in them leaves out."""
    with_fields = {each.source for each in found if each.path and each.line and each.source in texts}
    lines = {source: Lines(texts[source]) for source in with_fields}
    split = {path: text.splitlines() for path, text in texts.items()}
    kept: list[Finding] = []
    places: set[tuple[str, str, int]] = set()
    for finding in found:
        field = range(finding.line, finding.line + 1)
        if finding.path and finding.line and finding.source in lines:
            field = lines[finding.source].of(finding.line, finding.path)
        line = field.start
        place = (finding.rule.id, finding.source, line)
        twice = finding.rule.id in _BY_LINE_AND_BY_FIELD and line and place in places
        places.add(place)
        if not twice and finding.rule.id not in ignored_in_lines(split.get(finding.source, ()), field):
            kept.append(replace(finding, line=line))
    return sorted(kept, key=lambda each: (each.source, each.line, each.rule.id))
