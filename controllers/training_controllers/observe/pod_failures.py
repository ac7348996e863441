"""Exit codes of failed pods, and the restart policy: whether a replica may restart."""

from __future__ import annotations

from training_api.models.common import RestartPolicy
from training_controllers.model.records import PodRecord

FIRST_RETRYABLE_EXIT_CODE = 128
"""With restart policy `ExitCode`: a process ended by a signal may be tried again, one that gave up may not."""


def exit_code(pod: PodRecord, container: str) -> int | None:
    """Exit code of the pod's container of this name, None while unknown."""
    codes = (c.exit_code for c in pod.containers if c.name == container and not c.init)
    return next((code for code in codes if code is not None), None)


def may_restart(pod: PodRecord, policy: RestartPolicy | None, container: str) -> bool:
    """Whether a replica with this policy gets a new pod after `pod` failed; it does if the exit code is unknown."""
    if policy == RestartPolicy.EXIT_CODE:
        code = exit_code(pod, container)
        return code is None or code >= FIRST_RETRYABLE_EXIT_CODE
    return policy in (RestartPolicy.ON_FAILURE, RestartPolicy.ALWAYS)


def has_failed(pod: PodRecord) -> bool:
    """Whether the pod counts as failed; a terminating one is being replaced instead (K-09)."""
    return pod.phase == "Failed" and not pod.deleting


def is_running(pod: PodRecord) -> bool:
    """Whether the pod runs and is not being deleted: what the counter `active` counts (K-09)."""
    return pod.phase == "Running" and not pod.deleting


def is_active(pod: PodRecord) -> bool:
    """Whether the pod holds resources and keeps them: neither ended nor terminating."""
    return pod.phase not in ("Succeeded", "Failed") and not pod.deleting
