"""The pod that is created again and again: what the operator makes of a worker of a PyTorchJob."""

from __future__ import annotations

import json
import time

PODS = "/api/v1/namespaces/default/pods"
SENT = "sent"
"""Annotation with the monotonic time, in nanoseconds, at which the creation was begun."""
_VARIABLES = ("PYTHONUNBUFFERED", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PET_NNODES")
_LABELS = {
    "training.kubeflow.org/job-name": "job",
    "training.kubeflow.org/operator-name": "pytorchjob-controller",
    "training.kubeflow.org/replica-index": "1",
    "training.kubeflow.org/replica-type": "worker",
}


def pod(name: str) -> bytes:
    """A pod as the operator sends it; it has no owner, so that it stays."""
    container = {
        "name": "pytorch",
        "image": "image:1",
        "command": ["python", "-c", "pass"],
        "env": [{"name": variable, "value": "value"} for variable in _VARIABLES],
        "ports": [{"name": "pytorchjob-port", "containerPort": 23456}],
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
    }
    annotations = {SENT: str(time.monotonic_ns())}
    meta = {"name": name, "labels": _LABELS, "annotations": annotations}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}).encode()
