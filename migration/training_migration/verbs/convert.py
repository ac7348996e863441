"""`training-operator migrate convert`: v1's jobs as YAML for Trainer v2, each with what is different nevertheless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, cast

import click

from training_api.documents import Unreadable, read_text
from training_migration.choices import Asymmetric, CompatEnv, NoteStyle, Ttl
from training_migration.cluster import CLUSTER, read_cluster
from training_migration.convert.conversion import Conversion, Options
from training_migration.convert.fitting import fitted
from training_migration.convert.round_trip import round_trip
from training_migration.convert.sharing import shared
from training_migration.convert.writer import note_text, notes_text, objects_text, ordered, title, yaml_text
from training_migration.embedded.experiment import RANDOM
from training_migration.embedded.held import Converted, Held, held
from training_migration.embedded.kustomization import is_kustomization
from training_migration.exits import Exit, Failure, of_findings
from training_migration.findings import Severity
from training_migration.judgement import judged
from training_migration.report.survey import of_ignored
from training_migration.runs.templates import is_runtime
from training_migration.survey import kind_of, version_and_kind
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.verbs.loading import Given, documents, given, named, placed, where
from training_migration.verbs.written import STANDARD_OUTPUT, Piece, file_name, mirrored, write

Json = dict[str, Any]
STANDARD_INPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class Result:
    """What is written and said of a conversion."""

    number: int
    """Of the conversion."""
    rejected: str
    comparison: str
    """How v2's pods are to v1's."""
    text: str
    """Empty for one that is rejected."""
    notes: str


def convert(
    *,
    paths: tuple[str, ...],
    from_cluster: bool,
    namespaces: tuple[str, ...],
    kubeconfig: str,
    cluster_context: str,
    target: Target,
    kubernetes: str,
    compat_env: CompatEnv,
    ttl: Ttl,
    sidecars: str,
    asymmetric: Asymmetric,
    stock: bool,
    runtime_files: tuple[str, ...],
    share: bool | None,
    gang_scheduler: str,
    name: str,
    namespace: str,
    output: Path,
    diffs: bool,
    notes: NoteStyle,
    fail_on: Severity | None,
    strict: bool,
) -> Exit:
    """Convert the v1 jobs in PATH... to TrainJobs with their runtimes."""
    options = Options(
        target,
        kubernetes=kubernetes,
        compat_env=compat_env,
        ttl=ttl,
        asymmetric=asymmetric,
        native_sidecars=sidecars == "native",
        stock=stock,
        gang_scheduler=gang_scheduler,
        name=name,
        namespace=namespace,
    )
    if not paths and not from_cluster:
        raise click.UsageError("Give a PATH or --from-cluster.", click.get_current_context())
    if (namespaces or kubeconfig or cluster_context) and not from_cluster:
        raise click.UsageError("Options of the cluster need --from-cluster.", click.get_current_context())
    read = given(paths, read_cluster(kubeconfig, cluster_context, namespaces or None) if from_cluster else ())
    if name and len(read.jobs) > 1:
        raise Failure(f"--name is for one job, but there are {len(read.jobs)}.", Exit.USAGE)
    if notes is NoteStyle.FILE and output == STANDARD_OUTPUT:
        raise Failure("--notes file needs a folder: -o DIR.", Exit.USAGE)
    conversions = _without_doubles(paths, _judged(read, options))
    own = _runtimes(runtime_files)
    conversions = [fitted(each, own) if own else each for each in conversions]
    runtimes: list[Json] = []
    kustomized = any(map(is_kustomization, read.others))
    if (from_cluster or _shares(paths, len(read.jobs))) and not kustomized if share is None else share:
        conversions, runtimes = shared(conversions)
    results = read.each(
        range(len(conversions)),
        lambda number: placed(conversions[number].job),
        lambda number: _result(number, conversions[number], own, notes, diffs=diffs),
        picklable=True,
    )
    done = [(replace(conversions[each.number], rejected=each.rejected), each) for each in results]
    looked_into = [(each, held(each, options)) for each in read.others]
    holders = [holder for _, holder in looked_into if holder is not None]
    if runtimes and any(is_kustomization(each.document) for each in holders):
        raise Failure("Kustomize patches the runtime of each job: leave --share-runtimes out.", Exit.USAGE)
    pieces = [_piece_of_runtime(each) for each in runtimes]
    pieces += [_piece(conversion, each) for conversion, each in done if not conversion.rejected]
    pieces += [_piece_of(each, each.converted, notes) for each in holders if each.converted]
    write(pieces, paths, output)
    for line in (*(_verdict(conversion, each.comparison) for conversion, each in done), *map(_summary, holders)):
        click.echo(line, err=True)
    if ignored := Counter(version_and_kind(each) for each, holder in looked_into if holder is None):
        click.echo(of_ignored(ignored), err=True)
    if not (read.jobs or holders or read.failures):
        places = ", ".join([*paths, *(["the cluster"] if from_cluster else [])])
        raise Failure(f"{places}: there is no v1 job in it.", Exit.USAGE)
    codes = [_exit(conversion, fail_on, strict) for conversion, _ in done]
    codes += [_exit_of(each, fail_on, strict) for each in holders]
    return read.ended(codes, fail_on)


def _judged(read: Given, options: Options) -> list[Conversion]:
    """The conversions of all jobs, without which they go from one process to another: no kind is picklable."""
    found = read.each(
        range(len(read.jobs)),
        lambda number: placed(read.jobs[number]),
        lambda number: (number, replace(judged(read.jobs[number], options), job=_NO_JOB)),
        picklable=True,
    )
    return [replace(conversion, job=read.jobs[number]) for number, conversion in found]


_NO_JOB: Final = cast(V1Job, None)


def _without_doubles(paths: Sequence[str], conversions: Sequence[Conversion]) -> list[Conversion]:
    """The same with a rejection of every one whose TrainJob would have the name of an earlier one.

    One job in two files of folders, as of two overlays, is one TrainJob in two files.
    """
    first: dict[tuple[str, str], Conversion] = {}
    result = []
    for conversion in conversions:
        metadata = conversion.train_job.get("metadata") or {}
        key = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
        if not conversion.rejected and not _again(first.setdefault(key, conversion), conversion, paths):
            text = f"{title(first[key])} becomes the TrainJob {key[1]} already; convert this one alone with --name."
            result.append(replace(conversion, rejected=text))
        else:
            result.append(conversion)
    return result


def _again(first: Conversion, other: Conversion, paths: Sequence[str]) -> bool:
    """Whether this is the first one itself, or the same job of v1 in another file of a folder."""
    if first is other:
        return True
    kinds = {each.job.job.info.kind for each in (first, other)}
    files = {mirrored(each.job.source, paths) for each in (first, other)}
    return len(kinds) == 1 and len(files) == 2 and None not in files


def _shares(paths: Sequence[str], jobs: int) -> bool:
    """Whether a fleet is converted: a folder, or what kubectl has listed."""
    return any(Path(path).is_dir() for path in paths) or (STANDARD_INPUT in paths and jobs > 1)


def _runtimes(files: Sequence[str]) -> list[Json]:
    """The runtimes in these files; raises Failure for a file that has none."""
    found = []
    for file in files:
        own = [obj for each in documents([file]) if (obj := each.object) is not None and is_runtime(obj)]
        if not own:
            raise Failure(f"{file}: there is no TrainingRuntime or ClusterTrainingRuntime in it.", Exit.USAGE)
        found += own
    return found


def _result(number: int, conversion: Conversion, runtimes: Sequence[Json], notes: NoteStyle, *, diffs: bool) -> Result:
    """The YAML of a conversion with the verdict of a look from the other end, or its rejection."""
    if conversion.rejected:
        return Result(number, conversion.rejected, "", "", "")
    trip = round_trip(conversion, runtimes, diffs=diffs, brief=True)
    if trip.rejected:
        return Result(number, trip.rejected, trip.headline, "", "")
    text = yaml_text(conversion, notes, _text_of(conversion.job.source))
    return Result(number, "", trip.headline, text, notes_text(conversion) if notes is NoteStyle.FILE else "")


def _piece_of_runtime(runtime: Json) -> Piece:
    return Piece("", 0, f"runtimes/{runtime['metadata']['name']}.yaml", objects_text([ordered(runtime)]))


def _piece(conversion: Conversion, result: Result) -> Piece:
    job = conversion.job
    source = "" if job.source == CLUSTER else job.source
    return Piece(source, job.line, file_name(conversion.train_job), result.text, result.notes)


@lru_cache(maxsize=16)
def _text_of(source: str) -> str:
    """The text that a job is from, for its comments; empty where it cannot be read again."""
    try:
        return "" if source in (STANDARD_INPUT, CLUSTER) else read_text(Path(source))
    except Unreadable:
        return ""


def _piece_of(holder: Held, converted: Converted, notes: NoteStyle) -> Piece:
    """An object with TrainJobs in place of jobs of v1."""
    notes_of_jobs = "".join(notes_text(each).replace(RANDOM, "") + "\n" for _, each in converted.conversions)
    notes_of_jobs += note_text(holder.finding) + "\n"
    document = holder.document
    text = objects_text(converted.objects, notes_of_jobs if notes is NoteStyle.INLINE else "")
    name = file_name(document.object or {})
    source = "" if document.source == CLUSTER else document.source
    return Piece(source, document.line, name, text, notes_of_jobs if notes is NoteStyle.FILE else "")


def _exit_of(holder: Held, fail_on: Severity | None, strict: bool) -> Exit:
    return of_findings(holder.findings, fail_on, strict=strict) if holder.converted else Exit.REJECTED


def _summary(holder: Held) -> str:
    """One line on what became of an object that holds jobs."""
    obj, document = holder.document.object or {}, holder.document
    name = f" {named(obj)}" if obj.get("metadata") else ""
    what = f"{where(document.source, document.line)}: {kind_of(document) or 'an object'}{name}"
    return f"{what}: {holder.verdict}" if holder.converted else f"{what}: {holder.finding.message}"


def _verdict(conversion: Conversion, comparison: str) -> str:
    """One line on what became of the job."""
    place = placed(conversion.job)
    if conversion.rejected:
        return f"{place}: {title(conversion)}: not converted: {conversion.rejected}"
    open_ones = sorted({each.rule.id for each in conversion.findings if not each.fixed and each.level is not _INFO})
    details = f" ({', '.join(open_ones)})" if open_ones else ""
    return f"{place}: {title(conversion)}: {conversion.verdict}{details}; pods: {comparison}"


_INFO: Final = Severity.INFO


def _exit(conversion: Conversion, fail_on: Severity | None, strict: bool) -> Exit:
    if conversion.rejected:
        return Exit.REJECTED
    return of_findings(conversion.findings, fail_on, strict=strict)
