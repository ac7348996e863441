"""From a v1 job to a runtime and a TrainJob."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint

from training_controllers.frameworks.base import Framework
from training_controllers.model.pod_spec import CannotBuild
from training_migration.convert import assemble, hazards, run_policy
from training_migration.convert.context import Context, Json
from training_migration.convert.conversion import Conversion, Options
from training_migration.convert.fitting import fitted
from training_migration.convert.names import check_name
from training_migration.convert.notes import Notes
from training_migration.convert.plan import Plan
from training_migration.v1_job import V1Job
from training_migration.v2.stock import stock

Strategy = Callable[[Context], Plan]
"""What makes a plan for the jobs of a kind; may raise `CannotBuild`."""


def strategy(framework: Framework) -> Strategy:
    """Load the strategy that the declaration of a kind names."""
    found: Strategy = EntryPoint(framework.info.kind, framework.migration, "").load()
    return found


def convert(job: V1Job, options: Options) -> Conversion:
    """The objects of v2 that do what the job does, and what is different nevertheless.

    Never raises for a job that v1 accepts. Where `rejected` says something the objects are the nearest that there is,
    but must not be applied.
    """
    context = Context(job, options, Notes(job.source, job.line))
    if not any(context.count(name) for name in job.job.replicas):
        context.notes.reject("MIG222", "the job has no replicas, so there is nothing to run.", "spec")
        return _conversion(context, None, {})
    try:
        make_plan = strategy(job.framework)
    except Exception as error:  # whatever a third party's module does
        reference = job.framework.migration
        context.notes.reject("MIG222", f"{reference}, the strategy of {job.job.info.kind}, cannot be loaded: {error}.")
        return _conversion(context, None, {})
    try:
        plan = make_plan(context)
    except CannotBuild as error:
        context.notes.reject("MIG222", f"v1 makes no pods of this job: {error}.", "spec")
        return _conversion(context, None, {})
    plan = hazards.rewritten(context, plan)
    hazards.note_v1_labels(context, plan)
    run_policy.note_extensions(context)
    check_name(context, plan.groups)
    runtime, train_job = assemble.runtime(context, plan), assemble.train_job(context, plan)
    conversion = _conversion(context, runtime, train_job, plan.others)
    return fitted(conversion, list(stock(options.target).values())) if options.stock else conversion


def _conversion(context: Context, runtime: Json | None, train_job: Json, others: Sequence[Json] = ()) -> Conversion:
    findings = context.notes.findings
    return Conversion(
        job=context.job,
        options=context.options,
        runtime=runtime,
        train_job=assemble.with_losses(train_job, findings) if train_job else train_job,
        others=tuple(others),
        findings=findings,
        rejected=" ".join(context.notes.rejections),
    )
