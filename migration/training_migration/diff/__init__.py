"""Two renderings of one job compared by meaning, pod by pod."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from training_migration.diff.folding import folded
from training_migration.diff.model import Difference
from training_migration.diff.pairing import NODE
from training_migration.diff.pods import Pods
from training_migration.diff.side import RenderedSide
from training_migration.diff.situations import Lives
from training_migration.diff.whole import whole_items
from training_migration.rendering import RenderedPod, Rendering
from training_migration.v1_job import V1Job

Json = dict[str, Any]


def diff(v1: Rendering, v2: Rendering, job: V1Job, *, train_job: Json | None = None, brief: bool = False) -> Difference:
    """Compare what both controllers make of a job.

    `train_job` is the object that v2's rendering comes of: a deadline and another manager stand only there. With
    `brief` most of what is equal is left out, which its headline does not need.
    """
    sides = RenderedSide("v1", v1), RenderedSide("v2", _with_main_container(v2, {pod.container for pod in v1.pods}))
    pods = Pods(job.job.info.kind, job.job.metadata.name, sides, brief)
    first = pods.meetings[0]
    return Difference(
        job=f"{job.job.info.kind} {'/'.join(job.job.key)}",
        launcher=pods.launchers[0].value,
        training=(first.described(0), first.described(1)),
        meets=(first.meets(0), first.meets(1)),
        every_node_alone=any(meeting.every_node_alone for meeting in pods.meetings),
        compat=first.compat,
        pairs=folded(list(pods.pairs())),
        whole=tuple(whole_items(*sides)),
        situations=tuple(Lives(job, sides[1], pods.numbers, train_job).situations()),
        not_compared=() if brief else tuple(dict.fromkeys(pods.not_compared())),
    )


def _with_main_container(v2: Rendering, names: Collection[str]) -> Rendering:
    """The rendering with v1's main container where a pod has kept it: without a policy of v2 nothing else shows it."""
    return replace(v2, pods=tuple(_kept(pod, names) for pod in v2.pods))


def _kept(pod: RenderedPod, names: Collection[str]) -> RenderedPod:
    kept = [each["name"] for each in pod.pod["spec"]["containers"] if each["name"] in names]
    return pod if pod.container == NODE or not kept else replace(pod, container=kept[0])
