"""A little JAXJob as users write it, whose pods run a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

PRINT_RANK = ("python", "-c", "import os; print('rank', os.environ['PROCESS_ID'], 'of', os.environ['NUM_PROCESSES'])")


def little_job(*command: str, workers: int = 2, restart: str = "Never") -> dict[str, Any]:
    """A JAXJob called `little`, whose pods end without delay."""
    container = {"name": "jax", "image": "example.com/train:1", "command": [*command]}
    template = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 0}}
    worker = {"replicas": workers, "restartPolicy": restart, "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "JAXJob",
        "metadata": {"name": "little"},
        "spec": {"jaxReplicaSpecs": {"Worker": worker}},
    }


def write(folder: Path, *objects: dict[str, Any]) -> str:
    """Write `job.yaml` into a folder; returns its path."""
    file = folder / "job.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)
