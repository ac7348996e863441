"""Either side of a job, predicted: what cannot be converted or made is a failure of the verb."""

from __future__ import annotations

from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.model.pod_spec import CannotBuild
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.render_v1 import render_v1
from training_migration.rendering import Rendering
from training_migration.runs.sides import V2Side
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.v2.denied import Denied
from training_migration.v2.render import render_v2
from training_migration.verbs.loading import placed


def converted(job: V1Job, options: Options) -> V2Side:
    """The v2 side of a v1 job; raises Failure for one that cannot be converted."""
    conversion = convert(job, options)
    if conversion.rejected or conversion.runtime is None:
        raise Failure(f"{placed(job)}: it cannot be converted: {conversion.rejected}", Exit.REJECTED)
    return V2Side(conversion.train_job, conversion.runtime, f"{job.source} (converted)", conversion.others)


def on_v1(job: V1Job, framework: FrameworkOptions) -> Rendering:
    """What v1's operator makes of a job; raises Failure where it makes nothing."""
    try:
        return render_v1(job, framework)
    except CannotBuild as error:
        raise Failure(f"{placed(job)}: v1 makes no pods of it: {error}.", Exit.USAGE) from None


def on_v2(side: V2Side, target: Target, place: str, *, with_snapshot: bool = True) -> Rendering:
    """What v2's controllers make of a TrainJob, which is in this place; raises Failure for what v2 would reject."""
    try:
        return render_v2(side.train_job, side.runtime, target, with_snapshot=with_snapshot)
    except Denied as denied:
        raise Failure(f"{place}: v2 would reject it: {str(denied).rstrip('.')}.", Exit.REJECTED) from None
