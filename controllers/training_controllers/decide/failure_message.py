"""The sentence that names the first pod that failed, and why."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from datetime import UTC, datetime

from training_api.printable import legible
from training_controllers.model.records import ContainerState, PodRecord
from training_controllers.observe.pod_failures import FIRST_RETRYABLE_EXIT_CODE, has_failed, is_disrupted

LONGEST_LAST_LINE = 300
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


def first_failure(pods: Iterable[PodRecord]) -> str:
    """Pod, container, exit code, signal, reason and last words of the pod that failed first; empty if none did.

    Example: `Pod sim-worker-1: container pytorch exited with code 137 (SIGKILL, OOMKilled): out of memory`.
    """
    failed = sorted(
        ((_culprit(pod), pod) for pod in pods if has_failed(pod) or is_disrupted(pod)), key=lambda item: _when(*item)
    )
    if not failed:
        return ""
    container, pod = failed[0]
    by_itself = container is not None and not is_disrupted(pod)
    return f"Pod {pod.name}: {_container_end(container) if container and by_itself else _pod_end(pod)}"


def _culprit(pod: PodRecord) -> ContainerState | None:
    """The container that failed first, a regular one or an init container."""
    failed = [c for c in pod.containers if c.exit_code]
    return min(failed, key=lambda c: c.finished_at or _END_OF_TIME, default=None)


def _when(container: ContainerState | None, pod: PodRecord) -> tuple[datetime, str]:
    return (container.finished_at if container else None) or _END_OF_TIME, pod.name


def _container_end(container: ContainerState) -> str:
    code = container.exit_code or 0
    kind = "init container" if container.init else "container"
    notes = ", ".join(note for note in (_signal_name(code), container.reason) if note)
    return _with_last_line(
        f"{kind} {container.name} exited with code {code}" + (f" ({notes})" if notes else ""), container.message
    )


def _pod_end(pod: PodRecord) -> str:
    return _with_last_line(pod.disruption or pod.reason or "failed", pod.message)


def _with_last_line(text: str, message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return f"{text}: {legible(lines[-1], LONGEST_LAST_LINE)}" if lines else text


def _signal_name(exit_code: int) -> str:
    try:
        return signal.Signals(exit_code - FIRST_RETRYABLE_EXIT_CODE).name
    except ValueError:
        return ""
