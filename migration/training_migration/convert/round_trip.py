"""A conversion looked at from the other end: whether v2 takes it, and how its pods are to those of v1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from training_api.documents import Document
from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_controllers.model.pod_spec import CannotBuild
from training_migration.convert.context import Json
from training_migration.convert.conversion import Conversion
from training_migration.diff import diff
from training_migration.diff.model import Difference
from training_migration.render_v1 import render_v1
from training_migration.v2.denied import Denied, NotPredicted
from training_migration.v2.lookup import Runtimes
from training_migration.v2.render import check_v2, render_v2
from training_migration.v2.stock import stock


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """What is seen of a conversion from the other end."""

    difference: Difference | None
    """How v2's pods are to v1's; None where one side has none."""
    rejected: str = ""
    """Why v2 would reject it, in one sentence."""

    @property
    def headline(self) -> str:
        """In one line."""
        return "not compared" if self.difference is None else self.difference.headline


def round_trip(
    conversion: Conversion, runtimes: Sequence[Json] = (), *, diffs: bool = True, brief: bool = False
) -> RoundTrip:
    """Predict the pods of both sides of a conversion that is not rejected, and compare them.

    `runtimes` are those that it may refer to next to its own and v2's. Without `diffs` no pods are,
    `brief` is for the headline alone.
    """
    target, job = conversion.options.target, conversion.train_job
    given = Runtimes([Document("", 0, each) for each in runtimes], stock(target))
    runtime = conversion.runtime or given.of(job)
    assert runtime is not None, "it refers to one of these"
    gang = gang_scheduler(_scheduler(conversion))
    try:
        if not diffs:
            check_v2(job, runtime, target)
            return RoundTrip(None)
        after = render_v2(job, runtime, target, with_snapshot=False)
        before = render_v1(conversion.job, FrameworkOptions(gang=gang) if gang else None)
    except (NotPredicted, CannotBuild):
        return RoundTrip(None)
    except Denied as denied:
        return RoundTrip(None, f"v2 would reject it: {denied}.")
    return RoundTrip(diff(before, after, conversion.job, train_job=job, brief=brief))


def _scheduler(conversion: Conversion) -> str:
    """The gang scheduler that the conversion has taken v1's operator to work with."""
    if conversion.options.gang_scheduler or conversion.runtime is None:
        return conversion.options.gang_scheduler
    spec = conversion.runtime["spec"]
    if "podGroupPolicy" not in spec:
        return ""
    pod = spec["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    return str(pod.get("schedulerName", ""))
