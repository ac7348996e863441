"""What Kubernetes makes of the name of an image."""

from __future__ import annotations


def default_pull_policy(image: str) -> str:
    """What Kubernetes takes where nothing is said."""
    name = image.rpartition("/")[2]
    return "Always" if "@" not in name and (":" not in name or name.endswith(":latest")) else "IfNotPresent"
