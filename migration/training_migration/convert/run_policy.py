"""What the run policy says of the job as a whole: deadline, suspension, manager, clean-up, time to live."""

from __future__ import annotations

from typing import Final

from training_api.constants import MANAGED_BY_MULTIKUEUE
from training_api.models.common import CleanPodPolicy
from training_controllers.model.annotations import DISRUPTIONS
from training_migration.choices import Ttl
from training_migration.convert.context import Context, Json
from training_migration.findings import Severity

MANAGER: Final = "trainer.kubeflow.org/trainjob-controller"
"""The manager that v2 calls its own."""
PATH: Final = "spec.runPolicy"


def train_job_fields(context: Context) -> Json:
    """Fields of the TrainJob's spec."""
    policy = context.job.job.spec.run_policy
    fields: Json = {}
    if policy.suspend:
        fields["suspend"] = True
    if policy.active_deadline_seconds is not None and context.features.deadline:
        fields["activeDeadlineSeconds"] = _deadline(context, policy.active_deadline_seconds)
    if policy.managed_by:
        fields["managedBy"] = _manager(context, policy.managed_by)
    return fields


def job_fields(context: Context) -> Json:
    """Fields of each Job: the deadline, where a TrainJob has none."""
    seconds = context.job.job.spec.run_policy.active_deadline_seconds
    if seconds is None or context.features.deadline:
        return {}
    return {"activeDeadlineSeconds": _deadline(context, seconds)}


def job_set_fields(context: Context) -> Json:
    """Fields of the JobSet: what happens to it when it has ended."""
    policy = context.job.job.spec.run_policy
    seconds = policy.ttl_seconds_after_finished
    keep_ttl = seconds is not None and _keeps_ttl(context, seconds)
    _note_clean_up(context, policy.clean_pod_policy)
    if policy.clean_pod_policy is CleanPodPolicy.ALL and not context.features.ttl_runs_again:
        return {"ttlSecondsAfterFinished": 0}
    return {"ttlSecondsAfterFinished": seconds} if keep_ttl else {}


def _deadline(context: Context, seconds: int) -> int:
    context.notes.add(
        "MIG307",
        f"the {seconds} s begin with the creation of the TrainJob or its resumption, and at their end all pods go.",
        f"{PATH}.activeDeadlineSeconds",
        fixed=True,
    )
    return max(seconds, 1)


def _manager(context: Context, manager: str) -> str:
    path = f"{PATH}.managedBy"
    if manager != MANAGED_BY_MULTIKUEUE:
        context.notes.add("MIG311", f"{manager} became {MANAGER}.", path, fixed=True)
        return MANAGER
    if not context.features.multikueue:
        text = f"the controller of Trainer {context.options.target} runs jobs of another manager too."
        context.notes.add("MIG002", text, path)
    return manager


def _keeps_ttl(context: Context, seconds: int) -> bool:
    path = f"{PATH}.ttlSecondsAfterFinished"
    if context.options.ttl is Ttl.DROP:
        context.notes.add(
            "MIG306",
            f"dropped: the finished TrainJob stays; delete it by other means after {seconds} s.",
            path,
            severity=Severity.WARNING,
        )
        return False
    if context.features.ttl_runs_again:
        context.notes.reject(
            "MIG306",
            f"ttlSecondsAfterFinished cannot be kept for Trainer {context.options.target}: a failed job whose JobSet"
            " expires runs again, forever (kubeflow/trainer 3779); use --ttl drop.",
            path,
        )
        return False
    context.notes.add(
        "MIG306",
        f"after {seconds} s the JobSet is deleted with its pods, but the TrainJob stays.",
        path,
        severity=Severity.WARNING,
    )
    return True


def _note_clean_up(context: Context, policy: CleanPodPolicy | None) -> None:
    path = f"{PATH}.cleanPodPolicy"
    if policy in (None, CleanPodPolicy.NONE):
        text = "pods that still run when the job fails are deleted; v1 lets them run on."
        context.notes.add("MIG305", text, path, severity=Severity.INFO)
    elif policy is CleanPodPolicy.ALL and context.features.ttl_runs_again:
        context.notes.add("MIG305", "pods that have finished stay until the TrainJob is deleted.", path)
    elif policy is CleanPodPolicy.ALL:
        context.notes.add("MIG305", "the JobSet is deleted with all pods as soon as it has ended.", path, fixed=True)


def note_extensions(context: Context) -> None:
    """Note which extensions of v1 have no counterpart; others are met, or v2 does what they ask for by itself."""
    key = DISRUPTIONS.annotation
    if key in context.job.job.metadata.annotations:
        text = f"{key} is dropped: pods that are evicted count as failed in v2."
        context.notes.add("MIG313", text, f"metadata.annotations[{key}]")
