"""Pods as the API stores them, reduced to what people are shown."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def terminated(code: int, at: str = "2026-01-01T12:00:00Z", reason: str = "", **more: Any) -> Json:
    why = reason or ("Error" if code else "Completed")
    return {"terminated": {"exitCode": code, "reason": why, "startedAt": at, "finishedAt": at, **more}}


def waiting(reason: str, message: str = "") -> Json:
    return {"waiting": {"reason": reason, "message": message}}


RUNNING: Json = {"running": {"startedAt": "2026-01-01T11:59:00Z"}}


def pod(
    name: str,
    state: Json | None = None,
    *,
    last: Json | None = None,
    restarts: int = 0,
    phase: str = "Running",
    init: Json | None = None,
    **status: Any,
) -> Json:
    """A pod of a JAXJob called `sim`; `name` is type and index (`worker-0`)."""
    replica_type, _, index = name.rpartition("-")
    container = {"name": "jax", "restartCount": restarts, "state": state or {}, "lastState": last or {}}
    initial = [{"name": "fetch", "restartCount": 0, "state": init, "lastState": {}}] if init else []
    return {
        "metadata": {
            "name": f"sim-{name}",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T11:58:00Z",
            "labels": {
                "training.kubeflow.org/replica-type": replica_type,
                "training.kubeflow.org/replica-index": index,
            },
        },
        "spec": {"containers": [{"name": "jax", "env": [{"name": "PROCESS_ID", "value": index}]}]},
        "status": {"phase": phase, "containerStatuses": [container], "initContainerStatuses": initial, **status},
    }


def deleted(stored: Json, at: str, grace: int = 30) -> Json:
    """The pod with a deletion that takes effect `grace` seconds after it was asked for."""
    metadata = {**stored["metadata"], "deletionTimestamp": at, "deletionGracePeriodSeconds": grace}
    return {**stored, "metadata": metadata}
