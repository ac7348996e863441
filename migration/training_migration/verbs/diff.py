"""`training-operator migrate diff`: compares the pods that v1 and v2 create for a job."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_migration.convert.conversion import Options
from training_migration.diff import diff as compare_renderings
from training_migration.diff.model import Difference
from training_migration.exits import Exit, Failure
from training_migration.findings import Severity
from training_migration.report.diff import as_html, as_json, as_markdown, as_text
from training_migration.report.page import page
from training_migration.runs.sides import V2Side, with_runtime
from training_migration.runs.templates import is_train_job
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.v2.lookup import Runtimes, namespace_of
from training_migration.v2.stock import stock
from training_migration.verbs.loading import Given, given, placed, where
from training_migration.verbs.output import write
from training_migration.verbs.predicted import converted, on_v1, on_v2


def diff(
    *,
    v1: str,
    v2: str | None,
    target: Target,
    gang_scheduler_name: str,
    cluster_domain: str,
    everything: bool,
    fail_on: Severity | None,
    style: str,
    output: Path | None,
) -> Exit:
    """Compare the pods of the v1 jobs in V1 with the pods of the TrainJobs in V2."""
    framework = FrameworkOptions(cluster_domain=cluster_domain, gang=gang_scheduler(gang_scheduler_name))
    options = Options(target, gang_scheduler=gang_scheduler_name)
    read = given([v1])
    side_of = _side_of(v2, read, options)

    def compared(job: V1Job) -> Difference:
        return _compared(job, side_of(job), target, framework)

    found = read.each(read.jobs, placed, compared)
    if not (found or read.failures):
        raise Failure(f"{v1}: there is no v1 job in it.", Exit.USAGE)
    if found:
        terminal = output is None and sys.stdout.isatty()
        write(_shown(found, style, everything=everything, terminal=terminal), output)
    return read.ended((_code(each, fail_on) for each in found), fail_on)


def _side_of(v2: str | None, v1: Given, options: Options) -> Callable[[V1Job], V2Side]:
    """What finds the TrainJob of a job: converts it, or takes that of the same name, or the only one there is.

    What is broken in V2 becomes a failure of the verb.
    """
    if v2 is None:
        return lambda job: converted(job, options)
    read = given([v2])
    sides = _train_jobs(read, options.target)
    v1.failures.extend(read.failures)
    if not (sides or v1.failures):
        raise Failure(f"{v2}: there is no TrainJob in it.", Exit.USAGE)
    if len(v1.jobs) == len(sides) == 1:
        return lambda job: sides[0]
    known = {(namespace_of(side.train_job), side.train_job["metadata"]["name"]): side for side in sides}

    def named(job: V1Job) -> V2Side:
        key = (namespace_of(job.object), job.job.metadata.name)
        if key not in known:
            raise Failure(f"{placed(job)}: there is no TrainJob {'/'.join(key)} in {v2}.", Exit.USAGE)
        return known[key]

    return named


def _train_jobs(read: Given, target: Target) -> list[V2Side]:
    runtimes = Runtimes(read.others, stock(target))
    train_jobs = [(each, obj) for each in read.others if (obj := each.object) and is_train_job(obj)]
    return read.each(
        train_jobs,
        lambda each: where(each[0].source, each[0].line),
        lambda each: with_runtime(*each, runtimes),
    )


def _compared(job: V1Job, side: V2Side, target: Target, framework: FrameworkOptions) -> Difference:
    # It counts pods before it makes them.
    second = on_v2(side, target, side.source, with_snapshot=False)
    return compare_renderings(on_v1(job, framework), second, job, train_job=side.train_job)


def _code(difference: Difference, fail_on: Severity | None) -> Exit:
    order = list(Severity)
    worst = difference.worst
    bad = fail_on is not None and worst is not None and order.index(worst) <= order.index(fail_on)
    return Exit.FOUND if bad else Exit.DONE


def _shown(found: Sequence[Difference], style: str, *, everything: bool, terminal: bool) -> str:
    match style:
        case "json":
            content = [as_json(each) for each in found]
            return json.dumps(content[0] if len(content) == 1 else content, indent=2)
        case "markdown":
            return "\n\n".join(as_markdown(each, everything=everything) for each in found)
        case "html":
            return page("What v1 and v2 make of it", *map(as_html, found))
    return "\n\n".join(as_text(each, everything=everything, terminal=terminal) for each in found)
